import CSyncKernel
import Glibc
import Synchronization
import Testing

@testable import SwiftSync

/// What a view shows of objects that the test knows. Others of the process may be in it too.
@Suite(.endsInTime, .serialized)
struct SyncInspectorTests {
    private func object(
        _ name: String, in snapshot: InspectionReport = SyncInspector.report()
    ) -> InspectionReport.Object? {
        snapshot.objects.first { $0.name == name }
    }

    /// The first view that has all, and in which the object looks as expected.
    private func whenSeen(
        _ name: String, _ isExpected: (InspectionReport.Object) -> Bool
    ) async -> InspectionReport.Object? {
        var seen: InspectionReport.Object?
        await waitUntil("no view shows \(name) as it should be") {
            let view = SyncInspector.report()
            seen = object(name, in: view)
            return view.isWhole && seen.map(isExpected) ?? false
        }
        return seen
    }

    /// It used to show one of each.
    @Test(arguments: [0, -1, Int.min])
    func aLimitOfZeroShowsNoneAndCountsThem(limit: Int) throws {
        let semaphore = PrioritySemaphore(value: 0)
        let waiter = Thread { try? semaphore.blockingWait() }
        var snapshot: InspectionReport!
        waitUntil {
            snapshot = SyncInspector.report(limit: limit)
            return snapshot.leftOutCount >= 1
        }
        #expect(snapshot.objects.isEmpty && snapshot.workers.isEmpty)
        try semaphore.signal()
        waiter.join()
    }

    @Test
    func aMutexShowsItsHolderAndItsWaitersInOrder() async throws {
        let mutex = PriorityMutex(0, name: "a mutex in the view")
        let entered = PrioritySemaphore(value: 0), leave = PrioritySemaphore(value: 0)
        let holder = Shared<Int32>(0)
        let thread = Thread {
            holder.access { $0 = csk_thread_id() }
            mutex.withLock { _ in
                try! entered.signal()
                try! leave.blockingWait()
            }
        }
        try await entered.wait()
        let low = Thread { mutex.withLock(priority: .low) { $0 += 1 } }
        _ = await whenSeen("a mutex in the view") { $0.waiters.count == 1 }
        let high = Thread { mutex.withLock(priority: .high) { $0 += 1 } }
        // A thread stands in the queue before it sleeps, and its wait has a number only then.
        func areNumbered(_ object: InspectionReport.Object) -> Bool {
            object.waiters.count == 2 && object.waiters.allSatisfy { $0.waitNumber != nil }
        }
        let seen = try #require(await whenSeen("a mutex in the view", areNumbered))
        #expect(seen.kind == .mutex && seen.waitingCount == 2 && !seen.isBusy)
        if case .thread(let who) = seen.holder {
            #expect(who.id == holder.value && !who.name.isEmpty)
        } else {
            Issue.record("held by \(seen.holder)")
        }
        #expect(seen.waiters.map(\.priority) == [.high, .low])
        #expect(seen.waiters.allSatisfy { $0.purpose == .entry && $0.thread != nil && $0.waitedFor! >= .zero })
        let again = try #require(await whenSeen("a mutex in the view", areNumbered))
        #expect(again.waiters.map(\.waitNumber) == seen.waiters.map(\.waitNumber))
        #expect(SyncInspector.text().contains("a mutex in the view"))
        #expect(SyncInspector.json().contains("\"a mutex in the view\""))
        try leave.signal()
        for waiter in [thread, low, high] { waiter.join() }
        #expect(object("a mutex in the view") == nil)
    }

    @Test
    func tasksAreListedWhileThatIsAskedFor() async throws {
        let mutex = PriorityMutex(0, name: "a mutex for tasks")
        let entered = PrioritySemaphore(value: 0), leave = PrioritySemaphore(value: 0)
        let thread = Thread {
            mutex.withLock { _ in
                try! entered.signal()
                try! leave.blockingWait()
            }
        }
        try await entered.wait()
        SyncInspector.listsTasks(true)
        defer { SyncInspector.listsTasks(false) }
        let task = Task { try await mutex.suspending.withLock(priority: .high) { $0 += 1 } }
        let seen = try #require(await whenSeen("a mutex for tasks") { $0.waiters.count == 1 })
        #expect(seen.waiters[0].thread == nil && seen.waiters[0].priority == .high)
        #expect(seen.waiters[0].waitedFor != nil)
        try leave.signal()
        thread.join()
        try await task.value
    }

    @Test
    func aSemaphoreAndAReadWriteLockAreShown() async throws {
        let semaphore = PrioritySemaphore(value: 1, name: "permits in the view")
        let lock = ReadWriteCoordinator(name: "a lock in the view")
        let entered = PrioritySemaphore(value: 0), leave = PrioritySemaphore(value: 0)
        let readerID = Shared<Int32>(0)
        let reader = Thread {
            readerID.access { $0 = csk_thread_id() }
            lock.read {
                try! entered.signal()
                try! leave.blockingWait()
            }
        }
        try await entered.wait()
        let waiter = Thread { try! semaphore.blockingWait(permits: 1) }
        waiter.join()
        let many = Thread { try! semaphore.blockingWait(permits: 1) }
        let writer = Thread { lock.blockingWrite {} }
        let permits = try #require(await whenSeen("permits in the view") { $0.waiters.count == 1 })
        #expect(permits.kind == .semaphore && permits.waiters[0].purpose == .permits(1) && permits.count == 0)
        let shared = try #require(await whenSeen("a lock in the view") { $0.waiters.count == 1 })
        #expect(shared.kind == .readWriteLock && shared.waiters[0].purpose == .write)
        if case .readers(1, let one) = shared.holder {
            #expect(one?.id == readerID.value)
        } else {
            Issue.record("held by \(shared.holder)")
        }
        try semaphore.signal()
        try leave.signal()
        for thread in [reader, many, writer] { thread.join() }
    }

