import Dispatch
import Glibc
import Testing

@testable import SwiftSync

private struct NameOnly: NamedQueue {
    let rawValue: String
}

/// An object that keeps the handle of work whose closure captures the object.
private final class Connection: Sendable {
    let timeout = Shared<DelayedWork?>(nil)
    private let tracked: Tracked
    private let runs: Shared<Int>

    init(_ alive: Shared<Int>, _ runs: Shared<Int>) {
        tracked = Tracked(alive)
        self.runs = runs
    }

    func open(_ start: (@escaping @Sendable () -> Void) -> DelayedWork) -> DelayedWork {
        let work = start { self.close() }
        timeout.access { $0 = work }
        return work
    }

    /// Ends periodic work, once it is there.
    private func close() {
        runs.increment()
        timeout.value?.cancel()
    }
}

/// A handle of delayed work does not keep the closure that will not run any more. It used to: an object that kept the
/// handle of its own timeout was never freed, whether the timeout ran or was cancelled.
@Suite(.serialized, .endsInTime)
struct DelayedWorkReleaseTests {
    private typealias Start = @Sendable (Duration, @escaping @Sendable () -> Void) -> DelayedWork

    private static let ways: [(name: StaticString, start: Start)] = [
        ("async(delay:)", { async(delay: $0 / .seconds(1), $1) }),
        ("mainThread(delay:)", { delay, body in mainThread(delay: delay / .seconds(1)) { body() } }),
        ("WorkQueue.async(after:)", { WorkQueue(name: "after").async(after: $0, $1) }),
        (
            "WorkQueue.asyncAfter(deadline:)",
            { WorkQueue(name: "at").asyncAfter(deadline: .now() + $0 / .seconds(1), $1) }
        ),
        ("WorkQueue.async(every:)", { WorkQueue(name: "every").async(every: max($0, .milliseconds(1)), $1) }),
        ("ConcurrentWorkQueue.async(after:)", { ConcurrentWorkQueue(name: "after").async(after: $0, $1) }),
        (
            "ConcurrentWorkQueue.async(every:)",
            { ConcurrentWorkQueue(name: "every").async(every: max($0, .milliseconds(1)), $1) }
        ),
        (
            "NamedQueue.asyncAfter(deadline:)",
            {
                NameOnly(rawValue: "DelayedWorkReleaseTests").asyncAfter(
                    deadline: .now() + $0 / .seconds(1), execute: $1)
            }
        ),
        (
            "NamedQueue.asyncAfter(deadline:, item)",
            { delay, body in
                NameOnly(rawValue: "DelayedWorkReleaseTests").asyncAfter(
                    deadline: .now() + delay / .seconds(1), execute: DispatchWorkItem { body() })
            }
        ),
    ]

    @Test(arguments: ways.indices, [Duration.milliseconds(1), .zero])
    func objectsThatKeepTheHandleOfTheirOwnTimeoutAreFreedOnceItHasRun(_ index: Int, _ delay: Duration) async {
        let alive = Shared(), runs = Shared(), way = Self.ways[index]
        for _ in 0..<1000 { _ = Connection(alive, runs).open { way.start(delay, $0) } }
        await waitUntil("\(way.name): \(alive.value) of 1000 are left") { alive.value == 0 }
    }

    @Test(arguments: ways.indices)
    func aHandleOfWorkThatHasRunKeepsNothing(_ index: Int) async {
        let alive = Shared(), runs = Shared(), way = Self.ways[index]
        let work = Connection(alive, runs).open { way.start(.milliseconds(1), $0) }
        await waitUntil("\(way.name)") { alive.value == 0 }
        #expect(!work.cancel(), "\(way.name)")
    }

    @Test(arguments: ways.indices, [Duration.seconds(3600), .seconds(Int64.max)])
    func theClosureHasGoneWhenCancelReturnsTrue(_ index: Int, _ delay: Duration) {
        let alive = Shared(), runs = Shared(), way = Self.ways[index]
        let work = Connection(alive, runs).open { way.start(delay, $0) }
        #expect(alive.value == 1 && work.cancel(), "\(way.name)")
        #expect(alive.value == 0 && runs.value == 0, "\(way.name)")
        #expect(!work.cancel())
    }

    @Test(arguments: [false, true])
    func aHandleOfWorkThatItsQueueRefusesKeepsNothing(isPeriodic: Bool) async {
        let queue = WorkQueue(name: "shut down"), alive = Shared(), runs = Shared()
        let work = Connection(alive, runs).open {
            isPeriodic ? queue.async(every: .milliseconds(1), $0) : queue.async(after: .milliseconds(1), $0)
        }
        queue.shutdown(cancelsPending: true)
        await waitUntil { alive.value == 0 }
        withExtendedLifetime(work) {}
    }

    /// Tasks and blocks may keep the threads of Dispatch busy for as long as they like.
    @Test func itIsReleasedThoughNoThreadOfDispatchIsFree() async {
        await #expect(processExitsWith: .success) {
            Thread {
                let alive = Shared(), busy = Shared(), queue = WorkQueue(name: "shut down"), never = Semaphore()
                for _ in 0..<1000 {
                    DispatchQueue.global().async {
                        busy.increment()
                        never.wait()
                    }
                }
                waitUntil { busy.value >= sysconf(Int32(_SC_NPROCESSORS_ONLN)) }
                let work = Connection(alive, Shared()).open { queue.async(after: .milliseconds(1), $0) }
                queue.shutdown()
                waitUntil { alive.value == 0 }
                withExtendedLifetime(work) {}
                exit(alive.value == 0 ? 0 : 1)
            }.join()
        }
    }

    /// A run, and two threads that cancel: one of them owns the closure.
    @Test(arguments: ways.indices)
    func aClosureIsReleasedOnceHoweverItsRunAndCancellationsMeet(_ index: Int) async {
        let alive = Shared(), runs = Shared(), cancelled = Shared(), way = Self.ways[index]
        var handles: [DelayedWork] = []
        for round in 0..<300 {
            let work = Connection(alive, runs).open { way.start(.microseconds(round % 100), $0) }
            Threads.run(2) { _ in if work.cancel() { cancelled.increment() } }
            handles.append(work)
        }
        await waitUntil("\(way.name)") { alive.value == 0 }
        let isPeriodic = "\(way.name)".contains("every")
        #expect(isPeriodic || runs.value + cancelled.value == 300, "\(way.name)")
        withExtendedLifetime(handles) {}
    }
}
