import CSyncKernel
import Synchronization
import Testing

@testable import SwiftSync

/// What is stuck stays so, and the watch sees the whole process: each test has a process of its own.
@Suite(.endsInTime)
struct DeadlockWatchTests {
    @Test(arguments: [2, 3, 8]) func `tasks that wait for each other at async mutexes are named`(count: Int) async {
        await #expect(processExitsWith: .success) { [count] in
            try DeadlockWatch.start()
            #expect(DeadlockWatch.isOn)
            let ring = (0..<count).map { AsyncMutex($0, name: "ring \($0)") }
            let inside = Atomic(0), cancelled = Atomic(0)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for place in 0..<count {
                    group.addTask {
                        try await ring[place].withLock { _ in
                            inside.add(1, ordering: .relaxed)
                            while inside.load(ordering: .relaxed) < count { await Task.yield() }
                            do {
                                try await ring[(place + 1) % count].withLock { _ in }
                            } catch AsyncMutexError.cancelled {
                                cancelled.add(1, ordering: .relaxed)
                            }
                        }
                    }
                }
                // One that waits for a party is none.
                group.addTask { try? await ring[0].withLock { _ in } }
                await waitUntil { DeadlockWatch.deadlockCount == 1 }
                let deadlock = try #require(DeadlockWatch.deadlocks.first)
                #expect(deadlock.partyCount == count && deadlock.parties.count == count)
                #expect(Set(deadlock.parties.map(\.taskAddress)).count == count)
                #expect(deadlock.parties.allSatisfy { $0.thread == nil && $0.purpose == .permits(1) })
                #expect(Set(deadlock.parties.compactMap(\.objectName)) == Set(ring.map(\.name)))
                #expect(DeadlockWatch.text().contains("waits for task 0x"))
                group.cancelAll()
                try await group.waitForAll()
            }
            #expect(cancelled.load(ordering: .relaxed) == count)
            #expect(DeadlockWatch.deadlockCount == 1)
        }
    }

    @Test func `threads that wait for each other are reported once`() async {
        await #expect(processExitsWith: .success) {
            let reports = Mutex([SyncDiagnostics.Report]())
            SyncDiagnostics.setHandler { report in
                if report.kind == .deadlock { reports.withLock { $0.append(report) } }
            }
            try DeadlockWatch.start(limit: .milliseconds(50))
            let users = PriorityMutex(0, name: "users"), log = ReadWriteLock(0, name: "log")
            let inside = Atomic(0)
            @Sendable func meet() {
                inside.add(1, ordering: .relaxed)
                while inside.load(ordering: .relaxed) < 2 {}
            }
            onThread {
                users.withLock { _ in
                    meet()
                    log.withWriteLock { $0 += 1 }
                }
            }
            onThread {
                log.withReadLock { _ in
                    meet()
                    users.withLock { $0 += 1 }
                }
            }
            await waitUntil { !reports.withLock { $0.isEmpty } }
            let deadlock = try #require(DeadlockWatch.deadlocks.first)
            #expect(deadlock.parties.count == 2 && deadlock.parties.allSatisfy { $0.thread != nil })
            #expect(Set(deadlock.parties.compactMap(\.objectName)) == ["users", "log"])
            let message = try #require(reports.withLock { $0.first }).message
            #expect(message.contains("mutex \"users\"") && message.contains("read-write lock \"log\""))
            #expect(DeadlockWatch.text().contains("deadlock 1 of 2 parties"))
            DeadlockWatch.stop()
            #expect(!DeadlockWatch.isOn)
        }
    }

    @Test func `a view names the task that holds an async mutex, and the one that waits`() async throws {
        await #expect(processExitsWith: .success) {
            try DeadlockWatch.start()
            let mutex = AsyncMutex(0, name: "held by a task")
            let goesOn = Atomic(false)
            async let holder: UInt = mutex.withLock { _ in
                while !goesOn.load(ordering: .relaxed) { await Task.yield() }
                return RuntimeFacts.addressOfTask()
            }
            @Sendable func seen() -> SyncSnapshot.Object? {
                SyncInspector.snapshot().objects.first { $0.name == "held by a task" }
            }
            let waiter = Task {
                let task = RuntimeFacts.addressOfTask()
                try await mutex.withLock { $0 += 1 }
                return task
            }
            await waitUntil { seen()?.waiters.first?.taskAddress != nil }
            let object = try #require(seen())
            goesOn.store(true, ordering: .relaxed)
            let task = try await holder
            #expect(object.holder == .task(task))
            #expect(object.waiters.map(\.taskAddress) == [try await waiter.value])
        }
    }
}
