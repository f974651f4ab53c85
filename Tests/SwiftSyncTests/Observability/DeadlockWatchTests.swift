import CSyncKernel
import Synchronization
import Testing

@testable import SwiftSync

/// Parties that wait until all of them hold what they hold.
private final class Meeting: Sendable {
    private let inside = Atomic(0)
    let cancelled = Atomic(0)
    let goesOn = Atomic(false)

    func meet(_ count: Int) async {
        inside.add(1, ordering: .relaxed)
        while inside.load(ordering: .relaxed) < count { await Task.yield() }
    }

    func meetOnThread(_ count: Int) {
        inside.add(1, ordering: .relaxed)
        while inside.load(ordering: .relaxed) < count {}
    }
}

/// Takes the mutex at that place and then the next one, which ends by cancellation.
private func takeTwo(_ ring: [AsyncMutex<Int>], at place: Int, _ meeting: Meeting) async throws {
    try await ring[place].withLock { _ in
        await meeting.meet(ring.count)
        do {
            try await ring[(place + 1) % ring.count].withLock { _ in }
        } catch AsyncMutexError.cancelled {
            meeting.cancelled.add(1, ordering: .relaxed)
        }
    }
}

private func nameTasksInRing(of count: Int) async throws {
    try DeadlockWatch.start()
    #expect(DeadlockWatch.isOn)
    let ring = (0..<count).map { AsyncMutex($0, name: "ring \($0)") }, meeting = Meeting()
    let tasks = ring.indices.map { place in Task(name: "task \(place)") { try await takeTwo(ring, at: place, meeting) }
    }
    // One that waits for a party is none.
    let other = Task { try await ring[0].withLock { _ in } }
    await waitUntil { DeadlockWatch.deadlockCount == 1 }
    let deadlock = try #require(DeadlockWatch.deadlocks.first)
    #expect(deadlock.partyCount == count && deadlock.parties.count == count)
    #expect(Set(deadlock.parties.map(\.taskAddress)).count == count)
    #expect(deadlock.parties.allSatisfy { $0.thread == nil && $0.purpose == .permits(1) })
    #expect(Set(deadlock.parties.compactMap(\.objectName)) == Set(ring.map(\.name)))
    #expect(Set(deadlock.parties.map(\.taskName)) == Set(ring.indices.map { "task \($0)" }))
    #expect(deadlock.parties.allSatisfy { $0.description.contains(" \"\($0.taskName!)\" waits for semaphore") })
    #expect(DeadlockWatch.text().contains("waits for task 0x") && DeadlockWatch.text().contains("\"task 0\""))
    for task in tasks { task.cancel() }
    for task in tasks { try await task.value }
    try await other.value
    #expect(meeting.cancelled.load(ordering: .relaxed) >= 1)
    #expect(DeadlockWatch.deadlockCount == 1)
}

/// What is stuck stays so, and the watch sees the whole process: each test has a process of its own.
@Suite(.endsInTime)
struct DeadlockWatchTests {
    @Test func `two tasks that wait for each other at async mutexes are named`() async {
        await #expect(processExitsWith: .success) { try await nameTasksInRing(of: 2) }
    }

    @Test func `three and eight tasks that wait for each other at async mutexes are named`() async {
        await #expect(processExitsWith: .success) { try await nameTasksInRing(of: 3) }
        await #expect(processExitsWith: .success) { try await nameTasksInRing(of: 8) }
    }

    @Test func `threads that wait for each other are reported once`() async {
        await #expect(processExitsWith: .success) {
            let reports = PriorityMutex([SyncDiagnostics.Report]())
            SyncDiagnostics.setHandler { report in
                if report.kind == .deadlock { reports.withLock { $0.append(report) } }
            }
            try DeadlockWatch.start(limit: .milliseconds(50))
            let users = PriorityMutex(0, name: "users"), log = ReadWriteLock(0, name: "log")
            let meeting = Meeting()
            onThread {
                users.withLock { _ in
                    meeting.meetOnThread(2)
                    log.withWriteLock { $0 += 1 }
                }
            }
            onThread {
                log.withReadLock { _ in
                    meeting.meetOnThread(2)
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

    /// Both are on threads, as in each ring of a task and a thread: see docs/design/deadlock.md. The task has an async
    /// mutex too, for which another task waits, suspended: that one is none of them.
    @Test func `a task that blocks its thread and a thread that wait for each other are named`() async {
        await #expect(processExitsWith: .success) {
            try DeadlockWatch.start(limit: .milliseconds(50))
            let users = PriorityMutex(0, name: "users"), log = PriorityMutex(0, name: "log")
            let session = AsyncMutex(0, name: "session"), meeting = Meeting(), task = Atomic<UInt>(0)
            @Sendable func takeBoth(_ outer: PriorityMutex<Int>, _ inner: PriorityMutex<Int>) {
                outer.withLock { _ in
                    meeting.meetOnThread(2)
                    inner.withLock { $0 += 1 }
                }
            }
            Task {
                try await session.withLock { _ in
                    task.store(RuntimeFacts.addressOfTask(), ordering: .relaxed)
                    Task { try await session.withLock { _ in } }
                    takeBoth(users, log)
                }
            }
            onThread { takeBoth(log, users) }
            await waitUntil { DeadlockWatch.deadlockCount == 1 }
            let parties = try #require(DeadlockWatch.deadlocks.first).parties
            #expect(parties.count == 2 && parties.allSatisfy { $0.thread != nil })
            let ofTask = try #require(parties.first { $0.taskAddress != nil })
            #expect(ofTask.taskAddress == task.load(ordering: .relaxed) && ofTask.objectName == "log")
            let ofThread = try #require(parties.first { $0.taskAddress == nil })
            #expect(ofThread.objectName == "users")
            #expect(DeadlockWatch.text().contains("(task 0x"))
        }
    }

    @Test func `a view names the task that holds an async mutex, and the one that waits`() async throws {
        await #expect(processExitsWith: .success) {
            try DeadlockWatch.start()
            let mutex = AsyncMutex(0, name: "held by a task")
            let meeting = Meeting()
            let holder = Task {
                try await mutex.withLock { _ in
                    while !meeting.goesOn.load(ordering: .relaxed) { await Task.yield() }
                    return RuntimeFacts.addressOfTask()
                }
            }
            func seen() -> SyncSnapshot.Object? {
                SyncInspector.snapshot().objects.first { $0.name == "held by a task" }
            }
            // The holder is inside before the other one comes.
            while await mutex.withLockIfAvailable({ _ in true }) != nil { await Task.yield() }
            let waiter = Task {
                let task = RuntimeFacts.addressOfTask()
                try await mutex.withLock { $0 += 1 }
                return task
            }
            await waitUntil { seen()?.waiters.first?.taskAddress != nil }
            let object = try #require(seen())
            meeting.goesOn.store(true, ordering: .relaxed)
            let task = try await holder.value
            #expect(object.holder == .task(task))
            let waiting = try await waiter.value
            #expect(object.waiters.map(\.taskAddress) == [waiting])
        }
    }
}
