import CSyncKernel
import Glibc

/// What queues know of a thread: its number, and which of them are running tasks on it. Each thread uses its own only.
struct QueueThread {
    /// The system's number of the thread.
    fileprivate(set) var number: Int32
    /// The innermost queue that is running tasks on this thread.
    var innermost: UnsafeMutablePointer<TaskQueue.Run>?

    /// The calling thread's; nil at the very end of a thread, when nothing more can be kept for it.
    static var current: UnsafeMutablePointer<QueueThread>? { current(in: slot) }

    /// The same for who keeps the slot: a static constant is asked for by a call each time.
    @inline(__always)
    static func current(in slot: csk_tls_slot_t) -> UnsafeMutablePointer<QueueThread>? {
        if let found = csk_tls_get(slot) { return found.assumingMemoryBound(to: QueueThread.self) }
        return make()
    }

    /// The number of the calling thread, for which `current` was found.
    static func number(of current: UnsafeMutablePointer<QueueThread>?) -> Int32 {
        current?.pointee.number ?? csk_thread_id()
    }

    static let slot: csk_tls_slot_t = {
        var slot: csk_tls_slot_t = 0
        let status = csk_tls_open("SwiftSync.QueueThread", { $0?.deallocate() }, &slot)
        if status != 0 { fatalError("EventRecorder: \(String(cString: csk_status_text(status)))") }
        // The thread of a child of fork has another number.
        pthread_atfork(nil, nil) {
            csk_tls_get(QueueThread.slot)?.assumingMemoryBound(to: QueueThread.self).pointee.number = csk_thread_id()
        }
        return slot
    }()

    private static func make() -> UnsafeMutablePointer<QueueThread>? {
        let made = UnsafeMutablePointer<QueueThread>.allocate(capacity: 1)
        made.initialize(to: QueueThread(number: csk_thread_id(), innermost: nil))
        if csk_tls_set(slot, made) == 0 { return made }
        made.deallocate()
        return nil
    }
}
