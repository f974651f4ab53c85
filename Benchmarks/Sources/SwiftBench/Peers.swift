import CBenchSupport
import Dispatch
import Foundation
import NIOConcurrencyHelpers
import Synchronization

final class SynchronizationMutex: Subject {
    static let name = "Synchronization.Mutex"
    private let value = Mutex(0)
    @inline(never) func increments(_ times: Int) { for _ in 0..<times { value.withLock { $0 &+= 1 } } }
    @inline(__always) func section(_ turns: Int) {
        value.withLock {
            $0 &+= 1; bench_busy(turns)
        }
    }
    @inline(__always) func urgentSection(_ turns: Int) -> Int64 {
        var entered: Int64 = 0
        value.withLock {
            $0 &+= 1; entered = bench_now_ns(); bench_busy(turns)
        }
        return entered
    }
}

final class NIOBox: Subject {
    static let name = "NIOLockedValueBox"
    private let value = NIOLockedValueBox(0)
    @inline(never) func increments(_ times: Int) { for _ in 0..<times { value.withLockedValue { $0 &+= 1 } } }
    @inline(__always) func section(_ turns: Int) {
        value.withLockedValue {
            $0 &+= 1; bench_busy(turns)
        }
    }
    @inline(__always) func urgentSection(_ turns: Int) -> Int64 {
        var entered: Int64 = 0
        value.withLockedValue {
            $0 &+= 1; entered = bench_now_ns(); bench_busy(turns)
        }
        return entered
    }
}

final class FoundationLock: Subject, @unchecked Sendable {
    static let name = "NSLock"
    private let lock = NSLock()
    private var value = 0
    @inline(never) func increments(_ times: Int) { for _ in 0..<times { lock.lock(); value &+= 1; lock.unlock() } }
    @inline(__always) func section(_ turns: Int) { lock.lock(); value &+= 1; bench_busy(turns); lock.unlock() }
    @inline(__always) func urgentSection(_ turns: Int) -> Int64 {
        var entered: Int64 = 0
        lock.lock(); value &+= 1; entered = bench_now_ns(); bench_busy(turns); lock.unlock()
        return entered
    }
}

final class FoundationRecursiveLock: Subject, @unchecked Sendable {
    static let name = "NSRecursiveLock"
    private let lock = NSRecursiveLock()
    private var value = 0
    @inline(never) func increments(_ times: Int) { for _ in 0..<times { lock.lock(); value &+= 1; lock.unlock() } }
    @inline(__always) func section(_ turns: Int) { lock.lock(); value &+= 1; bench_busy(turns); lock.unlock() }
    @inline(__always) func urgentSection(_ turns: Int) -> Int64 {
        var entered: Int64 = 0
        lock.lock(); value &+= 1; entered = bench_now_ns(); bench_busy(turns); lock.unlock()
        return entered
    }
}

final class Semaphore: Subject, @unchecked Sendable {
    static let name = "DispatchSemaphore(1)"
    private let semaphore = DispatchSemaphore(value: 1)
    private var value = 0
    @inline(never) func increments(_ times: Int) {
        for _ in 0..<times { semaphore.wait(); value &+= 1; semaphore.signal() }
    }
    @inline(__always) func section(_ turns: Int) {
        semaphore.wait(); value &+= 1; bench_busy(turns); semaphore.signal()
    }
    @inline(__always) func urgentSection(_ turns: Int) -> Int64 {
        var entered: Int64 = 0
        semaphore.wait(); value &+= 1; entered = bench_now_ns(); bench_busy(turns); semaphore.signal()
        return entered
    }
}

final class SerialQueue: Subject, @unchecked Sendable {
    static let name = "DispatchQueue.sync"
    private let queue = DispatchQueue(label: "subject")
    private var value = 0
    @inline(never) func increments(_ times: Int) { for _ in 0..<times { queue.sync { value &+= 1 } } }
    @inline(__always) func section(_ turns: Int) {
        queue.sync {
            value &+= 1; bench_busy(turns)
        }
    }
    @inline(__always) func urgentSection(_ turns: Int) -> Int64 {
        var entered: Int64 = 0
        queue.sync {
            value &+= 1; entered = bench_now_ns(); bench_busy(turns)
        }
        return entered
    }
}

actor CountingActor {
    static let name = "actor (await)"
    private var value = 0
    func increment() { value &+= 1 }
    func section(_ turns: Int) { value &+= 1; bench_busy(turns) }
}
