import CSyncKernel
import Glibc
import Synchronization
import Testing

@testable import SwiftSync

/// A thread that a signal's handler keeps where it is, so that what others do meanwhile is certain to come first. One
/// at a time.
///
/// Stop only a thread that sleeps inside a wait: one that holds a lock of the library's would keep it.
enum StoppedThread {
    private static let isStopped = Atomic(false)
    private static let mayGoOn = Atomic(false)
    private static let isInUse = Atomic(false)
    private static let signal = SIGUSR2

    /// What a thread must tell about itself to be stopped. It lets the signal through, which it may have inherited as
    /// blocked.
    struct Identity: Sendable {
        fileprivate let thread: UInt
        fileprivate let number: Int32

        static var current: Identity {
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, StoppedThread.signal)
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            return Identity(thread: UInt(pthread_self()), number: csk_thread_id())
        }

        /// Whether the thread sleeps in the system.
        var sleeps: Bool {
            guard let file = fopen("/proc/self/task/\(number)/stat", "r") else { return false }
            defer { fclose(file) }
            var line = [CChar](repeating: 0, count: 256)
            guard fgets(&line, 256, file) != nil else { return false }
            let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            return text.drop { $0 != ")" }.dropFirst(2).first == "S"
        }
    }

    /// Waits until the thread sleeps, keeps it there while `body` runs, and then lets it go on.
    static func whileStopped<R>(_ identity: Identity, _ body: () throws -> R) rethrows -> R {
        waitUntil {
            isInUse.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        }
        defer { isInUse.store(false, ordering: .releasing) }
        isStopped.store(false, ordering: .relaxed)
        mayGoOn.store(false, ordering: .relaxed)
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in
            StoppedThread.isStopped.store(true, ordering: .sequentiallyConsistent)
            while !StoppedThread.mayGoOn.load(ordering: .sequentiallyConsistent) { sched_yield() }
        }
        sigaction(signal, &action, nil)
        waitUntil("the thread did not come to sleep") { identity.sleeps }
        pthread_kill(pthread_t(identity.thread), signal)
        waitUntil("the thread was not stopped") { isStopped.load(ordering: .sequentiallyConsistent) }
        defer { mayGoOn.store(true, ordering: .sequentiallyConsistent) }
        return try body()
    }
}
