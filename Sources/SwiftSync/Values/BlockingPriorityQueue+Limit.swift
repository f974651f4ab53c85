public import CSyncKernel

/// The calls of the kernel, with a limit that is read only if the thread has to wait. They return 0 or an errno value.
extension TimeLimit {
    @usableFromInline
    func push(
        _ item: UnsafeMutablePointer<csk_pqueue_item_t>, _ priority: Int32,
        to queue: UnsafeMutablePointer<csk_pqueue_t>
    ) -> Int32 {
        let status = unsafe csk_pqueue_trypush(queue, priority, item)
        return status == EBUSY ? unsafe csk_pqueue_timedpush(queue, priority, item, deadline()) : status
    }

    @usableFromInline
    func pop(
        _ item: inout UnsafeMutablePointer<csk_pqueue_item_t>?, from queue: UnsafeMutablePointer<csk_pqueue_t>
    ) -> Int32 {
        let status = unsafe csk_pqueue_trypop(queue, &item)
        return status == EBUSY ? unsafe csk_pqueue_timedpop(queue, &item, deadline()) : status
    }
}
