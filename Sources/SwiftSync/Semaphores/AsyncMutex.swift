public import CSyncKernel

/// Protects a value by a lock that a task may hold while it is suspended. Waiting tasks are ordered by priority, and
/// may have a timeout.
///
/// An actor admits the next call whenever one is suspended. Here no other task is inside until the section has ended:
///
/// ```swift
/// let numbers = AsyncMutex([3, 1, 2])
/// func smallest() async throws -> Int {
///     try await numbers.withLock(priority: .high, timeout: .seconds(1)) { numbers in
///         numbers = await Task { [numbers] in numbers.sorted() }.value    // suspends; nobody is inside meanwhile
///         return numbers[0]
///     }
/// }
/// ```
///
/// No call blocks a thread. A task that is cancelled before or during its wait leaves the queue, and gets `.cancelled`.
/// A task that is escalated while it waits at its own priority moves up. Once a task is inside, only its own code ends
/// the section. Meanwhile it runs at no less than the task priority of those that wait. The priority that a call names
/// counts for the order alone.
///
/// The section runs where its caller runs: on the caller's actor if there is one. A free mutex costs two locked
/// instructions, no allocation and no change of the executor. A task that has to wait costs one allocation. The mutex
/// is handed to it before it resumes: no task of the same or a lower priority overtakes it, and tasks of a higher one
/// only as often as `bypassLimit` allows. Waiting is O(log n) with n waiters. The value lives in the mutex, which is
/// one allocation.
///
/// Use a ``PriorityMutex`` for sections that don't suspend: it is many times as fast, and threads can use it.
@safe
public final class AsyncMutex<Value: ~Copyable>: @unchecked Sendable {
    @exclusivity(unchecked) private var held: csk_held_sem_t
    @usableFromInline let address: UnsafeMutablePointer<csk_sem_t>
    @usableFromInline @exclusivity(unchecked) var value: Value

    /// Protects `value`, which is sent in. It makes one allocation and never blocks.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - bypassLimit: a waiting task that this many later arrivals have overtaken goes next. 0 means strict priority.
    ///     Nil means strict priority for calls that name a priority, and 64 for the others.
    ///   - waitersLimit: how many tasks may wait; less than 1 stops the program with a message. A further task gets
    ///     `.full` at once. Nil: any number.
    ///   - name: a name, which is copied, for messages and reports. Nil stands for the place.
    ///   - fileID: where the mutex is made.
    ///   - line: the line there.
    public init(
        _ value: consuming sending Value, bypassLimit: UInt32? = nil, waitersLimit: Int? = nil, name: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        let place = unsafe csk_place_t.named(name, fileID, line)
        guard let waiters = WaitersLimit.ofKernel(waitersLimit) else {
            fatalError("AsyncMutex \(unsafe place.label!): waitersLimit \(waitersLimit ?? 0): not 1 <= waitersLimit")
        }
        let attributes = csk_sem_attr_t(
            size: 0, most: 1, bypass_limit: BypassLimit.ofKernel(bypassLimit), waiters_limit: waiters,
            policy: UInt32(CSK_SEM_STRICT))
        unsafe held = csk_held_sem_t()
        let memory = unsafe RuntimeFacts.lastingAddress(of: &held)
        unsafe address = Layout.first(of: memory)
        unsafe self.value = value
        unsafe csk_placed_sem_t.prepare(Layout.first(of: memory), 1, attributes, place)
        unsafe csk_held_sem_begin(memory)
    }

    deinit { unsafe held.placed.place.end() }

    /// The name in reports: the given one, or where it was made (`Module/File.swift:12`), or its address. Never blocks.
    public var name: String { unsafe held.placed.place.name(of: address) }

    /// Runs `body`, which may suspend, with the value while no other task has it.
    ///
    /// It suspends the task while another is inside, and goes before waiting tasks of a lower priority. It returns what
    /// `body` returns, and throws what `body` throws. Without running `body` it throws an ``AsyncMutexError``:
    /// `.timedOut`, `.cancelled`, `.full` where `waitersLimit` tasks wait, `.wouldDeadlock` from inside a section of
    /// the same task, or `.outOfResources` where the system gives no timer.
    ///
    /// If a parent inside a section waits for a child task that locks the same mutex, the deadlock is not detected:
    /// both wait for ever, or until the timeout.
    ///
    /// A nil `priority` is that of `withPriority`, or of the task. A timeout of zero or less tries once. Without a
    /// timeout only the deadline of `withDeadline` bounds the wait. A timeout is never early, and does not end a
    /// section.
    @inlinable
    public func withLock<Result>(
        priority: CommandPriority? = nil, timeout: TimeLimit = .never,
        _ body: (inout sending Value) async throws -> sending Result
    ) async throws -> sending Result {
        if Task.isCancelledByOthers { throw AsyncMutexError.cancelled }
        let task = RuntimeFacts.addressOfTask()
        if unsafe !withSemaphore({ unsafe csk_sem_take_fast($0, 1) }) {
            try await enterSlowly(priority, timeout, task)
        }
        unsafe csk_sem_set_holder(address, UInt64(task))
        defer { leave() }
        return try await unsafe body(&value)
    }

    /// Runs `body` if the mutex is free, else returns nil. It doesn't wait to enter.
    ///
    /// It also returns nil while a task of the same or a higher priority waits to enter, and in a section of the same
    /// task.
    @inlinable
    public func withLockIfAvailable<Result>(
        _ body: (inout sending Value) async throws -> sending Result
    ) async rethrows -> sending Result? {
        let priority = RequestPriority.ofTask()
        guard unsafe withSemaphore({ unsafe csk_sem_trywait($0, priority.rawValue, 1) }) == 0 else {
            return nil
        }
        unsafe csk_sem_set_holder(address, UInt64(RuntimeFacts.addressOfTask()))
        defer { leave() }
        return try await unsafe body(&value)
    }

    @usableFromInline
    func enterSlowly(
        _ priority: CommandPriority?, _ limit: TimeLimit, _ task: UInt
    ) async throws(AsyncMutexError) {
        // No other task writes the address of this task, nor that of a task for which it runs a part.
        let holder = unsafe csk_sem_holder(address)
        if holder == UInt64(task) || holder != 0 && OrderedActivation.isAwaited(by: UInt(holder)) {
            throw .wouldDeadlock
        }
        let status = await unsafe SemaphoreWait.acquire(
            1, at: address, of: self, for: task, naming: priority, deadline: limit.deadline())
        if status != 0 { throw AsyncMutexError(status: status) }
    }

    /// Calls `body` with the semaphore, which is a part of this object, and keeps the object until `body` has returned.
    @inlinable
    @inline(__always)
    func withSemaphore<Result>(_ body: (UnsafeMutablePointer<csk_sem_t>) -> Result) -> Result {
        withExtendedLifetime(self) { unsafe body(address) }
    }

    @inlinable
    func leave() {
        unsafe withSemaphore {
            unsafe csk_sem_set_holder($0, 0)
            _ = unsafe csk_sem_post($0, 1)
        }
    }

    /// The number of tasks that waited at some instant during the call. It is meant for statistics.
    public var waitingCount: Int { unsafe Int(csk_sem_waiting(address)) }
}
