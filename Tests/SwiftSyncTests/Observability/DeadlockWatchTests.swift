import CSyncKernel
import Glibc
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

/// When deadlocks were reported, as the watch's thread has it.
private final class ReportTimes: Sendable {
    private struct Report {
        let atNanoseconds, keptOffNanoseconds: Int64
    }

    private let reports = PriorityMutex([Report]())

    init() {
        SyncDiagnostics.setHandler { [self] report in
            guard report.kind == .deadlock else { return }
            reports.withLock {
                $0.append(Report(atNanoseconds: csk_deadline_after(0), keptOffNanoseconds: Self.timeKeptOff()))
            }
        }
    }

    /// For how long the calling thread was ready to run, and others had the processors.
    private static func timeKeptOff() -> Int64 {
        guard let file = unsafe fopen("/proc/thread-self/schedstat", "r") else { return 0 }
        defer { unsafe fclose(file) }
        var text = [CChar](repeating: 0, count: 128)
        guard unsafe fgets(&text, Int32(text.count), file) != nil else { return 0 }
        let line = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        let words = line.split(separator: " ")
        return words.count > 1 ? Int64(words[1]) ?? 0 : 0
    }

    /// Says whether the deadlock of that number was reported within 1.5 s of its last wait. The time in which others
    /// had the processor that the watch's thread wanted is not its own.
    func isInTime(_ number: UInt64) -> Bool {
        let room = Int(CSK_DEADLOCK_PARTIES)
        let parties = UnsafeMutableBufferPointer<csk_deadlock_party_t>.allocate(capacity: room)
        defer { unsafe parties.deallocate() }
        let count = unsafe Int(csk_deadlock_parties(number, parties.baseAddress, UInt32(room)))
        guard let last = unsafe parties[..<min(count, room)].map({ unsafe $0.since_ns }).max() else { return false }
        let report = reports.withLock { $0.indices.contains(Int(number)) ? $0[Int(number)] : nil }
        guard let report else { return false }
        return report.atNanoseconds - last <= 1_500_000_000 + report.keptOffNanoseconds
    }

    var count: Int { reports.withLock(\.count) }
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
    let times = ReportTimes()
    #expect(throws: ObservationError.limitNotPositive) { try DeadlockWatch.start(limit: .zero) }
    try DeadlockWatch.start()
    #expect(DeadlockWatch.isOn)
    let ring = (0..<count).map { AsyncMutex($0, name: "ring \($0)") }, meeting = Meeting()
    let tasks = ring.indices.map { place in Task(name: "task \(place)") { try await takeTwo(ring, at: place, meeting) }
    }
    // One that waits for a party is none.
    let other = Task { try await ring[0].withLock { _ in } }
    await waitUntil { times.count == 1 }
    #expect(times.isInTime(0))
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

/// A ring of eight: threads and tasks, some of them suspended, each with one object and waiting for the next.
private struct MixedRing: Sendable {
    let mutex = PriorityMutex(0, name: "ring's mutex"), section = CriticalSection(name: "ring's section")
    let lock = ReadWriteLock(0, name: "ring's lock"), permit = PrioritySemaphore(value: 1, name: "ring's permit")
    let first = AsyncMutex(0, name: "ring's first"), second = AsyncMutex(0, name: "ring's second")
    let queue = WorkQueue(name: "ring's queue"), other = PrioritySemaphore(value: 1, name: "ring's other permit")
    let meeting = Meeting()

    static let count = 8
    var names: Set<String> {
        [mutex.name, section.name, lock.name, permit.name, first.name, second.name, "ring's queue", other.name]
    }

    func begin() {
        onThread { mutex.withLock { _ in next { section.execute {} } } }
        onThread { section.execute { next { lock.withWriteLock { _ in } } } }
        onThread { lock.withWriteLock { _ in next { try? permit.blockingWait() } } }
        Task { try await permit.withPermit { await nextOfTask { try? await first.withLock { _ in } } } }
        Task { try await first.withLock { _ in await nextOfTask { try? await second.withLock { _ in } } } }
        Task { try await second.withLock { _ in await nextOfTask { callSync() } } }
        queue.async { next { try? other.blockingWait() } }
        Task { try await other.withPermit { await nextOfTask { try? await mutex.suspending.withLock { _ in } } } }
    }

