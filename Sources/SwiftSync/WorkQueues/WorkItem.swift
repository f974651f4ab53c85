import CSyncKernel
import Dispatch

/// The block of memory that a queue holds for a closure or a job: the kernel's work item and, behind it, the payload.
///
/// Blocks go from the queueing thread to the running thread, and back, without an allocator. They have no reference
/// counts.
enum WorkItem {
    /// A closure in a structure. A closure that is a type parameter by itself would get a wrapper, which is an
    /// allocation.
    struct Body {
        let call: @Sendable () -> Void
    }

    private static var payloadOffset: Int { unsafe MemoryLayout<csk_work_t>.stride }

    @inline(__always)
    static func make<Payload>(_ payload: consuming Payload) -> UnsafeMutablePointer<csk_work_t>? {
        assert(payloadOffset + MemoryLayout<Payload>.size <= Int(CSK_BLOCK_SIZE))
        guard let block = unsafe csk_block_take() else { return nil }
        unsafe (block + payloadOffset).initializeMemory(as: Payload.self, to: payload)
        return unsafe block.assumingMemoryBound(to: csk_work_t.self)
    }

    /// Moves the payload out, and frees the block.
    @inline(__always)
    static func take<Payload>(_ work: UnsafeMutablePointer<csk_work_t>, as type: Payload.Type) -> Payload {
        let block = UnsafeMutableRawPointer(work)
        let payload = unsafe (block + payloadOffset).assumingMemoryBound(to: Payload.self).move()
        unsafe csk_block_give(block)
        return payload
    }

    /// Runs the closure. If the work was dropped, it only releases the closure.
    static let runBody: csk_work_function_t = { work, status in
        if unsafe isLeftToAnother(work!, status, runBody) { return }
        let body = unsafe take(work!, as: Body.self)
        if status == 0 { body.call() }
    }

    /// Keeps releases of closures off the timers' thread. Work that will not run releases its closure, and that may run
    /// users' code and block. Delayed work whose time has come on a full or closed queue is refused, or drops other
    /// work, on the timers' thread. On that thread this function makes another thread call `function`, and returns
    /// true.
    ///
    /// That is a worker of the pool, so the release waits while all of its threads are blocked. A block of Dispatch
    /// would wait while tasks keep Dispatch's threads busy, of which there are only as many as processors.
    static func isLeftToAnother(
        _ work: UnsafeMutablePointer<csk_work_t>, _ status: Int32, _ function: @escaping csk_work_function_t
    ) -> Bool {
        guard status != 0 && csk_timer_is_current() else { return false }
        let left = UnsafeMutablePointer<Left>.allocate(capacity: 1)
        unsafe left.initialize(to: Left(item: csk_pool_item_t(), work: work, status: status, function: function))
        nonisolated(unsafe) let item = unsafe left.pointer(to: \.item)!
        if unsafe csk_pool_post(item, callLeft) != 0 { DispatchQueue.global().async { unsafe callLeft(item) } }
        return true
    }

    /// A call that is left to another thread.
    @safe
    private struct Left {
        var item: csk_pool_item_t
        let work: UnsafeMutablePointer<csk_work_t>
        let status: Int32
        let function: csk_work_function_t
    }

    private static let callLeft: csk_pool_function_t = { item in
        let memory = unsafe Layout.whole(of: item!, at: \Left.item)
        let left = unsafe memory.move()
        unsafe memory.deallocate()
        unsafe left.function(left.work, left.status)
    }
}
