import CSyncKernel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The state that recorders and task queues keep of a thread: its number, and which task queues are running tasks on
/// it. Each thread uses only its own.
@safe
struct QueueThread {
    /// The system's identifier of the thread.
    fileprivate(set) var number: Int32
    /// The innermost run of a task queue on this thread, which only task queues know.
    @safe var innermost: UnsafeMutableRawPointer?

    /// The calling thread's object. It is nil at the very end of a thread, when nothing more can be stored for the
    /// thread.
    static var current: UnsafeMutablePointer<QueueThread>? { unsafe current(in: slot) }

    /// Finds the object for a caller that keeps the slot: each access to a static constant costs a call.
    @inline(__always)
    static func current(in slot: csk_tls_slot_t) -> UnsafeMutablePointer<QueueThread>? {
        if let found = unsafe csk_tls_get(slot) { return unsafe found.assumingMemoryBound(to: QueueThread.self) }
        return unsafe make()
    }

    /// The number of the calling thread, for which `current` was returned.
    static func number(of current: UnsafeMutablePointer<QueueThread>?) -> Int32 {
        unsafe current?.pointee.number ?? csk_thread_id()
    }

    static let slot: csk_tls_slot_t = {
        var slot: csk_tls_slot_t = 0
        let status = unsafe csk_tls_open(&slot, "SwiftSync.QueueThread", { unsafe $0?.deallocate() })
        if status != 0 { fatalError("EventRecorder: \(statusText(status))") }
        // In the child of a fork, the thread has another number.
        pthread_atfork(nil, nil) {
            unsafe csk_tls_get(QueueThread.slot)?.assumingMemoryBound(to: QueueThread.self).pointee.number =
                csk_thread_id()
        }
        return slot
    }()

    private static func make() -> UnsafeMutablePointer<QueueThread>? {
        let made = UnsafeMutablePointer<QueueThread>.allocate(capacity: 1)
        unsafe made.initialize(to: QueueThread(number: csk_thread_id(), innermost: nil))
        if unsafe csk_tls_set(slot, made) == 0 { return unsafe made }
        unsafe made.deallocate()
        return nil
    }
}
