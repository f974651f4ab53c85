/// The memory that a thread's slot points to: a place for values of one type. The place stays while values come and go.
///
/// The type's identity comes first, so that any cell can be asked for it through a raw pointer.
@frozen
@usableFromInline
struct ThreadLocalCell<T> {
    @usableFromInline
    let type: ObjectIdentifier
    /// The operations that know `T` where only a raw pointer is left.
    let operations: any ThreadLocalCellOperations.Type
    @usableFromInline
    var value: T?

    static func make(_ value: T) -> UnsafeMutablePointer<ThreadLocalCell<T>> {
        let cell = UnsafeMutablePointer<ThreadLocalCell<T>>.allocate(capacity: 1)
        unsafe cell.initialize(
            to: ThreadLocalCell(type: ObjectIdentifier(T.self), operations: OperationsOfCell<T>.self, value: value))
        return unsafe cell
    }
}

@usableFromInline
protocol ThreadLocalCellOperations {
    static func value(of cell: UnsafeMutableRawPointer) -> Any?
    static func destroy(_ cell: UnsafeMutableRawPointer)
}

private enum OperationsOfCell<T>: ThreadLocalCellOperations {
    static func value(of cell: UnsafeMutableRawPointer) -> Any? {
        unsafe cell.assumingMemoryBound(to: ThreadLocalCell<T>.self).pointee.value
    }

    static func destroy(_ cell: UnsafeMutableRawPointer) {
        let cell = unsafe cell.assumingMemoryBound(to: ThreadLocalCell<T>.self)
        unsafe cell.deinitialize(count: 1)
        unsafe cell.deallocate()
    }
}

/// The first two fields of every cell.
private struct AnyThreadLocalCell {
    let type: ObjectIdentifier
    let operations: any ThreadLocalCellOperations.Type
}

extension UnsafeMutableRawPointer {
    /// The operations of the cell that this points to.
    var threadLocalOperations: any ThreadLocalCellOperations.Type {
        unsafe RuntimeFacts.beginning(of: self, as: AnyThreadLocalCell.self).operations
    }
}
