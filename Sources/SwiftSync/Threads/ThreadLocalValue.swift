public import CSyncKernel

/// A value under a key. Each thread has its own.
///
/// ```swift
/// let scratch = ThreadLocalValue<[UInt8]>(namespace: "Parser", key: "scratch") { _ in
///     [UInt8](repeating: 0, count: 4096)
/// }
/// let buffer = scratch.value()        // made at the thread's first use, kept until the thread ends
/// scratch.withValue { $0?[0] = 1 }    // the same in place, and for values that are not Sendable
/// scratch.setValue(nil)               // the next value() makes a new one
/// ```
///
/// Instances with one ``fullKey`` share the values. If the value under a key is of another type, and can't be cast to
/// `T`, it reads as nil. A thread's values are released when the thread ends, those of the newest key first. What their
/// `deinit`s set anew is released too. The end of the process releases nothing.
///
/// A thread's value is like a global variable of that thread. A task may continue on another thread after an `await`,
/// and finds other values there. Use ``withValue(_:)`` for values that are not `Sendable`: it lets none of them escape.
/// For such values, the members that hand values out or take them in give a warning in language mode 6, but none in
/// mode 5.
///
/// Reading and writing take no lock, never block on another thread, and look up no string. ``init(key:instantiator:)``
/// does that once, so keep the instance. Keys are never given back, so use a bounded number of them. Don't use it in
/// signal handlers. After `fork` the child's thread has the values of the thread that forked.
///
/// Reading an object counts no reference if the caller only accesses it, as with a stored property.
/// `docs/measurements.md` in the repository compares reading and replacing with NIO's `ThreadSpecificVariable`.
@frozen
public struct ThreadLocalValue<T>: Sendable {
    /// The closure that makes a value for a thread that has none. If it returns nil, the thread still has none.
    public typealias Instantiator = @Sendable (ThreadLocalValue) -> T?

    /// The namespace, or nil if there is none.
    public var namespace: String? { origin.namespace }
    /// The key inside the namespace.
    public var key: String { origin.key }
    /// The key that decides which values are shared. It is "namespace.key", or the key alone if there is no namespace.
    public var fullKey: String { origin.fullKey }

    @usableFromInline
    let slot: csk_tls_slot_t
    @usableFromInline
    let type: ObjectIdentifier
    @usableFromInline
    let origin: ThreadLocalOrigin<T>

    /// Finds or makes the thread-local value of that key. It may allocate, and never blocks.
    public init(key: String, instantiator: Instantiator? = nil) {
        self.init(namespace: nil, key: key, fullKey: key, instantiator)
    }

    /// Names a slot by a key inside a namespace, so that different parts of a program may use the same key.
    public init(namespace: String, key: String, instantiator: Instantiator? = nil) {
        self.init(namespace: namespace, key: key, fullKey: "\(namespace).\(key)", instantiator)
    }

    /// Another name for ``init(key:instantiator:)``.
    @_disfavoredOverload
    public init(key: String, valueProvider: Instantiator?) {
        self.init(namespace: nil, key: key, fullKey: key, valueProvider)
    }

    /// Another name for ``init(namespace:key:instantiator:)``.
    @_disfavoredOverload
    public init(namespace: String, key: String, valueProvider: Instantiator?) {
        self.init(namespace: namespace, key: key, fullKey: "\(namespace).\(key)", valueProvider)
    }

    private init(namespace: String?, key: String, fullKey: String, _ instantiator: Instantiator?) {
        self.init(
            slot: ThreadLocalSlots.open(fullKey),
            origin: ThreadLocalOrigin(namespace: namespace, key: key, fullKey: fullKey, instantiator))
    }

    init(slot: csk_tls_slot_t, origin: ThreadLocalOrigin<T>) {
        self.slot = slot
        type = ObjectIdentifier(T.self)
        self.origin = origin
    }