    @Test
    func aStuckPoolIsShown() async throws {
        let queue = ConcurrentWorkQueue(name: "a stuck queue", width: 2)
        let leave = PrioritySemaphore(value: 0), begun = PrioritySemaphore(value: 0)
        SyncInspector.listsTasks(true)
        defer { SyncInspector.listsTasks(false) }
        for _ in 0..<2 {
            queue.async {
                try! begun.signal()
                try! leave.blockingWait()
            }
        }
        try await begun.wait(permits: 2)
        queue.async {}
        let seen = try #require(await whenSeen("a stuck queue") { $0.runningCount == 2 && $0.count == 1 })
        #expect(seen.kind == .workQueue)
        #expect(try #require(seen.runningFor) >= .zero)
        let snapshot = SyncInspector.report()
        #expect(snapshot.pool.isBusy || snapshot.workers.count { $0.runningFor != nil } >= 2)
        #expect(snapshot.pool.isBusy || snapshot.pool.workerCount >= 2)
        #expect(snapshot.workers.isEmpty == snapshot.pool.isBusy)
        try leave.signal(2)
        try await queue.drain()
    }

    /// The work waits for nothing of this library's, and nobody waits for the queue.
    @Test
    func aBusyQueueShowsItsDepth() async throws {
        let queue = WorkQueue(name: "a busy queue")
        let stays = Atomic(true), begun = Atomic(false)
        SyncInspector.listsTasks(true)
        defer { SyncInspector.listsTasks(false) }
        queue.async {
            begun.store(true, ordering: .releasing)
            while stays.load(ordering: .acquiring) { sched_yield() }
        }
        await waitUntil("the work has begun") { begun.load(ordering: .acquiring) }
        for _ in 0..<3 { queue.async {} }
        let seen = try #require(await whenSeen("a busy queue") { !$0.isBusy })
        #expect(seen.count == 3 && !seen.countIsAtLeast && seen.runningCount == 1 && seen.width == 1)
        #expect(seen.isServed && !seen.waitsForWorker && seen.waiters.isEmpty)
        #expect(try #require(seen.runningFor) >= .zero)
        for _ in 0..<5000 { queue.async {} }
        let long = try #require(await whenSeen("a busy queue") { !$0.isBusy })
        #expect(long.countIsAtLeast && long.count > 4000)
        stays.store(false, ordering: .releasing)
        try await queue.drain()
    }

    @Test
    func aViewWithLittleRoomSaysWhatItLeavesOut() async throws {
        let mutex = PriorityMutex(0, name: "a crowd")
        let entered = PrioritySemaphore(value: 0), leave = PrioritySemaphore(value: 0)
        let holder = Thread {
            mutex.withLock { _ in
                try! entered.signal()
                try! leave.blockingWait()
            }
        }
        try await entered.wait()
        let waiters = (0..<3).map { _ in Thread { mutex.withLock { $0 += 1 } } }
        _ = await whenSeen("a crowd") { $0.waitingCount == 3 }
        let small = SyncInspector.report(limit: 1)
        #expect(small.objects.count == 1 && small.leftOutCount > 0)
        #expect(small.objects[0].waiters.count <= 1)
        try leave.signal()
        for thread in [holder] + waiters { thread.join() }
    }

    /// What the socket answers to `request`.
    private func ask(_ path: String, _ request: String) -> String {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8) + [0]) }
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else { return "error: connect \(errno)" }
        _ = Array("\(request)\n".utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        var answer = [UInt8](), piece = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &piece, piece.count)
            if count <= 0 { return String(decoding: answer, as: UTF8.self) }
            answer += piece[..<count]
        }
    }

    @Test
    func aSocketAnswersWhileAllThreadsOfTasksAreBlocked() async throws {
        let path = "/tmp/swiftsync-inspector-\(getpid())"
        try SyncInspector.serve(path: path)
        defer { SyncInspector.stopServing() }
        #expect(throws: SyncInspectorError.invalid) { try SyncInspector.serve(path: "\(path)\0") }
        #expect(throws: SyncInspectorError.inUse) { try SyncInspector.serve(path: path) }
        var information = stat()
        #expect(stat(path, &information) == 0 && information.st_mode & 0o777 == 0o600)

        let mutex = PriorityMutex(0, name: "what blocks the pool")
        let answers = Shared<[String]>([])
        let thread = Thread {
            mutex.withLock { _ in
                // More tasks than there are threads for them; each blocks the one that it runs on, as the test does.
                for _ in 0..<64 { Task.detached { mutex.withLock { $0 += 1 } } }
                waitUntil { mutex.waitingCount >= 1 }
                answers.access { $0 = [ask(path, "text"), ask(path, "json"), ask(path, "nonsense")] }
            }
        }
        thread.join()
        await waitUntil { mutex.withLock { $0 } == 64 }
        let all = answers.value
        #expect(all[0].contains("what blocks the pool"))
        #expect(all[1].hasPrefix("{") && all[1].contains("what blocks the pool"))
        #expect(all[2].hasPrefix("error"))
    }

    @Test
    func whatCantBeServedIsRefused() throws {
        #expect(throws: SyncInspectorError.invalid) { try SyncInspector.serve(path: nil) }
        #expect(throws: SyncInspectorError.invalid) { try SyncInspector.serve(path: "") }
        #expect(throws: SyncInspectorError.invalid) { try SyncInspector.serve(path: nil, signal: SIGKILL) }
        #expect(throws: SyncInspectorError.system(ENOENT)) { try SyncInspector.serve(path: "/no/such/folder/socket") }
        SyncInspector.stopServing() // nothing is served: it does nothing
    }
}
