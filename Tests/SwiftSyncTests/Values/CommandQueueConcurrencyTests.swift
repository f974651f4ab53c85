import SwiftSync
import Testing

/// Several threads at one queue, performNow, and lifetimes.
@Suite struct CommandQueueConcurrencyTests {
    @Test func performReturnsAtOnceWhileAnotherThreadPerformsAndNothingIsLost() {
        let queue = CommandQueue()
        let ran = Shared<[String]>([])
        let entered = Flag()
        let released = Flag()
        withThread {
            queue.append(priority: .lowest) {
                entered.raise()
                waitUntil { released.isRaised }
                ran.append("long")
            }
            queue.perform()
        } during: {
            waitUntil { entered.isRaised }
            queue.append(priority: .lowest) { ran.append("late") }
            queue.perform()
            #expect(ran.value.isEmpty)
            released.raise()
        }
        #expect(ran.value == ["long", "late"])
    }

    @Test func everyCommandOfManyThreadsRunsOnceAndAlone() {
        let queue = CommandQueue()
        let inside = Shared()
        let overlaps = Shared()
        let ran = Shared()
        Threads.run(4) { thread in
            for index in 0..<2_000 {
                let body: @Sendable () -> Void = {
                    if inside.access({
                        $0 += 1; return $0
                    }) != 1 {
                        overlaps.increment()
                    }
                    ran.increment()
                    inside.access { $0 -= 1 }
                }
                switch (thread + index) % 3 {
                case 0: queue.performNow(closure: body)
                case 1: queue.append(priority: .highest, closure: body)
                default: queue.append(priority: .lowest, closure: body)
                }
                queue.perform()
            }
        }
        #expect(overlaps.value == 0)
        #expect(ran.value == 8_000)
    }

    @Test func performNowRunsBeforeEverythingThatWaits() {
        let queue = CommandQueue()
        let log = Shared<[String]>([])
        queue.append(priority: .highest) { log.append("waiting") }
        queue.performNow { log.append("now") }
        #expect(log.value == ["now"])
        queue.perform()
        #expect(log.value == ["now", "waiting"])
    }

    @Test func performNowWaitsForTheRunningCommandAndGoesBeforeTheNext() {
        let queue = CommandQueue()
        let log = Shared<[String]>([])
        let entered = Flag()
        let isWaiting = Shared(false)
        queue.append(priority: .highest) {
            entered.raise()
            waitUntil { isWaiting.value && queue.waitingCount == 1 }
            log.append("running")
        }
        queue.append(priority: .lowest) { log.append("next") }
        withThread {
            waitUntil { entered.isRaised }
            isWaiting.access { $0 = true }
            queue.performNow { log.append("now") }
        } during: {
            queue.perform()
        }
        #expect(log.value == ["running", "now", "next"])
    }

    @Test func performNowInsideACommandRunsInline() {
        let queue = CommandQueue()
        let log = Shared<[String]>([])
        queue.append(priority: .lowest) {
            log.append("begin")
            queue.performNow {
                log.append("inline")
                queue.performNow { log.append("deeper") }
            }
            log.append("end")
        }
        queue.perform()
        #expect(log.value == ["begin", "inline", "deeper", "end"])
    }

    @Test func performInsidePerformNowRunsItsCommandsAfterwards() {
        let queue = CommandQueue()
        let log = Shared<[String]>([])
        queue.performNow {
            queue.append(priority: .lowest) { log.append("queued") }
            queue.perform()
            log.append("now")
        }
        #expect(log.value == ["now", "queued"])
    }

    @Test func performNowHandsOnResultsAndErrors() {
        struct Fault: Error, Equatable {}
        let queue = CommandQueue()
        #expect(queue.performNow { 7 } == 7)
        #expect(throws: Fault()) { try queue.performNow { () throws(Fault) -> Void in throw Fault() } }
        #expect(queue.performNow { "free again" } == "free again")
    }

    @Test func aCommandMayReleaseTheLastReferenceToItsQueue() {
        let alive = Shared()
        weak var gone: CommandQueue?
        let holder = Shared<CommandQueue?>(CommandQueue())
        gone = holder.value
        let tracked = Shared<Tracked?>(Tracked(alive))
        holder.value?.append(priority: .highest) { holder.access { $0 = nil } }
        holder.value?.append(priority: .lowest) { tracked.access { $0 = nil } }
        holder.value?.perform()
        #expect(gone == nil)
        #expect(alive.value == 0)
    }

    @Test func commandsThatNeverRanAreReleasedWithTheQueue() {
        let alive = Shared()
        do {
            let queue = CommandQueue()
            for index in 0..<100 {
                let tracked = Tracked(alive)
                queue.append(priority: index % 2 == 0 ? .highest : .lowest) { withExtendedLifetime(tracked) {} }
            }
            #expect(alive.value == 100)
        }
        #expect(alive.value == 0)
    }

    @Test func aCommandIsReleasedOnceItHasRun() {
        let alive = Shared()
        let queue = CommandQueue()
        do {
            let tracked = Tracked(alive)
            queue.append(priority: .lowest) { withExtendedLifetime(tracked) {} }
        }
        let seen = Shared<Int>(-1)
        queue.append(priority: .lowest) { seen.access { $0 = alive.value } }
        queue.perform()
        #expect(seen.value == 0)
    }

    /// Runs `body` on a thread of its own, `foreground` here, and joins.
    private func withThread(_ body: @escaping @Sendable () -> Void, during foreground: () -> Void) {
        let thread = Thread(body)
        foreground()
        thread.join()
    }
}
