import Testing

/// What the compiler says of users' code under strict memory safety.
@Suite(.serialized) struct StrictMemorySafetyTests {
    private func says(of source: String) async throws -> [String] {
        try await Compiler.says(of: source, languageMode: 6, options: ["-strict-memory-safety"])
    }

    /// The public types and what they are mainly used for.
    @Test
    func usersNeedNotWriteUnsafe() async throws {
        #expect(try await says(of: Self.locksAndValues) == [])
        #expect(try await says(of: Self.queues) == [])
        #expect(try await says(of: Self.orderedQueues) == [])
        #expect(try await says(of: Self.snapshots) == [])
    }

    /// What keeps nothing alive, or takes pointers, asks for it.
    @Test
    func theKernelAndUnownedExecutorsAreUnsafe() async throws {
        let said = try await says(
            of: """
                import CSyncKernel
                import SwiftSync
                actor Journal {
                    private let queue = WorkQueue(name: "journal")
                    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }
                }
                actor Log {
                    private let queue = WorkQueue(name: "log")
                    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
                }
                func pass(_ mutex: UnsafeMutablePointer<csk_mutex_t>) {
                    csk_mutex_lock(mutex)
                    unsafe csk_mutex_unlock(mutex)
                }
                """)
        #expect(said.map { $0.prefix { $0 != ":" } } == ["5", "12"])
        #expect(said.allSatisfy { $0.contains("warning: ") && $0.contains("unsafe") })
    }

    private static let locksAndValues = """
        import Dispatch
        import SwiftSync
        final class Parser { var depth = 0 }
        let scratch = ThreadLocalValue<[UInt8]>(namespace: "strict", key: "scratch") { _ in [] }
        let parser = ThreadLocalValue<Parser>(key: "parser") { _ in Parser() }
        func locks() throws {
            let section = CriticalSection(), mutex = PriorityMutex(0, policy: .strict, bypassLimit: 100)
            section.execute {}
            _ = section.execute(timeout: .milliseconds(1)) {}
            _ = section.execute(timeout: 0.1) {}
            mutex.withLock { $0 += 1 }
            _ = mutex.withLockIfAvailable { $0 }
            _ = mutex.withLock(priority: .high, timeout: .seconds(1)) { $0 }
            let table = ReadWriteLock([1: "one"], readerBias: true)
            _ = table.withReadLock { $0[1] }
            _ = table.withReadLockIfAvailable { $0[1] }
            _ = table.withReadLock(timeout: .seconds(1)) { $0[1] }
            table.withWriteLock { $0[2] = "two" }
            _ = table.withWriteLockIfAvailable { $0.count }
            _ = table.withWriteLock(timeout: .seconds(1)) { $0[2] = nil }
            _ = table.withWriteLock { $0[3] = "three" } thenRead: { table, _ in table.count }
            try table.withUpgradableReadLock { table, upgrade in try upgrade { $0[table.count] = "next" } }
            _ = scratch.value()
            _ = scratch.cachedValue()
            scratch.setValue([1])
            _ = scratch.value { [2] }
            parser.withValue { $0?.depth += 1 }
        }
        func coordinator() async throws {
            let coordinator = ReadWriteCoordinator(queueLabel: "names")
            _ = coordinator.read { 1 }
            _ = try coordinator.read(timeout: .seconds(1)) { 1 }
            coordinator.enqueueWrite {}
            coordinator.blockingWrite {}
            try coordinator.blockingWrite(timeout: .seconds(1)) {}
            try coordinator.drain(timeout: .seconds(1))
            _ = try await coordinator.suspending.read { 1 }
            try await coordinator.suspending.write(timeout: .seconds(1)) {}
            try await coordinator.suspending.drain()
        }
        func values() async {
            let value = QueueSafeValue(value: [1], policy: .fast, bypassLimit: 10)
            _ = value.wait.lowestPriority.get()
            value.wait.highestPriority.get { _ in }
            value.wait.highestPriority.get { _, done in done() }
            value.wait(timeout: .seconds(1)).priority(.high).set(newValue: [2])
            value.wait.lowestPriority.set { $0.append(3) }
            value.wait.lowestPriority.set { value, done in value.append(4); done() }
            _ = value.wait.lowestPriority.map { $0.count }
            value.async(performIn: .global()).lowestPriority.set { $0.append(5) }
            value.async(performIn: .utility, timeout: .seconds(1)).highestPriority.get { _ in }
            await value.suspending.set { $0.append(6) }
            _ = await value.suspending(timeout: .seconds(1)).priority(.low).get()
            _ = await value.suspending.map { $0.count }
            QueueSafeSyncedValue(value: 0).highestPriority.set { $0 += 1 }
            QueueSafeAsyncedValue(value: 0, queue: .main).lowestPriority.set { $0 += 1 }
            let commands = CommandQueue()
            commands.append(priority: .priority(.high)) {}
            commands.perform()
            commands.performNow {}
        }
        func elements(_ elements: BlockingPriorityQueue<[Int]>) throws {
            elements.push([1], priority: .high)
            _ = elements.tryPush([2])
            try elements.push([3], timeout: .seconds(1))
            _ = elements.pop()
            _ = elements.tryPop()
            _ = try elements.pop(timeout: .seconds(1))
            _ = elements.takeAll()
            elements.shutdown()
            _ = (elements.count, elements.isShutDown, elements.capacity)
        }
        """

