import CSyncKernel

/// Work of a queue whose bypass limit applies to all work: an item of ``WorkItem``, and the kernel's record that counts
/// it.
///
/// The kernel holds this memory instead of the item, and returns it before it calls the item's function.
enum CountedWork {
    /// The kernel knows the memory by the address of `counted`.
    @safe private struct Memory {
        var counted = unsafe csk_counted_work_t()
        let item: UnsafeMutablePointer<csk_work_t>
        let function: csk_work_function_t
    }

    /// The item, which the caller owns from then on.
    private static func take(
        _ counted: UnsafeMutableRawPointer
    ) -> (item: UnsafeMutablePointer<csk_work_t>, function: csk_work_function_t) {
        let memory = unsafe counted.assumingMemoryBound(to: Memory.self),
            (item, function) = unsafe (memory.pointee.item, memory.pointee.function)
        unsafe memory.deallocate()
        return unsafe (item, function)
    }

    static let called: csk_work_function_t = { work, status in
        let (item, function) = unsafe take(UnsafeMutableRawPointer(work!))
        unsafe function(item, status)
    }

    static func make(
        _ item: UnsafeMutablePointer<csk_work_t>, _ function: @escaping csk_work_function_t
    ) -> UnsafeMutablePointer<csk_work_t> {
        let memory = UnsafeMutablePointer<Memory>.allocate(capacity: 1)
        unsafe memory.initialize(to: Memory(item: item, function: function))
        return unsafe memory.pointer(to: \.counted.work)!
    }

    /// Frees the memory of work that the kernel has not accepted, but not the item.
    static func unmake(_ counted: UnsafeMutablePointer<csk_work_t>) { _ = unsafe take(counted) }
}

extension WorkQueueCore {
    /// Queues an item at `rank`, as `flags` says (`CSK_WORK_OWN_TURN`); as counted work if the queue's bypass limit
    /// applies to all work. Returns the kernel's status.
    @inline(__always)
    func submit(
        _ item: UnsafeMutablePointer<csk_work_t>, rank: Int64, flags: UInt32 = 0,
        _ function: @escaping csk_work_function_t
    ) -> Int32 {
        if !isLimited { return unsafe csk_workqueue_submit(queue, rank, item, flags, Deadline.never, function) }
        let work = unsafe CountedWork.make(item, function)
        let status = unsafe csk_workqueue_submit(
            queue, rank, work, flags | CSK_WORK_COUNTED, Deadline.never, CountedWork.called)
        if status != 0 { unsafe CountedWork.unmake(work) }
        return status
    }
}
