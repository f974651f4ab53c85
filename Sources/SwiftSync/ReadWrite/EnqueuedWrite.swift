import CSyncKernel

/// A write that runs on a worker when its turn comes. It is one block of memory: what the kernel queues, and the
/// closure behind it.
///
/// It is not an object, so that neither queueing nor running it counts references. Both parts move in and out.
enum EnqueuedWrite {
    private struct Section {
        let box: ReadWriteBox<Void>
        let body: @Sendable () -> Void
    }

    private static var sectionOffset: Int { unsafe MemoryLayout<csk_rwlock_write_t>.stride }

    private static func section(of block: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Section> {
        unsafe (block + sectionOffset).assumingMemoryBound(to: Section.self)
    }

    /// Queues the write. It returns 0, or an errno value, in which case nothing was queued.
    static func enqueue(_ box: ReadWriteBox<Void>, _ body: @escaping @Sendable () -> Void) -> Int32 {
        guard let block = unsafe csk_block_take() else { return ENOMEM }
        unsafe (block + sectionOffset).initializeMemory(as: Section.self, to: Section(box: box, body: body))
        let status = unsafe csk_rwlock_enqueue_write(box.lock, block.assumingMemoryBound(to: csk_rwlock_write_t.self)) {
            unsafe EnqueuedWrite.run($0!)
        }
        if status != 0 {
            unsafe section(of: block).deinitialize(count: 1)
            unsafe csk_block_give(block)
        }
        return status
    }

    /// This runs on a worker, which holds the lock. The section keeps the lock alive until it has been left.
    private static func run(_ write: UnsafeMutablePointer<csk_rwlock_write_t>) {
        let block = UnsafeMutableRawPointer(write)
        let section = unsafe section(of: block).move()
        unsafe csk_block_give(block)
        section.body()
        unsafe csk_rwlock_finish_write(section.box.lock)
    }
}
