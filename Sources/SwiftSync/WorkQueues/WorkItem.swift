import CSyncKernel
import Dispatch

/// What a queue holds for a closure or a job: a block of memory that contains the kernel's work item and, behind it,
/// the payload.
///
/// Blocks go from the thread that queues to the thread that runs, and back, without an allocator. They have no
/// reference counts.
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

    /// Moves the payload out, and gives the block back.
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
    /// work, on the timers' thread. On that thread this function has another thread call `function`, and returns true.
    static func isLeftToAnother(
        _ work: UnsafeMutablePointer<csk_work_t>, _ status: Int32, _ function: @escaping csk_work_function_t
    ) -> Bool {
        guard status != 0 && csk_timer_is_current() else { return false }
        nonisolated(unsafe) let work = unsafe work
        DispatchQueue.global().async { unsafe function(work, status) }
        return true
    }
}
