import CSyncKernel

extension BlockingPriorityQueue {
    /// An element in its own allocation, behind the kernel's links. The kernel's queue holds pointers to such items.
    @usableFromInline
    @safe
    struct Item {
        @usableFromInline typealias Memory = HeadedMemory<csk_pqueue_item_t, Element>

        @usableFromInline
        @safe let link: UnsafeMutablePointer<csk_pqueue_item_t>

        /// The item whose links are at `link`.
        @inlinable
        init(_ link: UnsafeMutablePointer<csk_pqueue_item_t>) {
            self.link = unsafe link
        }

        @inlinable
        static func make(_ element: consuming Element) -> Item {
            unsafe Item(Memory.make(csk_pqueue_item_t(), element))
        }

        /// Moves the element out and frees the memory. The element was sent in, so the caller is its only owner.
        @inlinable
        func take() -> sending Element {
            nonisolated(unsafe) let element = unsafe Memory.element(link).move()
            unsafe link.deallocate()
            return unsafe element
        }

        @inlinable
        func destroy() {
            unsafe Memory.element(link).deinitialize(count: 1)
            unsafe link.deallocate()
        }

        /// Takes everything out of `queue`, in order.
        @inlinable
        static func forEach(in queue: UnsafeMutablePointer<csk_pqueue_t>, _ body: (Element) -> Void) {
            var next: UnsafeMutablePointer<csk_pqueue_item_t>?
            unsafe csk_pqueue_drain(queue, &next)
            while let link = unsafe next {
                unsafe next = link.pointee.next
                unsafe body(Item(link).take())
            }
        }
    }
}
