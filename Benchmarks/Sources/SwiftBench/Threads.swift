import CBenchSupport
import Foundation
import Synchronization

/// Runs `body` on `count` threads, `meanwhile` on the caller's, and waits for all.
func onThreads(_ count: Int, meanwhile: () -> Void = {}, _ body: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    for index in 0..<count {
        group.enter()
        let thread = Thread {
            body(index)
            group.leave()
        }
        thread.start()
    }
    meanwhile()
    group.wait()
}

/// Runs `body` as a task that inherits nothing, and waits for it on this thread, which must not be one of the tasks'
/// own.
func waitForTask(_ body: @escaping @Sendable () async -> Void) {
    let finished = DispatchSemaphore(value: 0)
    Task.detached {
        await body()
        finished.signal()
    }
    finished.wait()
}

/// Lets a number of threads or tasks begin together and stop together.
final class Window: Sendable {
    private let arrived = Atomic(0), isOpen = Atomic(false), isOver = Atomic(false)

    /// Whether to stop.
    var isClosed: Bool { isOver.load(ordering: .relaxed) }
    func close() { isOver.store(true, ordering: .relaxed) }

    /// Waits until the window opens.
    func enter() {
        arrived.add(1, ordering: .relaxed)
        while !isOpen.load(ordering: .acquiring) { bench_yield() }
    }

    /// The same for a task, which must not hold its thread meanwhile: the others may need it to arrive.
    func enterAsTask() async {
        arrived.add(1, ordering: .relaxed)
        while !isOpen.load(ordering: .acquiring) { await Task.yield() }
    }

    /// Opens the window once `count` have arrived; returns when that was.
    func open(for count: Int) -> Int64 {
        while arrived.load(ordering: .relaxed) < count { bench_yield() }
        let now = bench_now_ns()
        isOpen.store(true, ordering: .releasing)
        return now
    }

    /// Opens the window for `count` and closes it after `milliseconds`; returns how many nanoseconds it really was
    /// open.
    func hold(for count: Int, milliseconds: Int) -> Int64 {
        let begin = open(for: count)
        bench_sleep(nanoseconds: Int64(milliseconds) * 1_000_000)
        close()
        return bench_now_ns() - begin
    }
}
