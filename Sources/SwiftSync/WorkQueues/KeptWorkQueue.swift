import CSyncKernel

/// A queue whose memory stays valid for a caller while its owner may release it.
///
/// A wait needs this. Once it is queued, its task may go on and end on another thread, and the queue may end with it.
/// The thread that queued the wait, or that gives it up, is still in the kernel then.
///
/// It keeps the kernel's queue and not the queue object. Releasing the last reference to that object ends the queue's
/// suspension, and then its work runs.
struct KeptWorkQueue: ~Copyable {
    let core: WorkQueueCore

    init(_ core: WorkQueueCore) {
        self.core = core
        unsafe csk_workqueue_retain(core.queue)
    }

    deinit { unsafe csk_workqueue_unretain(core.queue) }
}
