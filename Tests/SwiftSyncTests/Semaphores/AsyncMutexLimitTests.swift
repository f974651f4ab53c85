import Testing

@testable import SwiftSync

/// No more tasks wait at an async mutex than may: a further one is refused at once.
@Suite(.endsInTime)
struct AsyncMutexLimitTests {
    private func start(
        _ waiting: () -> Int, _ body: @escaping @Sendable () async throws -> Void
    ) async -> Task<Void, any Error> {
        let before = waiting()
        let task = Task { try await body() }
        await waitUntil { waiting() == before + 1 }
        return task
    }

    @Test
    func aTaskBeyondTheLimitOfAnAsyncMutexIsRefusedAtOnce() async throws {
        let mutex = AsyncMutex(0, waitersLimit: 2), leave = Flag(), entered = Flag()
        let inside = Task {
            try await mutex.withLock { _ in
                entered.raise()
                await waitUntil { leave.isRaised }
            }
        }
        await waitUntil { entered.isRaised }
        let first = await start({ mutex.waitingCount }) { try await mutex.withLock { $0 += 1 } }
        let second = await start({ mutex.waitingCount }) { try await mutex.withLock { $0 += 1 } }
        for priority in [CommandPriority.lowest, .highest] {
            await #expect(throws: AsyncMutexError.full) { try await mutex.withLock(priority: priority) { $0 += 1 } }
        }
        // Who only tries doesn't wait.
        await #expect(throws: AsyncMutexError.timedOut) { try await mutex.withLock(timeout: .zero) { $0 += 1 } }
        // Who leaves makes room, however it ends.
        first.cancel()
        await #expect(throws: AsyncMutexError.cancelled) { try await first.value }
        let third = await start({ mutex.waitingCount }) { try await mutex.withLock { $0 += 1 } }
        leave.raise()
        for task in [inside, second, third] { try await task.value }
        #expect(try await mutex.withLock { $0 } == 2)
        #expect(SyncErrorReason.full ~= AsyncMutexError.full)
    }

    @Test
    func aTaskOrThreadBeyondTheLimitOfASemaphoreIsRefusedAtOnce() async throws {
        let semaphore = PrioritySemaphore(value: 1, waitersLimit: 1)
        let large = await start({ semaphore.waitingCount }) { try await semaphore.wait(permits: 2) }
        await #expect(throws: PrioritySemaphoreError.full) { try await semaphore.wait() }
        let refused = Shared<PrioritySemaphoreError?>(nil)
        Thread {
            do throws(PrioritySemaphoreError) {
                try semaphore.blockingWait()
            } catch {
                refused.access { $0 = error }
            }
        }.join()
        #expect(refused.value == .full)
        // Who need not wait is not too many, nor is one that only tries.
        try await semaphore.wait(priority: .highest)
        await #expect(throws: PrioritySemaphoreError.timedOut) { try await semaphore.wait(timeout: .zero) }
        try semaphore.signal(2)
        try await large.value
        #expect(semaphore.waitingCount == 0)
    }

    /// A task that was granted the mutex waits no more, though it has not run since.
    @Test
    func whoWasGrantedTheMutexCountsNoMore() async throws {
        let mutex = AsyncMutex(0, waitersLimit: 1)
        for _ in 0..<2000 {
            async let first: Void = mutex.withLock { $0 += 1 }
            try await mutex.withLock { $0 += 1 }
            try await first
        }
        #expect(try await mutex.withLock { $0 } == 4000)
    }

    @Test(arguments: [0, -1])
    func aLimitOfNobodyStopsTheProgram(limit: Int) async {
        let exit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [limit] in
            _ = AsyncMutex(0, waitersLimit: limit, fileID: "Module/Made.swift", line: 7)
        }
        let text = String(decoding: exit?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("AsyncMutex Module/Made.swift:7: waitersLimit \(limit): not 1 <= waitersLimit"))
        let other = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [limit] in
            _ = PrioritySemaphore(value: 1, waitersLimit: limit, fileID: "Module/Made.swift", line: 7)
        }
        let message = String(decoding: other?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("PrioritySemaphore Module/Made.swift:7: waitersLimit \(limit): not 1 <= waitersLimit"))
    }
}
