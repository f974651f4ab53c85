import CSyncKernel

/// An object that tasks wait for and that is no object of the kernel: an ordered queue, or a pool of resources.
protocol WaitedObject: AnyObject, Sendable {
    /// The kind of the object, in the kernel's terms.
    var toldKind: UInt32 { get }
    /// Its name, or where it was made.
    var toldPlace: csk_place_t { get }
}

/// A wait of a task as reported to the kernel, for views, metrics and the contention profile; and the task's name,
/// whatever the task waits for. It is made only while waits are observed (`csk_task_waits_are_told`).
@safe
struct ToldWait {
    @safe private let memory: UnsafeMutablePointer<csk_task_wait_t>

    /// The calling task is about to be suspended with `continuation`. It keeps `wait` and `object` until it has called
    /// ``end(_:)``.
    init?(
        _ wait: TaskWait, at object: (any WaitedObject)?, until deadline: Int64,
        _ continuation: UnsafeContinuation<Void, Never>
    ) {
        let name = unsafe RuntimeFacts.nameOfTask()
        if object == nil, unsafe name == nil { return nil }
        var told = unsafe csk_task_wait_t()
        unsafe told.task = UInt64(RuntimeFacts.addressOfTask(of: continuation))
        unsafe told.task_name = name
        if let object {
            unsafe told.context = RuntimeFacts.context(of: continuation)
            unsafe told.object = UnsafeRawPointer(Unmanaged<AnyObject>.passUnretained(object).toOpaque())
            unsafe told.object_kind = object.toldKind
            unsafe told.place = object.toldPlace
            unsafe told.deadline_ns = deadline
            unsafe Self.describe(wait, in: &told)
        }
        memory = .allocate(capacity: 1)
        unsafe memory.initialize(to: told)
        unsafe csk_task_wait_begin(memory)
    }

    /// The task with that name is about to be suspended, in a wait that the kernel shows itself, or that `wait`
    /// describes. The name lasts until ``end(_:)``, as `wait` does.
    init?(_ wait: TurnWait, of task: UInt64, named name: UnsafePointer<CChar>?) {
        var told = unsafe csk_task_wait_t()
        unsafe told.task = task
        unsafe told.task_name = name
        unsafe Self.describe(wait, in: &told)
        if unsafe told.object == nil && name == nil { return nil }
        memory = .allocate(capacity: 1)
        unsafe memory.initialize(to: told)
        unsafe csk_task_wait_begin(memory)
    }

    private static func describe(_ wait: TaskWait, in told: inout csk_task_wait_t) {
        unsafe told.waiter = UnsafeRawPointer(Unmanaged.passUnretained(wait).toOpaque())
        unsafe told.is_over = { unsafe !Unmanaged<TaskWait>.fromOpaque($0!).takeUnretainedValue().isShown }
        unsafe wait.describe(&told)
    }

    /// The task goes on.
    func end(_ status: Int32) {
        unsafe csk_task_wait_end(memory, status)
        unsafe memory.deallocate()
    }
}
