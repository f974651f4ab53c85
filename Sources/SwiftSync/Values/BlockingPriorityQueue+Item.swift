import CSyncKernel

extension BlockingPriorityQueue {
    /// An element in memory of its own, behind the links of the kernel. The kernel's queue holds pointers to such
    /// items.
    @usableFromInline
    @safe
    struct Item {
        @usableFromInline
        @safe
        struct Layout {
            @usableFromInline var link: csk_pqueue_item_t
            @usableFromInline var element: Element

            @inlinable
            init(link: csk_pqueue_item_t, element: Element) {
                unsafe self.link = link
                self.element = element
            }
        }

        @usableFromInline
        @safe let memory: UnsafeMutablePointer<Layout>

        @inlinable
        init(memory: UnsafeMutablePointer<Layout>) {
            self.memory = unsafe memory
        }

        /// The item whose links are at `link`. The links are its first member.
        @inlinable
        init(_ link: UnsafeMutablePointer<csk_pqueue_item_t>) {
            memory = unsafe RuntimeFacts.whole(at: link)
        }

        @inlinable
        static func make(_ element: consuming Element) -> Item {
            let memory = UnsafeMutablePointer<Layout>.allocate(capacity: 1)
            unsafe memory.initialize(to: Layout(link: csk_pqueue_item_t(), element: element))
            return unsafe Item(memory: memory)
        }

        @inlinable
        var link: UnsafeMutablePointer<csk_pqueue_item_t> {
            unsafe RuntimeFacts.first(of: memory)
        }

        /// Moves the element out and frees the memory. The element was sent in, so nobody else owns it.
        @inlinable
        func take() -> sending Element {
            nonisolated(unsafe) let element = unsafe memory.move().element
            unsafe memory.deallocate()
            return unsafe element
        }

        @inlinable
        func destroy() {
            unsafe memory.deinitialize(count: 1)
            unsafe memory.deallocate()
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
