import CSyncKernel

/// A write that runs on a worker once it is its turn: one piece of memory with what the kernel queues, and the closure behind it.
///
/// It is nobody's object, so that neither queueing nor running it counts references: both parts move in and out.
enum EnqueuedWrite {
    private struct Section {
        let box: ReadWriteBox<Void>
        let body: @Sendable () -> Void
    }

    private static var sectionOffset: Int { MemoryLayout<csk_rwlock_work_t>.stride }

    private static func section(of memory: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Section> {
        (memory + sectionOffset).assumingMemoryBound(to: Section.self)
    }

    /// Queues the write: 0, or an errno value; then nothing was queued.
    static func enqueue(_ box: ReadWriteBox<Void>, _ body: @escaping @Sendable () -> Void) -> Int32 {
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: sectionOffset + MemoryLayout<Section>.size, alignment: MemoryLayout<csk_rwlock_work_t>.alignment)
        let work = memory.initializeMemory(as: csk_rwlock_work_t.self, to: csk_rwlock_work_t())
        (memory + sectionOffset).initializeMemory(as: Section.self, to: Section(box: box, body: body))
        let status = csk_rwlock_enqueue_write(box.lock, work, { _, place, _ in EnqueuedWrite.run(place!) }, memory)
        if status != 0 {
            section(of: memory).deinitialize(count: 1)
            memory.deallocate()
        }
        return status
    }

    /// On a worker, which holds the lock. The section keeps the lock alive until it has been left.
    private static func run(_ memory: UnsafeMutableRawPointer) {
        let section = section(of: memory).move()
        memory.deallocate()
        section.body()
        csk_rwlock_finish_write(section.box.lock)
    }
}
