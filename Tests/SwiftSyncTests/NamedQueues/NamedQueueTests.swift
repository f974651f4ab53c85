import Dispatch
import Testing

@testable import SwiftSync

private enum Queue: String, NamedQueue {
    case database = "NamedQueueTests.database"
    case network = "NamedQueueTests.network"
    case plain = "NamedQueueTests.plain"

    var configuration: QueueConfiguration {
        switch self {
        case .database: QueueConfiguration(queueID: "NamedQueueTests.database", qos: .utility)
        case .network: QueueConfiguration(qos: .userInitiated, serial: false)
        case .plain: QueueConfiguration()
        }
    }
}

/// Names made at run time, with the default configuration.
private struct NameOnly: NamedQueue {
    let rawValue: String
}

@Suite(.serialized, .endsInTime)
struct NamedQueueTests {
    private struct Failure: Error {}

    @Test
    func aRawValueHasOneQueueWhateverTypeAsks() {
        #expect(Queue.plain.queue === Queue.plain.queue)
        #expect(Queue.plain.queue === NameOnly(rawValue: "NamedQueueTests.plain").queue)
        #expect(Queue.plain.queue !== Queue.network.queue)
        #expect(
            Queue.database.queue is WorkQueue && Queue.network.queue is ConcurrentWorkQueue
                && Queue.plain.queue is WorkQueue)
        #expect(Queue.database.queue.name == "NamedQueueTests.database")
    }

    @Test
    func threadsThatAskAtOnceForTheFirstTimeGetOneQueue() {
        for round in 0..<200 {
            let found = Shared<[WorkQueueBase]>([])
            let ready = Shared()
            Threads.run(4) { _ in
                ready.increment()
                while ready.value < 4 {}
                found.append(NameOnly(rawValue: "NamedQueueTests.race\(round)").queue)
            }
            #expect(found.value.count == 4 && found.value.allSatisfy { $0 === found.value[0] })
        }
    }

    @Test
    func namesThatEndAlikeAreToldApartAndEqualOnesAreNot() {
        let first = NameOnly(rawValue: "NamedQueueTests.first.ends alike"),
            other = NameOnly(rawValue: "NamedQueueTests.other.ends alike")
        for _ in 0..<2 {
            #expect(first.queue !== other.queue)
            #expect(first.queue.name == first.rawValue && other.queue.name == other.rawValue)
        }
        #expect(NameOnly(rawValue: "").queue === NameOnly(rawValue: "").queue)
        #expect(NameOnly(rawValue: "a").queue !== NameOnly(rawValue: "b").queue)
        // Equal as strings, in other bytes.
        #expect(
            NameOnly(rawValue: "NamedQueueTests.caf\u{E9}").queue
                === NameOnly(rawValue: "NamedQueueTests.cafe\u{301}").queue)
    }

    @Test
    func aSerialQueueRunsOneAtATimeInOrderAndABarrierIsWorkLikeAnyOther() {
        let order = Shared<[Int]>([])
        for number in 0..<1000 {
            #expect(
                number % 3 == 0
                    ? Queue.database.async(flags: .barrier) { order.append(number) }
                    : Queue.database.async { order.append(number) })
        }
        #expect(Queue.database.sync { order.value } == Array(0..<1000))
    }

    @Test
    func aConcurrentQueueRunsTogetherAndABarrierAlone() {
        let first = Flag(), second = Flag(), order = Shared<[String]>([])
        Queue.network.async {
            first.raise()
            waitUntil { second.isRaised }
            order.append("together")
        }
        Queue.network.async {
            second.raise()
            waitUntil { first.isRaised }
            order.append("together")
        }
        Queue.network.async(flags: .barrier) {
            order.append(Queue.network.queue.runningCount == 1 ? "alone" : "not alone")
        }
        Queue.network.async { order.append("after") }
        Queue.network.sync(flags: .barrier) { order.append("last") }
        #expect(order.value == ["together", "together", "alone", "after", "last"])
    }

    @Test
    func syncReturnsAndThrowsWhatItsClosureDoes() throws {
        var number = 1
        let isInside = Queue.database.sync {
            number += 1
            return Queue.database.queue.isCurrent
        }
        #expect(isInside && number == 2)
        #expect(throws: Failure.self) { try Queue.database.sync { () throws(Failure) in throw Failure() } }
        let error = Queue.database.sync {
            do {
                try Queue.database.queue.sync(timeout: .never) {}
                return nil as WorkQueueError?
            } catch { return error as? WorkQueueError }
        }
        #expect(error == .wouldDeadlock)
    }

    @Test
    func syncInsideItsOwnWorkStopsWithAMessage() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Queue.database.sync { Queue.database.sync {} }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("WorkQueue NamedQueueTests.database: sync was called inside the queue's own work"))
    }

    @Test
    func cancelledWorkItemsDoNotRunAndTheirWaitersAreTold() {
        let ran = Shared<[String]>([]), notified = Flag()
        let kept = DispatchWorkItem { ran.append("kept") }
        let cancelled = DispatchWorkItem { ran.append("cancelled") }
        let delayed = DispatchWorkItem { ran.append("delayed") }
        kept.notify(queue: .global()) { notified.raise() }
        Queue.database.queue.suspend()
        Queue.database.async(execute: kept)
        Queue.database.async(execute: cancelled)
        Queue.database.asyncAfter(deadline: .now(), execute: delayed)
        cancelled.cancel()
        Queue.database.queue.resume()
        kept.wait()
        cancelled.wait()
        delayed.wait()
        Queue.database.sync(execute: DispatchWorkItem { ran.append("sync") })
        waitUntil { notified.isRaised }
        #expect(ran.value == ["kept", "delayed", "sync"])
        #expect(cancelled.isCancelled)
    }

    @Test
    func aGroupIsLeftWhenItsWorkHasEnded() {
        let group = DispatchGroup(), count = Shared()
        for _ in 0..<100 {
            Queue.network.async(group: group) { count.increment() }
            Queue.network.async(group: group, flags: .barrier, execute: DispatchWorkItem { count.increment() })
        }
        group.wait()
        #expect(count.value == 200)
    }

    @Test
    func workAfterATimeIsNeverEarlyAndCanBeCancelled() {
        let done = Flag(), start = DispatchTime.now()
        let elapsed = Shared<UInt64>(0)
        Queue.network.asyncAfter(deadline: start + .milliseconds(3)) {
            elapsed.access { $0 = DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds }
            done.raise()
        }
        let never = Queue.network.asyncAfter(deadline: .distantFuture) { Issue.record("ran") }
        waitUntil { done.isRaised }
        #expect(elapsed.value >= 3_000_000)
        #expect(never.cancel())
        #expect(!never.cancel())
    }

    @Test
    func aQualityOfServiceIsAPriorityAmongWhatWaits() {
        let order = Shared<[String]>([])
        let queue = Queue.plain
        queue.queue.suspend()
        queue.async { order.append("own") }
        queue.async(qos: .background) { order.append("background") }
        queue.async(qos: .userInteractive) { order.append("interactive") }
        queue.async(qos: .default) { order.append("default") }
        queue.queue.resume()
        #expect(queue.queue.core.ownRank == CommandRank.of(.normal))
        queue.queue.blockingDrain()
        #expect(order.value == ["interactive", "own", "default", "background"])
        #expect(Queue.database.queue.core.ownRank == CommandRank.of(.low))
        #expect(Queue.network.queue.core.ownRank == CommandRank.of(.high))
    }

    @Test
    func callersThatRaceAreAllRunAndExcluded() {
        nonisolated(unsafe) var count = 0
        Threads.run(6) { index in
            for round in 0..<3000 {
                if (index + round) % 2 == 0 {
                    Queue.plain.async { count += 1 }
                } else {
                    Queue.plain.sync { count += 1 }
                }
            }
        }
        #expect(Queue.plain.sync { count } == 18_000)
    }

    @Test
    func aConfigurationMakesADispatchQueue() {
        let queue = DispatchQueue(config: QueueConfig(queueID: "NamedQueueTests.dispatch", qos: .utility))
        #expect(queue.label == "NamedQueueTests.dispatch")
        #expect(queue.qos.qosClass == .utility)
        let isInside = Flag(), mayLeave = Flag(), group = DispatchGroup()
        let concurrent = DispatchQueue(config: QueueConfig(queueID: "NamedQueueTests.together", serial: false))
        concurrent.async(group: group) {
            isInside.raise()
            waitUntil { mayLeave.isRaised }
        }
        waitUntil { isInside.isRaised }
        // On this thread: a second one of Dispatch's may be long in coming.
        concurrent.sync { mayLeave.raise() }
        group.wait()
    }
}

