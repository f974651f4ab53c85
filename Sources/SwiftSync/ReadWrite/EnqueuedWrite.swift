import CSyncKernel

/// A write that runs on a worker when its turn comes. It is one block of memory: the kernel's node, and the closure
/// behind it.
///
/// It is not an object, and does not keep the lock alive. So neither queueing nor running it counts references, whose
/// cache line two threads would contend for. The lock's owner goes away through ``letGo(_:)`` instead.
enum EnqueuedWrite {
    @safe
    private struct Section {
        let lock: UnsafeMutablePointer<csk_rwlock_t>
        let body: @Sendable () -> Void
    }

    /// The entry in the queue behind the last write.
    @safe
    private struct Farewell {
        let box: Unmanaged<ReadWriteBox<Void>>
    }

    private static var payloadOffset: Int { unsafe MemoryLayout<csk_rwlock_write_t>.stride }

    /// Queues `payload` behind the kernel's node, and has `function` called. It returns 0, or an errno value, in which
    /// case nothing was queued.
    @inline(__always)
    private static func enqueue<Payload>(
        _ lock: UnsafeMutablePointer<csk_rwlock_t>, _ payload: Payload,
        _ function: @escaping csk_rwlock_write_function_t
    ) -> Int32 {
        guard let block = unsafe csk_block_take() else { return ENOMEM }
        let place = unsafe (block + payloadOffset).initializeMemory(as: Payload.self, to: payload)
        let write = unsafe block.assumingMemoryBound(to: csk_rwlock_write_t.self)
        let status = unsafe csk_rwlock_enqueue_write(lock, write, function)
        if status != 0 {
            unsafe place.deinitialize(count: 1)
            unsafe csk_block_give(block)
        }
        return status
    }

    /// Moves the payload out, and frees the block.
    @inline(__always)
    private static func take<Payload>(
        _ write: UnsafeMutablePointer<csk_rwlock_write_t>?, as type: Payload.Type
    ) -> Payload {
        let block = unsafe UnsafeMutableRawPointer(write!)
        let payload = unsafe (block + payloadOffset).assumingMemoryBound(to: Payload.self).move()
        unsafe csk_block_give(block)
        return payload
    }

    /// Queues a write. It returns 0, or an errno value, in which case nothing was queued.
    static func enqueue(_ box: ReadWriteBox<Void>, _ body: @escaping @Sendable () -> Void) -> Int32 {
        unsafe box.withLock { unsafe enqueue($0, Section(lock: $0, body: body), run) }
    }

    /// This is called on a worker, which holds the lock.
    private static let run: csk_rwlock_write_function_t = { write in
        let section = unsafe take(write, as: Section.self)
        section.body()
        unsafe csk_rwlock_finish_write(section.lock)
    }

    /// Keeps the lock alive until every write that was queued before has left it. Its owner calls this as it goes away.
    ///
    /// Where the lock is free, no write waits or runs. Otherwise a last write, which is behind all others, keeps the
    /// lock. If there is no memory for that, the lock stays for good.
    static func letGo(_ box: ReadWriteBox<Void>) {
        if unsafe box.withLock({ unsafe csk_rwlock_trywrlock($0) }) == 0 {
            unsafe box.withLock { unsafe csk_rwlock_unlock($0) }
            return
        }
        let farewell = unsafe Farewell(box: Unmanaged.passRetained(box))
        _ = unsafe enqueue(box.lock, farewell, end)
    }

    private static let end: csk_rwlock_write_function_t = { write in
        let box = unsafe take(write, as: Farewell.self).box
        unsafe csk_rwlock_finish_write(box.takeUnretainedValue().lock)
        unsafe box.release()
    }
}
