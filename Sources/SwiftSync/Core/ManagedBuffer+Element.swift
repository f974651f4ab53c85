extension ManagedBuffer where Element: ~Copyable {
    /// The address of the header. It is the same as long as the buffer lives, since objects never move. Using it does
    /// not keep the buffer alive: the caller does, until after the use, by a later use of the buffer or by a reference
    /// beside the address.
    @inlinable
    @inline(__always)
    @safe final var lastingHeader: UnsafeMutablePointer<Header> {
        unsafe withUnsafeMutablePointerToHeader { unsafe $0 }
    }

    /// The address of the elements, for which the same holds.
    @inlinable
    @inline(__always)
    @safe final var lastingElements: UnsafeMutablePointer<Element> {
        unsafe withUnsafeMutablePointerToElements { unsafe $0 }
    }

    /// Prepares the header and the only element in place. Both are done while the standard library lends the pointers:
    /// the optimizer may move an access through an escaped pointer past the end of the object.
    @inlinable
    @inline(__always)
    final func place(_ element: consuming Element, _ prepare: (UnsafeMutablePointer<Header>) -> Void) {
        var element = Optional(element)
        unsafe withUnsafeMutablePointers { header, place in
            unsafe prepare(header)
            unsafe place.initialize(to: element.take()!)
        }
    }

    /// Destroys the only element, which ``place(_:_:)`` has put there.
    @inlinable
    @inline(__always)
    final func endElement() {
        unsafe withUnsafeMutablePointerToElements { unsafe _ = $0.deinitialize(count: 1) }
    }
}