    /// Runs `body` with the calling thread's value. `body` may use it, change it, replace it, or take it away by
    /// setting nil. The call returns what `body` returns.
    ///
    /// If the thread has no value, the instantiator is asked first, as by `value()`, and `body` gets nil when it makes
    /// none. The method exists for every type, since no value that is not `Sendable` escapes.
    ///
    /// Inside `body` the thread has no value under this key. Code that reads it there gets a new one, which the value
    /// that `body` leaves replaces. What `body` throws is rethrown, and the value that it has left by then is kept.
    /// `body` can't suspend.
    @inlinable
    public func withValue<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending T?) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        var value = take()
        let wasThere = value != nil
        defer { if wasThere || value != nil { keep(value) } }
        return try body(&value)
    }

    // This one calls the instantiator. The next one does not. Both load the value at one place, whichever path has led
    // to its cell. So the compiler sees where a caller only accesses an object, and counts no reference there.

    @inlinable @inline(__always)
    func find() -> T? {
        guard let cell = unsafe filledCell() ?? origin.filledCell(slot) else { return nil }
        return unsafe cell.pointee.value
    }

    @inlinable @inline(__always)
    func look() -> T? {
        guard let cell = unsafe cell() ?? origin.cell(slot) else { return nil }
        return unsafe cell.pointee.value
    }

    @inlinable @inline(__always)
    func keep(_ newValue: T?) {
        guard let cell = unsafe cell() else { return origin.replaceCell(slot, newValue) }
        unsafe withUnsafeMutablePointer(to: &cell.pointee.value) { place in
            // The old value is moved out first, because its deinit may access this place.
            let old = unsafe place.move()
            unsafe place.initialize(to: newValue)
            withExtendedLifetime(old) {}
        }
    }

    /// Takes the value out of its place. So no other code finds it there while it is changed, and an array is changed
    /// without a copy.
    @inlinable
    func take() -> T? {
        if let value = takeOwn() { return value }
        guard let cell = unsafe origin.filledCell(slot) else { return nil }
        // A value that was just made is in its place. One of another type is copied, and its own place is left empty.
        if let value = takeOwn() { return value }
        let value = unsafe cell.pointee.value
        origin.replaceCell(slot, nil)
        return value
    }

    @inlinable
    func takeOwn() -> T? {
        guard let cell = unsafe cell() else { return nil }
        return unsafe withUnsafeMutablePointer(to: &cell.pointee.value) { place in
            let value = unsafe place.move()
            unsafe place.initialize(to: nil)
            return value
        }
    }

    /// The thread's cell, if it holds a value of exactly this type.
    @inlinable @inline(__always)
    func filledCell() -> UnsafeMutablePointer<ThreadLocalCell<T>>? {
        guard let cell = unsafe cell(), unsafe cell.pointee.value != nil else { return nil }
        return unsafe cell
    }

    /// The thread's cell, if it is for values of exactly this type.
    @inlinable @inline(__always)
    func cell() -> UnsafeMutablePointer<ThreadLocalCell<T>>? {
        guard let found = unsafe csk_tls_get(slot) else { return nil }
        guard unsafe RuntimeFacts.beginning(of: found, as: ObjectIdentifier.self) == type else { return nil }
        return unsafe found.assumingMemoryBound(to: ThreadLocalCell<T>.self)
    }
}

// MARK: - Values that may be handed out

extension ThreadLocalValue where T: Sendable {
    /// Returns the calling thread's value. If there is none, it asks the instantiator, and keeps what that returns. A
    /// nil is not kept.
    ///
    /// The instantiator may set the value itself, and what it returns replaces that. A `value()` of the same key on the
    /// same thread inside the instantiator does not ask again, but returns what is set, which is nil at first.
    ///
    /// If the thread is so near its end that nothing can be kept any more, the result is nil. Only `deinit`s of values
    /// that are set again and again at the thread's end can see this.
    @inlinable
    public func value() -> T? { find() }

    /// Returns the calling thread's value, or nil if it has none. The instantiator is not asked.
    @inlinable
    public func cachedValue() -> T? { look() }

    /// Replaces the calling thread's value. Nil takes it away. The old value is released after it was replaced.
    ///
    /// It allocates at a thread's first value under the key, and where the last one was read as another type.
    @inlinable
    public func setValue(_ newValue: T?) { keep(newValue) }

    /// Another name for `setValue(_:)`.
    @inlinable
    public func set(_ newValue: T?) { keep(newValue) }

    /// Returns the calling thread's value. If there is none, it keeps and returns what `make` gives. The instantiator
    /// is not asked.
    ///
    /// What `make` throws is rethrown, and then nothing is kept.
    @inlinable
    public func value<Failure: Error>(orSet make: () throws(Failure) -> T) throws(Failure) -> T {
        if let value = look() { return value }
        let made = try make()
        keep(made)
        return made
    }
}

// MARK: - The same for values that are not Sendable

// The compiler takes these only where `T` is not Sendable, and warns in language mode 6 only. With `@preconcurrency` on
// a requirement instead, it would warn in mode 5 too, for types that declare themselves not Sendable, like Foundation's
// NSString.
extension ThreadLocalValue {
    /// Returns this thread's value, which the instantiator makes where there is none. Language mode 6 gives a warning,
    /// because what it returns could be sent elsewhere.
    @available(swift, deprecated: 6, message: "the value is not Sendable, and may be sent elsewhere; use withValue { }")
    @inlinable
    public func value() -> T? { find() }

    /// Returns this thread's value if there is one. Language mode 6 gives a warning, because what it returns could be
    /// sent elsewhere.
    @available(swift, deprecated: 6, message: "the value is not Sendable, and may be sent elsewhere; use withValue { }")
    @inlinable
    public func cachedValue() -> T? { look() }

    /// Sets this thread's value. Language mode 6 gives a warning, because the value may be used elsewhere, too.
    @available(
        swift, deprecated: 6, message: "the value is not Sendable, and may be used elsewhere, too; use withValue { }"
    )
    @inlinable
    public func setValue(_ newValue: T?) { keep(newValue) }

    /// Another name for `setValue(_:)`.
    @available(
        swift, deprecated: 6, message: "the value is not Sendable, and may be used elsewhere, too; use withValue { }"
    )
    @inlinable
    public func set(_ newValue: T?) { keep(newValue) }
}