    private static let queues = """
        import Dispatch
        import SwiftSync
        func workQueues() async throws {
            let recorder = EventRecorder(name: "events"), queue = WorkQueue(name: "queue", recorder: recorder)
            queue.async {}
            queue.async(priority: .high) {}
            queue.async(inheritingTaskLocals: true) {}
            queue.async(after: .milliseconds(1)) {}.cancel()
            queue.async(every: .seconds(1)) {}.cancel()
            queue.asyncAfter(deadline: .now()) {}
            _ = try queue.sync(timeout: .seconds(1)) { 1 }
            _ = await queue.run { 1 }
            _ = try await queue.run(timeout: .seconds(1)) { 1 }
            await Task(executorPreference: queue) {}.value
            queue.suspend()
            queue.resume()
            try await queue.drain(timeout: .seconds(1))
            queue.shutdown()
            let wide = ConcurrentWorkQueue(name: "wide", width: 4, capacity: 10, whenFull: .refuse)
            wide.async(barrier: true) {}
            try await wide.asyncWaitingForRoom {}
            await wide.run(barrier: true) {}
            await Task(executorPreference: wide) {}.value
            try await wide.drain()
            async {}
            async(delay: 0.001) {}
            asyncBarrier {}
            mainThread {}
            try WorkerPool.configure(least: 2) {}
            _ = WorkerPool.workerCount
        }
        enum Named: String, NamedQueue { case log }
        func namedQueues() {
            Named.log.async {}
            Named.log.sync {}
            Named.log.queue.async(tag: "tag") {}
            _ = DispatchQueue(config: QueueConfig(queueID: "name", qos: .utility))
        }
        struct Job: TaskQueue.Task {
            let tag = "job"
            func execute(queueLock: QueueLock) { queueLock.release() }
        }
        func taskQueue() {
            let queue = TaskQueue.getQueue(identifier: "jobs"), observation = queue.observe { _ in }
            queue.push(task: Job())
            _ = (queue.isIdle, queue.waitingCount)
            observation.end()
            queue.recorder.reply { _ in }
            queue.recorder.replayInteractively(input: -1) { _ in }
            _ = (queue.recorder.events.last?.kind, queue.recorder.chromeTrace(), queue.recorder.recordedCount)
            var replay = EventReplay(of: queue.recorder)
            _ = replay.handle("next")
            SyncDiagnostics.setHandler { report in _ = report.description }
        }
        """

    private static let orderedQueues = """
        import SwiftSync
        actor Counter {
            private var count = 0
            private let queue = ActorQueue<Counter>(name: "counter")
            init() { queue.adoptExecutionContext(of: self) }
            nonisolated func increment() { queue.enqueue { counter in counter.count += 1 } }
            func value() async -> Int { await queue.enqueueAndWait { counter in counter.count } }
            nonisolated func add() async { await Task(on: queue) { counter in counter.count += 1 }.value }
        }
        func ordered(_ counter: Counter) async throws {
            let queue = FIFOQueue(name: "order", capacity: 10, whenFull: .wait)
            queue.enqueue { _ = await counter.value() }
            queue.enqueue(inheritingTaskLocals: true) {}
            try await queue.enqueueWaitingForRoom {}
            _ = await queue.enqueueAndWait { 1 }
            _ = try await queue.enqueueAndWait(timeout: .seconds(1)) { 1 }
            await Task(on: queue) {}.value
            let cancellable = CancellableQueue(underlyingQueue: queue)
            await Task(on: cancellable) {}.value
            cancellable.cancelTasks()
            try await queue.drain()
            queue.shutdown()
            MainActorQueue.shared.enqueue {}
            _ = await MainActorQueue.shared.enqueueAndWait { 1 }
        }
        """

    private static let snapshots = """
        import SwiftSync
        func snapshots() throws {
            let routes = Snapshot(["/": "index"])
            _ = routes.read { $0.count }
            _ = routes.current
            routes.store([:])
            routes.update { $0["/about"] = "about" }
            try routes.update(timeout: .seconds(1)) { $0["/"] = nil }
            routes.replace { _ in [:] }
            let sessions = SnapshotDictionary<Int, String>([1: "one"])
            sessions.updateValue("alice", forKey: 7)
            sessions.insertValue("bob", forKey: 8)
            sessions.removeValue(forKey: 7)
            _ = sessions.read(8) { $0.utf8.count }
            sessions.update(forKey: 9, default: "") { $0 += "!" }
            sessions.forEach { _, _ in }
            _ = (sessions[8], sessions.count, sessions.current)
            sessions.removeAll()
        }
        """
}
