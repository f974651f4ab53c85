import Dispatch

/// Facts about the compiler, the runtime and Dispatch that no document promises. The library relies on such facts in
/// this file and nowhere else.
///
/// Each function says what its fact is. `RuntimeFactsTests` checks them, with one test for each, so a toolchain that
/// behaves otherwise fails there first.
@usableFromInline
enum RuntimeFacts {
    // MARK: - Layouts

    /// Returns a copy of the first fields of a structure, whatever follows them.
    ///
    /// Fact: the first stored properties of a structure, even of a generic one, have the layout of a structure of these
    /// properties alone.
    @inlinable
    @inline(__always)
    static func beginning<Beginning>(of whole: UnsafeMutableRawPointer, as type: Beginning.Type) -> Beginning {
        unsafe whole.load(as: Beginning.self)
    }

    /// Returns the address of a stored property of an object, valid as long as the object lives.
    ///
    /// Fact: a stored property without observers is passed in its place, and never moves. It has to be of a final class
    /// or final itself, and to be declared with `@exclusivity(unchecked)`, since others use the address meanwhile. (The
    /// documentation promises the pointer only for the length of a closure.) Calls by several threads have to be
    /// ordered, or ThreadSanitizer takes them for writes that race.
    @inlinable
    @inline(__always)
    static func lastingAddress<Property>(of property: inout Property) -> UnsafeMutablePointer<Property> {
        unsafe withUnsafeMutablePointer(to: &property) { unsafe $0 }
    }

    /// Returns the context in which a task goes on that is being suspended with this continuation.
    ///
    /// Fact: a continuation is the address of its task, and a task has this context in its word 8. A context begins
    /// with the context of the function that awaits it, and with the code that goes on there. Only the contention
    /// profile reads them, through a system call, which refuses invalid addresses.
    static func context(of continuation: UnsafeContinuation<Void, Never>) -> UnsafeRawPointer? {
        let task = unsafe unsafeBitCast(continuation, to: UnsafeRawPointer.self)
        return unsafe task.load(fromByteOffset: 8 * MemoryLayout<UInt>.stride, as: UnsafeRawPointer?.self)
    }

    /// Returns the address of the task that is being suspended with this continuation.
    ///
    /// Fact: that of ``context(of:)``.
    static func addressOfTask(of continuation: UnsafeContinuation<Void, Never>) -> UInt {
        unsafe unsafeBitCast(continuation, to: UInt.self)
    }

    /// Returns the address of the task that this job resumes, if the job is a task's; 0 for nil.
    ///
    /// Fact: a task's job is the task itself.
    static func addressOfTask(of job: UnownedJob?) -> UInt {
        job.map { unsafe unsafeBitCast($0, to: UInt.self) } ?? 0
    }

    /// Returns the name of the calling task; nil where it has none. It lasts as long as the task.
    ///
    /// Fact: the runtime function by which `Task.name` is read returns a copy in the task's own memory. (`Task.name`
    /// makes a string of it, which may allocate.)
    static func nameOfTask() -> UnsafePointer<CChar>? { unsafe currentTaskName() }

    /// Returns the context in which a suspended task goes on, by the task's address.
    ///
    /// Fact: that of ``context(of:)``.
    static func context(ofTask task: UInt) -> UnsafeRawPointer? {
        guard let task = unsafe UnsafeRawPointer(bitPattern: task) else { return nil }
        return unsafe task.load(fromByteOffset: 8 * MemoryLayout<UInt>.stride, as: UnsafeRawPointer?.self)
    }

    /// Returns the type of a class as a pointer, for C.
    ///
    /// Fact: a class's type is one word. It is the same each time and never zero, and what it refers to lives for ever.
    @inlinable
    @inline(__always)
    static func pointer<Object: AnyObject>(to type: Object.Type) -> UnsafeMutableRawPointer {
        unsafe unsafeBitCast(type, to: UnsafeMutableRawPointer.self)
    }

    /// Returns the type that ``pointer(to:)`` was called with, or a type that it inherits from.
    @inline(__always)
    static func type<Object: AnyObject>(
        at pointer: UnsafeMutableRawPointer?, as type: Object.Type = Object.self
    ) -> Object.Type {
        unsafe unsafeBitCast(pointer, to: Object.Type.self)
    }

    /// Returns the time that the clock shows at an instant.
    ///
    /// Fact: an instant of `SuspendingClock` is one `Duration`, the time that `CLOCK_MONOTONIC` shows, by which the
    /// kernel waits.
    @inline(__always)
    static func time(of instant: SuspendingClock.Instant) -> Duration {
        unsafe unsafeBitCast(instant, to: Duration.self)
    }

    /// Returns the time that the clock shows at an instant.
    ///
    /// Fact: an instant of `ContinuousClock` is one `Duration`, the time that the clock shows.
    @inline(__always)
    static func time(of instant: ContinuousClock.Instant) -> Duration {
        unsafe unsafeBitCast(instant, to: Duration.self)
    }

