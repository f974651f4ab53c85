import Testing

@testable import SwiftSync

/// Waits inside of a request whose deadline has passed: its task is cancelled by that, and each wait tries once.
@Suite(.endsInTime)
struct PassedDeadlineTests {
    private let coordinator = ReadWriteCoordinator(), queue = WorkQueue(capacity: 1, whenFull: .wait)
    private let wide = ConcurrentWorkQueue(width: 2, capacity: 1, whenFull: .wait)
    private let value = QueueSafeValue(value: 1), strict = QueueSafeValue(value: 2, policy: .strict)

    private var calls: [(String, @Sendable () async throws -> Void)] {
        [
            ("read", { [coordinator] in try await coordinator.suspending.read {} }),
            ("write", { [coordinator] in try await coordinator.suspending.write {} }),
            ("drain of a coordinator", { [coordinator] in try await coordinator.suspending.drain() }),
            ("asyncWaitingForRoom", { [queue] in try await queue.asyncWaitingForRoom {} }),
            ("drain", { [queue] in try await queue.drain() }),
            ("asyncWaitingForRoom, wide", { [wide] in try await wide.asyncWaitingForRoom {} }),
            ("a value's first command", { [value] in _ = try await value.suspending.get().get() }),
            ("a strict value", { [strict] in _ = try await strict.suspending.lowestPriority.get().get() }),
        ]
    }

    /// They used to time out by the cancellation, whether or not they would have had to wait.
    @Test
    func whatIsFreeIsHad() async throws {
        for (name, call) in calls {
            // Work that an earlier call has queued still takes the room.
            await waitUntil { queue.waitingCount + queue.runningCount + wide.waitingCount + wide.runningCount == 0 }
            await #expect(throws: Never.self, "\(name)") {
                try await withDeadline(.now - .seconds(1)) { try await call() }
            }
        }
    }

    @Test
    func whatIsNotFreeTimesOut() async throws {
        let isInside = Flag(), leave = Flag()
        let holder = Thread { [coordinator, value, strict] in
            coordinator.blockingWrite {
                value.wait.lowestPriority.get { _ in
                    strict.wait.lowestPriority.get { _ in
                        isInside.raise()
                        waitUntil { leave.isRaised }
                    }
                }
            }
        }
        await waitUntil { isInside.isRaised }
        queue.suspend()
        wide.suspend()
        queue.async {}
        wide.async {}
        for (name, call) in calls {
            do {
                try await withDeadline(.now - .seconds(1)) { try await call() }
                Issue.record("\(name) did not time out")
            } catch {
                #expect((error as? any SyncError)?.reason == .timedOut, "\(name): \(error)")
            }
        }
        leave.raise()
        holder.join()
        queue.resume()
        wide.resume()
    }
}
