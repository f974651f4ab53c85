import Dispatch
import Testing

@testable import SwiftSync

// These set the handler of the process, so they run one at a time with others that do.
extension HandlerSettingTests {
    /// A manual completion holds the section until it is called, counts once, and can't be lost.
    @Suite(.serialized, .endsInTime)
    struct ManualCompletionTests {
        @Test
        func doneFromTwoThreadsAtOnceCountsOnce() async {
            let value = QueueSafeValue(value: 0), queue = DispatchQueue(label: "serial"), completions = Shared(0),
                rounds = 300
            let reports = Shared(0)
            SyncDiagnostics.setHandler { if $0.kind == .completionCalledTwice { reports.increment() } }
            defer { SyncDiagnostics.setHandler(nil) }
            for round in 0..<rounds {
                let completion = Shared<CommandCompletionClosure?>(nil)
                value.async(performIn: queue).lowestPriority.set(
                    manualCompletion: { current, done in
                        current += 1
                        completion.access { $0 = done }
                    }, completion: { _ in completions.increment() })
                await waitUntil { completion.value != nil }
                let done = completion.value!
                Threads.run(2) { _ in done() }
                #expect(value.wait.lowestPriority.get() == .success(round + 1))
            }
            await waitUntil { completions.value == rounds }
            queue.sync {}
            #expect(completions.value == rounds && reports.value == rounds)
        }

        /// It used to keep what completes the command, and with it the value and the closure that is told of the end.
        @Test
        func aDoneThatIsKeptAfterItsCallKeepsNeitherTheValueNorTheCompletion() async {
            let kept = Shared<[CommandCompletionClosure]>([]), alive = Shared(), ends = Shared()
            do {
                let value = QueueSafeValue(value: Tracked(alive)), told = Tracked(alive)
                _ = value.wait.lowestPriority.set { _, done in
                    kept.append(done)
                    done()
                }
                value.async(performIn: .global()).lowestPriority.set(
                    manualCompletion: { _, done in
                        kept.append(done)
                        done()
                    },
                    completion: { _ in
                        withExtendedLifetime(told) {}
                        ends.increment()
                    })
                await waitUntil { ends.value == 1 }
                _ = await value.suspending.lowestPriority.set { _, done in
                    kept.append(done)
                    done()
                }
            }
            await waitUntil("\(alive.value) are left") { alive.value == 0 }
            #expect(kept.value.count == 3)
        }

        /// One thread is stopped just before it counts, and another one counts meanwhile.
        @Test
        func ofTwoThreadsInsideOfDoneAtOnceTheFirstCounts() async {
            let reports = Shared(0), completions = Shared(0), pause = StepPause("ManualCompletion: counts")
            SyncDiagnostics.setHandler { if $0.kind == .completionCalledTwice { reports.increment() } }
            defer { SyncDiagnostics.setHandler(nil) }
            let value = QueueSafeValue(value: 0)
            let done = unsafe value.box.withGate { unsafe ManualCompletion.closure(at: $0) { completions.increment() } }
            let thread = Thread { pause.within { done() } }
            await pause.isReached()
            done()
            #expect(completions.value == 1 && reports.value == 0)
            pause.goOn()
            thread.join()
            #expect(completions.value == 1 && reports.value == 1)
        }

        @Test
        func itHoldsTheSectionUntilDone() async {
            let value = QueueSafeValue(value: 1), completion = Shared<CommandCompletionClosure?>(nil), returned = Flag()
            onThread {
                let result = value.wait.lowestPriority.set { number, done in
                    number = 2
                    completion.access { $0 = done }
                }
                #expect(result == .success(2))
                returned.raise()
            }
            await waitUntil { completion.value != nil }
            #expect(value.wait(timeout: .milliseconds(3)).highestPriority.get() == .failure(.timedOut))
            #expect(!returned.isRaised)
            completion.access { $0.take()?() }
            #expect(value.wait.lowestPriority.get() == .success(2))
            await waitUntil { returned.isRaised }
        }