    // MARK: - Tasks and executors

    /// The executor that tells the runtime that a job is isolated to no actor.
    ///
    /// Fact: an `UnownedSerialExecutor` is two words, and two zero words stand for no actor. When a task comes back
    /// from an actor and its job is run with this executor, the task goes on at once on the same thread, even if it is
    /// isolated to nothing.
    @inline(__always)
    static var noActor: UnownedSerialExecutor {
        unsafe unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self)
    }

    /// Returns a number that identifies an actor's executor while the executor exists.
    ///
    /// Fact: an `UnownedSerialExecutor` is two words, the first of which is the address of the executor's object.
    @inline(__always)
    static func identity(of executor: UnownedSerialExecutor) -> UInt {
        unsafe unsafeBitCast(executor, to: (UInt, UInt).self).0
    }

    /// Returns a number that identifies a task executor while the executor exists.
    ///
    /// Fact: an `UnownedTaskExecutor` is two words, the first of which is the address of the executor's object.
    @inline(__always)
    static func identity(of executor: UnownedTaskExecutor) -> UInt {
        unsafe unsafeBitCast(executor, to: (UInt, UInt).self).0
    }

    /// A task of any type. All tasks are cancelled in the same way.
    typealias AnyTask = Task<Void, Never>

    /// Returns the calling task, so that it can be cancelled later from elsewhere. Asking for its value is not allowed.
    ///
    /// Fact: an `UnsafeCurrentTask` is what a `Task` is: one reference to a task object. The task's type does not
    /// matter for cancelling.
    @inline(__always)
    static func anyTask(_ task: UnsafeCurrentTask) -> AnyTask { unsafe unsafeBitCast(task, to: AnyTask.self) }

    /// Returns a number that identifies the calling task while it exists.
    ///
    /// Fact: the fact of ``anyTask(_:)``. The reference is one word, the address of the task object, and never 0.
    @inlinable
    @inline(__always)
    static func addressOfTask() -> UInt {
        unsafe withUnsafeCurrentTask { unsafe unsafeBitCast($0, to: UInt.self) }
    }

    /// Gives a task that has not ended at least this priority. It calls the task's handlers of escalations.
    ///
    /// Fact: the runtime function that `escalatePriority` itself calls takes the address of the task and the priority
    /// as a word. (A reference to the task would be made of a number, and its memory may be its parent's.)
    static func escalate(taskAt address: UInt, to priority: TaskPriority) {
        _ = escalateTask(address, UInt(priority.rawValue))
    }

    /// Returns the address of the value that the calling task sees; nil if nothing is bound. The value is of the task
    /// local's type.
    ///
    /// Fact: the runtime function that `TaskLocal` itself calls to read identifies the task local by the address of its
    /// object, and returns the address of the bound value. A child task sees the value at the same address, and a `Task
    /// { }` has a copy elsewhere.
    @inline(__always)
    static func address<Value>(of local: TaskLocal<Value>) -> UnsafeMutableRawPointer? {
        unsafe taskLocalAddress(UnsafeRawPointer(Unmanaged.passUnretained(local).toOpaque()))
    }

    // MARK: - Dispatch

    /// Returns the object that a `DispatchQueue` wraps, as one word.
    ///
    /// Fact: it is the object's only stored property, and follows the two words with which each Swift object begins. If
    /// ``QueueIdentity/wrapsAtSecondWord`` finds that it is elsewhere, the library does not use it.
    @inline(__always)
    static func wrapped(by queue: DispatchQueue) -> UInt {
        unsafe unsafeBitCast(queue, to: UnsafePointer<UInt>.self)[2]
    }

    /// Calls `function` with `context` on the queue whose object wraps this word. The queue must still exist.
    ///
    /// Fact: what the object wraps is Dispatch's own queue, for which `dispatch_async_f` does what `dispatch_async`
    /// does. (Swift hides this function. A closure would be allocated three times on its way.)
    @inline(__always)
    static func async(
        onWrapped queue: UInt, _ context: UnsafeMutableRawPointer,
        _ function: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void
    ) {
        unsafe dispatchAsync(queue, context, function)
    }
}

/// The runtime's function that returns the address of a value. There is no other way to learn it.
@_silgen_name("swift_task_localValueGet")
private func taskLocalAddress(_ key: UnsafeRawPointer) -> UnsafeMutableRawPointer?

/// The runtime's function that raises the priority of a task, and returns the priority that it has.
@_silgen_name("swift_task_escalate")
private func escalateTask(_ task: UInt, _ priority: UInt) -> UInt

/// The runtime's function that returns the name of the calling task.
@_silgen_name("swift_task_getCurrentTaskName")
private func currentTaskName() -> UnsafePointer<CChar>?

/// Dispatch's function that calls a C function on a queue.
@_silgen_name("dispatch_async_f")
private func dispatchAsync(
    _ queue: UInt, _ context: UnsafeMutableRawPointer?, _ function: @convention(c) (UnsafeMutableRawPointer?) -> Void)
