/// The memory that a thread's slot points to: a place for values of one type. The place stays while values come and go.
///
/// The type's identity comes first, so that any cell can be asked for it through a raw pointer.
///
/// A value that was requested as another type, and could be cast to it, is also in a second cell: the first one's
/// conversion. While a cell has a conversion, its `type` is no value's. So code that reads, replaces or takes the value
/// finds no cell of its type, takes the slow path, and ends the conversion there before anything changes.
@frozen
@usableFromInline
@safe
struct ThreadLocalCell<T> {
    @usableFromInline
    var type: ObjectIdentifier
    /// The operations that know `T`, for code that has only a raw pointer.
    let operations: any ThreadLocalCellOperations.Type
    var conversion: UnsafeMutableRawPointer?
    @usableFromInline
    var value: T?

    static func make(_ value: T) -> UnsafeMutablePointer<ThreadLocalCell<T>> {
        let cell = UnsafeMutablePointer<ThreadLocalCell<T>>.allocate(capacity: 1)
        unsafe cell.initialize(
            to: ThreadLocalCell(
                type: ObjectIdentifier(T.self), operations: OperationsOfCell<T>.self, conversion: nil, value: value))
        guard unsafe AnyThreadLocalCell(cell).ofType(T.self) == cell else {
            fatalError("SwiftSync: this Swift lays structures out otherwise than the one that it was written for")
        }
        return unsafe cell
    }
}

@usableFromInline
protocol ThreadLocalCellOperations {
    static func value(of cell: UnsafeMutableRawPointer) -> Any?
    /// Sets the conversion of a cell; nil restores the cell as it was made.
    static func setConversion(_ conversion: UnsafeMutableRawPointer?, of cell: UnsafeMutableRawPointer)
    static func destroy(_ cell: UnsafeMutableRawPointer)
}

private enum OperationsOfCell<T>: ThreadLocalCellOperations {
    /// The type of cells that have a conversion.
    private enum Converted {}

    private static func typed(_ cell: UnsafeMutableRawPointer) -> UnsafeMutablePointer<ThreadLocalCell<T>> {
        unsafe cell.assumingMemoryBound(to: ThreadLocalCell<T>.self)
    }

    static func value(of cell: UnsafeMutableRawPointer) -> Any? { unsafe typed(cell).pointee.value }

    static func setConversion(_ conversion: UnsafeMutableRawPointer?, of cell: UnsafeMutableRawPointer) {
        let own = unsafe conversion == nil
        unsafe typed(cell).pointee.type = own ? ObjectIdentifier(T.self) : ObjectIdentifier(Converted.self)
        unsafe typed(cell).pointee.conversion = conversion
    }

    static func destroy(_ cell: UnsafeMutableRawPointer) {
        unsafe AnyThreadLocalCell(cell).endConversion()
        unsafe typed(cell).deinitialize(count: 1)
        unsafe typed(cell).deallocate()
    }
}

/// A cell of whatever type.
@unsafe
struct AnyThreadLocalCell {
    /// The first fields of every cell.
    @safe
    private struct Beginning {
        let type: ObjectIdentifier
        let operations: any ThreadLocalCellOperations.Type
        let conversion: UnsafeMutableRawPointer?
    }

    private let address: UnsafeMutableRawPointer
    private var beginning: Beginning { unsafe RuntimeFacts.beginning(of: address, as: Beginning.self) }

    init(_ address: UnsafeMutableRawPointer) { unsafe self.address = unsafe address }

    var value: Any? { unsafe beginning.operations.value(of: address) }
    var conversion: AnyThreadLocalCell? { unsafe beginning.conversion.map { unsafe AnyThreadLocalCell($0) } }

    /// The cell itself, if it is for values of exactly this type and has no conversion.
    func ofType<T>(_ type: T.Type) -> UnsafeMutablePointer<ThreadLocalCell<T>>? {
        guard unsafe beginning.type == ObjectIdentifier(type) else { return nil }
        return unsafe address.assumingMemoryBound(to: ThreadLocalCell<T>.self)
    }

    func beginConversion(_ conversion: UnsafeMutableRawPointer) {
        unsafe beginning.operations.setConversion(conversion, of: address)
    }

    /// Ends the conversion. It may release the result of the cast. That may run a `deinit`, after which this cell may
    /// be gone.
    func endConversion() {
        guard let conversion = unsafe conversion else { return }
        unsafe beginning.operations.setConversion(nil, of: address)
        unsafe conversion.destroy()
    }

    func destroy() { unsafe beginning.operations.destroy(address) }
}
