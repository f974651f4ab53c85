import Testing

@testable import SwiftSync

/// What a cancelled task does inside of a shield.
@Suite(.endsInTime)
struct TaskCancellationShieldTests {
    private enum Failure: Error { case expected }
    @TaskLocal private static var local = 0

    /// Runs `body` in a task that was cancelled.
    private func inCancelledTask(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await body()
            #expect(Task.isCancelled)
        }
        task.cancel()
        try await task.value
    }

    @Test
    func aCancelledTaskEntersToCleanUp() async throws {
        let registry = AsyncMutex(Set([7])), semaphore = PrioritySemaphore(value: 1)
        let pool = ResourcePool(maximum: 1, make: { 1 }), queue = FIFOQueue()
        try await inCancelledTask {
            await #expect(throws: AsyncMutexError.cancelled) { try await registry.withLock { _ in } }
            try await withTaskCancellationShield {
                #expect(!Task.isCancelled)
                try await registry.withLock { _ = $0.remove(7) }
                try await semaphore.withPermit {}
                try await pool.withResource { _ in }
                try await queue.enqueueAndWait { () async throws in }
                try await Task.sleep(for: .microseconds(1))
            }
        }
        #expect(try await registry.withLock { $0.isEmpty })
    }

    @Test
    func itWaitsUntilItsTurnThoughTheTaskIsCancelledMeanwhile() async throws {
        let semaphore = PrioritySemaphore(value: 0), entered = Flag()
        let task = Task {
            try await withTaskCancellationShield {
                entered.raise()
                try await semaphore.wait()
            }
        }
        await waitUntil { entered.isRaised }
        await waitUntil { semaphore.waitingCount == 1 }
        task.cancel()
        #expect(semaphore.waitingCount == 1)
        try semaphore.signal()
        try await task.value
    }

    @Test
    func localsPriorityErrorsAndOwnersComeThrough() async throws {
        let mutex = AsyncMutex(0)
        await Self.$local.withValue(5) {
            await withTaskCancellationShield { #expect(Self.local == 5) }
        }
        let priority = Task.currentPriority
        await withTaskCancellationShield { #expect(Task.currentPriority >= priority) }
        await #expect(throws: Failure.expected) { try await withTaskCancellationShield { throw Failure.expected } }
        try await mutex.withLock { _ in
            _ = await #expect(throws: AsyncMutexError.wouldDeadlock) {
                try await withTaskCancellationShield { try await mutex.withLock { _ in } }
            }
        }
    }

    @Test
    func workThatWaitsForItsOwnQueueInsideIsTold() async throws {
        let queue = FIFOQueue()
        try await queue.enqueueAndWait { () async throws in
            _ = await #expect(throws: OrderedQueueError.wouldDeadlock) {
                try await withTaskCancellationShield { try await queue.enqueueAndWait { () async throws in } }
            }
        }
    }

    @Test @MainActor
    func itsBodyRunsWhereItsCallerDoes() async {
        var steps = 0
        await withTaskCancellationShield {
            MainActor.preconditionIsolated()
            await Task.yield()
            MainActor.preconditionIsolated()
            steps += 1
        }
        #expect(steps == 1)
    }
}
