import CSyncKernel
import Dispatch

/// What a queue holds of a closure or of a job: a block of memory with what the kernel queues, and the payload behind
/// it.
///
/// Blocks go from the thread that queues to the one that runs, and back, without an allocator; nobody counts references
/// to them.
enum WorkItem {
    /// A closure in a structure: as a type parameter by itself it would get a wrapper, which is an allocation.
    struct Body {
        let call: @Sendable () -> Void
    }

    private static var payloadOffset: Int { MemoryLayout<csk_work_t>.stride }

    @inline(__always)
    static func make<Payload>(_ payload: consuming Payload) -> UnsafeMutablePointer<csk_work_t>? {
        assert(payloadOffset + MemoryLayout<Payload>.size <= Int(CSK_BLOCK_SIZE))
        guard let block = csk_block_take() else { return nil }
        (block + payloadOffset).initializeMemory(as: Payload.self, to: payload)
        return block.assumingMemoryBound(to: csk_work_t.self)
    }

    /// Takes the payload out, and gives the memory back.
    @inline(__always)
    static func take<Payload>(_ work: UnsafeMutablePointer<csk_work_t>, as type: Payload.Type) -> Payload {
        let block = UnsafeMutableRawPointer(work)
        let payload = (block + payloadOffset).assumingMemoryBound(to: Payload.self).move()
        csk_block_give(block)
        return payload
    }

    static func look<Payload>(_ work: UnsafeMutablePointer<csk_work_t>, as type: Payload.Type) -> Payload {
        (UnsafeMutableRawPointer(work) + payloadOffset).assumingMemoryBound(to: Payload.self).pointee
    }

    /// Runs a closure; a work that was dropped only releases it.
    static let runBody: csk_work_function_t = { work, status in
        if isLeftToAnother(work!, status, runBody) { return }
        let body = take(work!, as: Body.self)
        if status == 0 { body.call() }
    }

    /// Work that will not run releases its closure, which may run code of users and block. Delayed work whose time has
    /// come on a full or a closed queue is refused, or drops other work, on the timers' thread: from there `function`
    /// is called by another thread.
    static func isLeftToAnother(_ work: UnsafeMutablePointer<csk_work_t>, _ status: Int32, _ function: @escaping csk_work_function_t) -> Bool {
        guard status != 0 && csk_timer_is_current() else { return false }
        nonisolated(unsafe) let work = work
        DispatchQueue.global().async { function(work, status) }
        return true
    }
}
