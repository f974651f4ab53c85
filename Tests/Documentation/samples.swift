// What the samples in doc comments need before and after them, which readers don't. A section is named after the source
// file, and the number of the sample in it where that is not the first. check.py puts the parts together; this file
// alone is not compiled.

// MARK: PriorityMutex check
expect(size == 1)

// MARK: PriorityMutex+Suspending check
expect(size == 1)

// MARK: CriticalSection setup
var counter = 0
// MARK: CriticalSection check
expect(done && counter == 2)

// MARK: QueueSafeValue check
try expect(now.get() >= 1)
try expect(soon == .failure(.timedOut) || soon.get() >= 1)

// MARK: CommandPriority setup
let queue = BlockingPriorityQueue<String>()
let job = "job"
// MARK: CommandPriority check
expect(queue.count == 2)

// MARK: BlockingPriorityQueue setup
struct Job { func run() {} }
let job = Job()
// MARK: BlockingPriorityQueue check
expect(jobs.isShutDown && jobs.count == 0)

// MARK: SyncDiagnostics setup
struct Logger: Sendable {
    let warnings = PriorityMutex([String]())
    func warning(_ text: String) { warnings.withLock { $0.append(text) } }
}
let logger = Logger()
// MARK: SyncDiagnostics check
_ = CriticalSection().execute(timeout: .nan) {}
SyncDiagnostics.setHandler(nil)
expect(logger.warnings.withLock { $0.count } == 1)

// MARK: GatePolicy check
log.withLock { $0.append("line") }
table.wait.lowestPriority.set { $0[1] = "row" }

// MARK: ReadWriteCoordinator check
expect(count == 2)

// MARK: ReadWriteCoordinator+Suspending setup
let coordinator = ReadWriteCoordinator()
nonisolated(unsafe) var names = ["ada"]
// MARK: ReadWriteCoordinator+Suspending check
expect(count == 1 && names.isEmpty)

// MARK: ReadWriteLock 1 check
expect(page == "index" && routes.withReadLock { $0.count } == 2)

// MARK: ReadWriteLock+Suspending check
expect(page == "index" && routes.withReadLock { $0.count } == 2)

// MARK: ReadWriteLock 2 setup
struct Totals {
    var numbers = [1]
    mutating func add(_ number: Int) { numbers.append(number) }
    func sum() -> Int { numbers.reduce(0, +) }
}
let totals = ReadWriteLock(Totals()), order = 2
// MARK: ReadWriteLock 2 check
expect(total == 3)

// MARK: ReadWriteLock 3 setup
let users = ReadWriteLock([Int: String]()), id = 7
func load(_ id: Int) throws -> String { "user \(id)" }
// MARK: ReadWriteLock 3 check
expect(user == "user 7" && users.withReadLock { $0[7] } == "user 7")

// MARK: CommandQueue+Priority setup
let queue = CommandQueue()
// MARK: CommandQueue+Priority check
queue.perform()

// MARK: ManualCompletion check
expect(value.wait.lowestPriority.get() == .success(1))

// MARK: SyncCommands 1 check
expect(result == .success(2))

// MARK: SyncCommands 2 check
expect(updated == .success([1, 2]) && count == .success(2))

// MARK: SuspendingCommands check
expect(result == .success(2))

// MARK: QueueSafeValue 2 check
expect(count == .success(2))

// MARK: ThreadLocalValue check
expect(buffer?.count == 4096 && scratch.cachedValue() == nil)

// MARK: TimeLimit check
expect(size == 0 && found == .some(nil) && first == .some(nil))

// MARK: TaskCancellationShield check
let isClean = try await registry.withLock { $0.isEmpty }
expect(isClean)

// MARK: WithDeadline check
let count = try await answer("a")
expect(count == 1)

// MARK: Snapshot check
expect(page == "index" && routes.current.count == 2)

// MARK: SnapshotDictionary check
expect(length == 5 && sessions.isEmpty)

// MARK: SnapshotError check
expect(routes.current.count == 2)

// MARK: WorkQueue 1 setup
let line = "line", alarm = "alarm", written = PriorityMutex([String]())
@Sendable func write(_ line: String) { written.withLock { $0.append(line) } }
@Sendable func flush() throws -> Int { written.withLock { $0.count } }
// MARK: WorkQueue 1 check
expect(size == 2)

// MARK: WorkQueue 2 check
_ = Journal()

// MARK: ConcurrentWorkQueue setup
let request = "request", handled = PriorityMutex(0)
@Sendable func handle(_ request: String) { handled.withLock { $0 += 1 } }
@Sendable func reload() { handled.withLock { $0 *= 10 } }
// MARK: ConcurrentWorkQueue check
try await requests.drain()
expect(handled.withLock { $0 } == 10)

// MARK: DelayedWork setup
let queue = WorkQueue(name: "queue")
struct Connection: Sendable { func close() { fatalError("closed") } }
let connection = Connection()
// MARK: DelayedWork check
try await queue.drain()