        @Test
        func anAsyncOneHoldsItWithoutItsThread() async {
            let value = QueueSafeValue(value: 1), queue = DispatchQueue(label: "serial"), results = Shared<[Int]>([])
            let completion = Shared<CommandCompletionClosure?>(nil)
            value.async(performIn: queue).lowestPriority.set { number, done in
                number = 5
                completion.access { $0 = done }
            } completion: { result in
                results.append((try? result.get()) ?? -1)
            }
            await waitUntil { completion.value != nil }
            // The thread of the closure is outside: a sync command from its queue waits, and is no deadlock.
            let fromTheQueue = Shared<Result<Int, QueueSafeValueError>?>(nil)
            queue.async {
                let result = value.wait(timeout: .milliseconds(3)).highestPriority.get()
                fromTheQueue.access { $0 = result }
            }
            await waitUntil { fromTheQueue.value == .failure(.timedOut) }
            #expect(results.value.isEmpty)
            completion.access { $0.take()?() }
            await waitUntil { results.value == [5] }
            #expect(value.wait.lowestPriority.get() == .success(5))
        }

        @Test
        func aSuspendedOneHoldsIt() async {
            let value = QueueSafeValue(value: 1), completion = Shared<CommandCompletionClosure?>(nil)
            let task = Task {
                await value.suspending.lowestPriority.set { number, done in
                    number = 3
                    completion.access { $0 = done }
                }
            }
            await waitUntil { completion.value != nil }
            #expect(value.wait(timeout: .milliseconds(3)).highestPriority.get() == .failure(.timedOut))
            completion.access { $0.take()?() }
            #expect(await task.value == .success(3))
            #expect(value.wait.lowestPriority.get() == .success(3))
        }

        @Test
        func aSecondCallIsReportedAndDoesNothing() async {
            let reports = Shared<[SyncDiagnostics.Report.Kind]>([])
            SyncDiagnostics.setHandler { if $0.subject == "QueueSafeValue twice" { reports.append($0.kind) } }
            defer { SyncDiagnostics.setHandler(nil) }
            let value = QueueSafeValue(value: 1, name: "twice")
            value.wait.lowestPriority.get { _, done in
                done()
                done()
            }
            #expect(reports.value == [.completionCalledTwice])
            #expect(value.wait.lowestPriority.get() == .success(1))
        }

        @Test
        func aDroppedOneCompletesAndIsReported() async {
            let reports = Shared<[SyncDiagnostics.Report.Kind]>([]), ended = Flag()
            SyncDiagnostics.setHandler { if $0.subject == "QueueSafeValue lost" { reports.append($0.kind) } }
            defer { SyncDiagnostics.setHandler(nil) }
            let value = QueueSafeValue(value: 1, name: "lost")
            value.wait.lowestPriority.get { _, _ in }
            value.async(performIn: .global()).lowestPriority.set(manualCompletion: { number, _ in number = 2 }) { _ in
                ended.raise()
            }
            await waitUntil { ended.isRaised }
            #expect(reports.value == [.completionDropped, .completionDropped])
            #expect(value.wait.lowestPriority.get() == .success(2))
        }

        /// A report of a `done` used to name the type alone. The name is the value's, which has ended by then.
        @Test
        func aReportOfADoneNamesTheValueAlsoAfterItsEnd() async {
            let subjects = Shared<[String]>([]), kept = Shared<[CommandCompletionClosure]>([]), alive = Shared()
            SyncDiagnostics.setHandler { subjects.append($0.subject) }
            defer { SyncDiagnostics.setHandler(nil) }
            let keep: @Sendable (@escaping CommandCompletionClosure) -> Void = { done in
                kept.append(done)
                done()
            }
            do {
                let named = QueueSafeValue(value: Tracked(alive), name: "a name that is kept in memory of its own")
                let placed = QueueSafeValue(value: Tracked(alive), fileID: "Module/Made.swift", line: 7)
                _ = named.wait.lowestPriority.set { _, done in keep(done) }
                _ = await placed.suspending.lowestPriority.set { _, done in keep(done) }
                placed.async(performIn: .global()).lowestPriority.set(manualCompletion: { _, done in keep(done) })
                await waitUntil { kept.value.count == 3 }
            }
            await waitUntil("\(alive.value) are left") { alive.value == 0 }
            for done in kept.value { done() }
            #expect(
                subjects.value == [
                    "QueueSafeValue a name that is kept in memory of its own", "QueueSafeValue Module/Made.swift:7",
                    "QueueSafeValue Module/Made.swift:7",
                ])
        }
    }
}