    private func callSync() { queue.sync {} }
    private func next(_ wait: () -> Void) {
        meeting.meetOnThread(Self.count)
        wait()
    }
    private func nextOfTask(_ wait: () async -> Void) async {
        await meeting.meet(Self.count)
        await wait()
    }
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

    @Test func `eight threads and tasks at objects of all kinds are named in time`() async {
        await #expect(processExitsWith: .success) {
            let times = ReportTimes()
            try DeadlockWatch.start()
            let ring = MixedRing()
            ring.begin()
            await waitUntil { times.count == 1 }
            #expect(times.isInTime(0))
            let deadlock = try #require(DeadlockWatch.deadlocks.first)
            #expect(deadlock.partyCount == MixedRing.count)
            #expect(Set(deadlock.parties.compactMap(\.objectName)) == ring.names)
            // Three are suspended, and one task blocks its thread.
            #expect(deadlock.parties.count { $0.thread == nil && $0.taskAddress != nil } == 3)
            #expect(deadlock.parties.count { $0.taskAddress != nil } == 4)
        }
    }

    @Test func `a thread and a suspended task that each have a permit are named`() async {
        await #expect(processExitsWith: .success) {
            try DeadlockWatch.start(limit: .milliseconds(50))
            let one = PrioritySemaphore(value: 1, name: "one"), two = PrioritySemaphore(value: 1, name: "two")
            let meeting = Meeting()
            onThread {
                try? one.blockingWithPermit {
                    meeting.meetOnThread(2)
                    try two.blockingWait()
                }
            }
            Task {
                try await two.withPermit {
                    await meeting.meet(2)
                    try await one.wait()
                }
            }
            await waitUntil { DeadlockWatch.deadlockCount == 1 }
            let parties = try #require(DeadlockWatch.deadlocks.first).parties
            #expect(Set(parties.compactMap(\.objectName)) == ["one", "two"])
            #expect(parties.count { $0.thread == nil } == 1)
            // A view has the holder of both.
            let objects = await InspectionReport.whole().objects
            guard case .thread = objects.first(where: { $0.name == "one" })?.holder else {
                Issue.record("nobody holds it")
                return
            }
            guard case .task = objects.first(where: { $0.name == "two" })?.holder else {
                Issue.record("nobody holds it")
                return
            }
        }
    }

    @Test func `what others signal, and several permits, have no holder`() async {
        await #expect(processExitsWith: .success) {
            try DeadlockWatch.start(limit: .milliseconds(50))
            for semaphore in [PrioritySemaphore(value: 2, name: "two"), PrioritySemaphore(value: 1, name: "event")] {
                if semaphore.name == "event" { onThreadThatIsWaitedFor { try? semaphore.signal() } }
                for _ in 0..<2 { try await semaphore.withPermit {} }
                try await semaphore.wait()
                try await semaphore.wait()
                let waiter = Task { try await semaphore.wait() }
                await waitUntil { semaphore.waitingCount == 1 }
                let seen = await InspectionReport.whole().objects.first { $0.name == semaphore.name }
                #expect(seen?.holder == .nobody)
                try semaphore.signal()
                try await waiter.value
            }
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
            func seen() -> InspectionReport.Object? {
                let view = SyncInspector.report()
                return view.isWhole ? view.objects.first { $0.name == "held by a task" } : nil
            }
            // The holder is inside before the other one comes.
            while await mutex.withLockIfAvailable({ _ in true }) != nil { await Task.yield() }
            let waiter = Task {
                let task = RuntimeFacts.addressOfTask()
                try await mutex.withLock { $0 += 1 }
                return task
            }
            var found: InspectionReport.Object?
            await waitUntil {
                found = seen()
                return found?.waiters.first?.taskAddress != nil
            }
            let object = try #require(found)
            meeting.goesOn.store(true, ordering: .relaxed)
            let task = try await holder.value
            #expect(object.holder == .task(task))
            let waiting = try await waiter.value
            #expect(object.waiters.map(\.taskAddress) == [waiting])
        }
    }
}