extension HandlerSettingTests {
    @Suite struct NamedQueueReportTests {
        private enum First: String, NamedQueue {
            case name = "NamedQueueReportTests.name"
        }

        private struct Other: NamedQueue {
            let rawValue = "NamedQueueReportTests.name"
            let configuration: QueueConfiguration
            init?(rawValue: String) { nil }
            init(_ configuration: QueueConfiguration) { self.configuration = configuration }
        }

        private func reports(_ body: () -> Void) -> [SyncDiagnostics.Report] {
            let reports = Shared<[SyncDiagnostics.Report]>([])
            SyncDiagnostics.setHandler { if $0.subject.contains("NamedQueueReportTests") { reports.append($0) } }
            defer { SyncDiagnostics.setHandler(nil) }
            body()
            return reports.value
        }

        @Test
        func anotherConfigurationGetsTheSameQueueAndIsReportedOnce() {
            let first = First.name.queue
            let others = [
                QueueConfiguration(qos: .background), QueueConfiguration(serial: false),
                QueueConfiguration(queueID: "NamedQueueReportTests.other"),
            ]
            let reports = reports {
                #expect(Other(QueueConfiguration()).queue === first)
                #expect(Other(QueueConfiguration(queueID: "NamedQueueReportTests.name")).queue === first)
                for configuration in others + others { #expect(Other(configuration).queue === first) }
            }
            #expect(reports.map(\.kind) == [.configurationMismatch, .configurationMismatch, .configurationMismatch])
            #expect(reports.allSatisfy { $0.subject == "NamedQueue NamedQueueReportTests.name" })
            #expect(
                reports.first?.message == "asked for as serial, background; it was made as serial, default and stays so"
            )
        }

        @Test
        func afterAShutdownWorkIsRefusedAndItsGroupIsLeft() {
            enum Ended: String, NamedQueue {
                case name = "NamedQueueReportTests.ended"
            }
            Ended.name.queue.shutdown()
            let group = DispatchGroup()
            let reports = reports {
                #expect(!Ended.name.async { Issue.record("ran") })
                #expect(!Ended.name.async(group: group) { Issue.record("ran") })
            }
            #expect(group.wait(timeout: .now()) == .success)
            #expect(reports.map(\.kind) == [.refusedAfterShutdown, .refusedAfterShutdown])
        }
    }
}
