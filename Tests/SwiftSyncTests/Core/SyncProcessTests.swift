import Testing

@testable import SwiftSync

/// What is decided for the whole process: the C tests show the decision itself, in processes of their own.
@Suite(.endsInTime)
struct SyncProcessTests {
    @Test
    func whatWasUsedAlreadyKeepsItsForm() async throws {
        let mutex = PriorityMutex(0)
        mutex.withLock { $0 += 1 }
        let answer = SyncProcess.avoidMembarrier()
        #expect(SyncProcess.avoidMembarrier() == answer)
        let task = Task.detached { mutex.withLock { $0 += 1 } }
        await task.value
        #expect(mutex.withLock { $0 } == 2)
    }
}
