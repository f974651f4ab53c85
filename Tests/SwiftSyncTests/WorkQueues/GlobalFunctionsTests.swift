import Dispatch
import Foundation
import SwiftSync
import Testing

@Suite(.serialized, .endsInTime)
struct GlobalFunctionsTests {
    /// A type with members of those names, as users have them.
    private struct Namesake {
        func async(_ body: () -> Void) { body() }
        func run(_ flag: Flag) { _ = SwiftSync.async { flag.raise() } }
    }

    @Test
    func closuresRunTogetherAndFromInsideTypesWithTheSameName() {
        let first = Flag(), second = Flag(), third = Flag()
        #expect(
            async {
                first.raise(); waitUntil { second.isRaised }
            })
        async {
            second.raise(); waitUntil { first.isRaised }
        }
        Namesake().run(third)
        waitUntil { first.isRaised && second.isRaised && third.isRaised }
    }

    @Test
    func aDelayIsNeverEarly() {
        let elapsed = Shared<[(delay: Double, elapsed: Double)]>([])
        let clock = ContinuousClock()
        for delay in [0.001, 0.0042, 0.00000001, 0.02] {
            let start = clock.now
            async(delay: delay) {
                let elapsedNow = (clock.now - start) / .seconds(1)
                elapsed.access { $0.append((delay, elapsedNow)) }
            }
        }
        waitUntil { elapsed.value.count == 4 }
        for (delay, elapsed) in elapsed.value { #expect(elapsed >= delay) }
    }

    @Test(arguments: [0, -0.0, -1, -.infinity, .nan, -.leastNonzeroMagnitude])
    func noDelayAtAllMeansNowAndBeforeALaterBarrier(delay: Double) {
        let order = Shared<[String]>([])
        let done = Flag()
        async(delay: delay) { order.append("first") }
        asyncBarrier {
            order.append("barrier")
            done.raise()
        }
        waitUntil { done.isRaised }
        #expect(order.value == ["first", "barrier"])
    }

    @Test(arguments: [.infinity, .greatestFiniteMagnitude, 1e10])
    func anEndlessDelayNeverEndsAndCanBeCancelled(delay: Double) {
        let alive = Shared()
        do {
            let captured = Tracked(alive)
            let work = async(delay: delay) { Issue.record("ran with \(captured)") }
            #expect(work.cancel())
            #expect(!work.cancel())
        }
        #expect(alive.value == 0)
    }

    @Test
    func whatHasBegunCanNotBeCancelled() {
        let began = Flag(), end = Flag(), ended = Flag()
        let work = async(delay: 0) {
            began.raise()
            waitUntil { end.isRaised }
            ended.raise()
        }
        waitUntil { began.isRaised }
        #expect(!work.cancel())
        end.raise()
        waitUntil { ended.isRaised }
    }

    @Test
    func workThatWaitsBehindABarrierCanBeCancelled() {
        let inside = Flag(), leave = Flag(), done = Flag()
        asyncBarrier {
            inside.raise()
            waitUntil { leave.isRaised }
        }
        waitUntil { inside.isRaised }
        let work = async(delay: 0) { Issue.record("ran") }
        #expect(work.cancel())
        leave.raise()
        async { done.raise() }
        waitUntil { done.isRaised }
    }

    @Test
    func aBarrierRunsAfterAllBeforeItAndBeforeAllAfterItAlone() {
        for _ in 0..<50 {
            let running = Shared(), before = Shared(), after = Shared(), faults = Shared(), done = Shared()
            for _ in 0..<20 {
                async {
                    running.increment()
                    before.increment()
                    running.access { $0 -= 1 }
                }
            }
            for round in 1...2 {
                asyncBarrier {
                    if running.value != 0 || before.value != 20 || after.value != (round - 1) * 20 {
                        faults.increment()
                    }
                    done.increment()
                }
                for _ in 0..<20 {
                    async {
                        running.increment()
                        if done.value < round { faults.increment() }
                        after.increment()
                        running.access { $0 -= 1 }
                    }
                }
            }
            waitUntil { after.value == 40 }
            #expect(faults.value == 0 && done.value == 2)
        }
    }

    @Test
    func theySuitAsynchronousCode() async {
        let value = await withCheckedContinuation { continuation in
            async { continuation.resume(returning: 7) }
        }
        #expect(value == 7)
    }

    // MARK: - The main thread

    @Test
    func anAsynchronousMainRunsWhatIsGivenToTheMainThread() async {
        await #expect(processExitsWith: .success) {
            let order = Shared<[String]>([])
            let start = ContinuousClock.now
            mainThread {
                MainActor.preconditionIsolated()
                order.append("first")
            }
            mainThread(delay: .nan) { order.append("second") }
            // On the main thread, where it can't begin meanwhile, however long that takes.
            mainThread {
                let cancelled = mainThread(delay: 0.001) { fatalError("cancelled work ran") }
                mustHold(cancelled.cancel() && !cancelled.cancel())
            }
            mustHold(mainThread(delay: .infinity) { fatalError("came to the end of time") }.cancel())
            await withCheckedContinuation { continuation in
                mainThread(delay: 0.01) {
                    MainActor.preconditionIsolated()
                    mustHold(ContinuousClock.now - start >= .milliseconds(10))
                    order.append("third")
                    continuation.resume()
                }
            }
            mustHold(order.value == ["first", "second", "third"])
        }
    }

    @Test(arguments: ["dispatchMain", "runLoop"])
    func aProgramThatServesTheMainThreadItself(how: String) throws {
        let program = Process()
        let folder = try #require(URL(string: "file:///proc/self/exe")).resolvingSymlinksInPath()
            .deletingLastPathComponent()
        program.executableURL = folder.appendingPathComponent("MainThreadProgram")
        program.arguments = [how]
        let output = Pipe()
        program.standardOutput = output
        try program.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        program.waitUntilExit()
        #expect(text == "first now delayed cancelled\n")
        #expect(program.terminationStatus == 0)
    }
}