// MARK: QueueConfig check
expect(queue.label == "com.example.archive" && queue.qos.qosClass == .utility)

// MARK: DispatchQueue+QueueConfig setup
let connected = DispatchSemaphore(value: 0)
@Sendable func connect() { connected.signal() }
// MARK: DispatchQueue+QueueConfig check
expect(connected.wait(timeout: .now() + 5) == .success)

// MARK: NamedQueue setup
nonisolated(unsafe) var saved = 0
@Sendable func save() { saved += 1 }
func count() -> Int { saved }
@Sendable func reconnect() { expect(Queue.network.queue.runningCount == 1) }
// MARK: NamedQueue check
expect(rows == 1)
try await Queue.network.queue.drain()

// MARK: GlobalFunctions 2 setup
let document = "document", text = "text", done = DispatchSemaphore(value: 0)
@Sendable func save(_ document: String) { done.signal() }
@Sendable func search(_ text: String) { done.signal() }
nonisolated(unsafe) var title = ""
// MARK: GlobalFunctions 2 check
expect(done.wait(timeout: .now() + 5) == .success && done.wait(timeout: .now() + 5) == .success)
await MainActor.run { expect(title == "Saved") }
// MARK: TaskQueue check
while !queue.isIdle { await Task.yield() }
expect(queue.recorder.events.count == 9)

// MARK: TaskQueue+Changes setup
let queue = TaskQueue.getQueue(identifier: "observed")
// MARK: TaskQueue+Changes check
expect(queue.isIdle)

// MARK: QueueLock check
let queue = TaskQueue.getQueue(identifier: "refresh")
queue.push(task: Refresh())
while !queue.isIdle { await Task.yield() }

// MARK: EventRecorder setup
struct Download: TaskQueue.Task {
    let tag: String
    func execute(queueLock: QueueLock) { queueLock.release() }
}
// MARK: EventRecorder check
expect(last == .finished && json.contains("\"downloads\""))

// MARK: EventRecorder+ChromeTrace setup
let queue = TaskQueue.getQueue(identifier: "traced")
let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).json")
// MARK: EventRecorder+ChromeTrace check
try expect(JSONSerialization.jsonObject(with: Data(contentsOf: file)) is [String: Any])
try FileManager.default.removeItem(at: file)

// MARK: EventReplay setup
struct Page: TaskQueue.Task {
    let tag: String
    func execute(queueLock: QueueLock) { queueLock.release() }
}
let queue = TaskQueue.getQueue(identifier: "pages")
for number in 1...3 { queue.push(task: Page(tag: "page \(number)")) }
// MARK: EventReplay check
expect(replay.pause == nil && !replay.isOver)

// MARK: FIFOQueue setup
@Sendable func upload(_ name: String) async { await Task.yield() }
struct Store { var size: Int { get async { 7 } } }
let store = Store()
// MARK: FIFOQueue check
await task.value
expect(size == 7)

// MARK: ActorQueue check
let counter = Counter()
counter.increment()
let value = await counter.value()
expect(value == 1)

// MARK: MainActorQueue setup
@MainActor final class Screen { var title = "" }
let screen = await MainActor.run { Screen() }
// MARK: MainActorQueue check
let length = await task.value
expect(length == 5)

// MARK: SyncErrorReason check
expect(status(of: WorkQueueError.full) == 503 && status(of: OrderedQueueError.timedOut) == 504)

// MARK: OverflowPolicy check
expect(jobs.async {} && log.enqueue {})
try await log.drain()

// MARK: CancellableQueue setup
@Sendable func find(_ text: String) async throws -> String { text }
// MARK: CancellableQueue check
_ = await search.result

// MARK: DrainService setup
import Logging
import ServiceLifecycle

struct Server: Service {
    func run() async throws {
        kill(getpid(), SIGTERM)
        try await gracefulShutdown()
    }
}
let requests = WorkQueue(name: "requests"), connections = ResourcePool<Int>(maximum: 1, make: { 1 })
let server = Server(), logger = Logger(label: "server")
// MARK: DrainService check
SyncDiagnostics.setHandler { _ in }
expect(!requests.async {})

// MARK: SyncDiagnostics+Logger setup
import Logging
// MARK: SyncDiagnostics+Logger check
SyncDiagnostics.setLogger(nil)

// MARK: SyncMetricsPublisher+Service setup
import Logging
import ServiceLifecycle

struct Server: Service {
    func run() async throws { try await gracefulShutdown() }
}
let server = Server(), logger = Logger(label: "server")
// MARK: SyncMetricsPublisher+Service check
let running = Task { try await group.run() }
await group.triggerGracefulShutdown()
try await running.value

// MARK: SyncMetricsPublisher check
publishing.cancel()
_ = await publishing.result
SyncMetrics.stop()

// MARK: SyncMetrics check
SyncMetrics.stop()

// MARK: SyncInspector check
expect(report.objects.allSatisfy { $0.waiters.isEmpty } && !report.isMissing)

// MARK: LockOrder reports
users -> sessions -> users
