/// Pointers from a structure to its member and back, by rules that are documented.
@usableFromInline
enum Layout {
    /// Returns the first member of a C structure. C promises that it is at the address of its structure. Among Swift
    /// structures it is valid for those that ``RuntimeFacts/areChecked`` names; for others use `pointer(to:)`.
    @inlinable
    @inline(__always)
    static func first<Whole, First>(
        of whole: UnsafeMutablePointer<Whole>, as type: First.Type = First.self
    ) -> UnsafeMutablePointer<First> {
        unsafe UnsafeMutableRawPointer(whole).assumingMemoryBound(to: First.self)
    }

    /// Returns the structure whose member is at that address. `MemoryLayout` says where a stored property stands, and
    /// the optimizer makes a constant of it.
    @inline(__always)
    static func whole<Whole, Member>(
        of member: UnsafeMutablePointer<Member>, at place: KeyPath<Whole, Member>
    ) -> UnsafeMutablePointer<Whole> {
        let offset = unsafe MemoryLayout<Whole>.offset(of: place).unsafelyUnwrapped
        return unsafe (UnsafeMutableRawPointer(member) - offset).assumingMemoryBound(to: Whole.self)
    }
}

/// One piece of memory with a C structure in front of an element of any type.
@usableFromInline
enum HeadedMemory<Head, Element> {
    @usableFromInline typealias Place = UnsafeMutablePointer<Head>

    @inlinable
    static var offset: Int { (MemoryLayout<Head>.size + elementAlignment - 1) & -elementAlignment }

    @inlinable
    static var elementAlignment: Int { MemoryLayout<Element>.alignment }

    /// Allocates the memory with both in it.
    @inlinable
    static func make(_ head: Head, _ element: consuming Element) -> Place {
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: offset + MemoryLayout<Element>.size,
            alignment: max(MemoryLayout<Head>.alignment, elementAlignment))
        unsafe (memory + offset).initializeMemory(as: Element.self, to: element)
        return unsafe memory.initializeMemory(as: Head.self, to: head)
    }

    @inlinable
    static func element(_ place: Place) -> UnsafeMutablePointer<Element> {
        unsafe (UnsafeMutableRawPointer(place) + offset).assumingMemoryBound(to: Element.self)
    }
}
