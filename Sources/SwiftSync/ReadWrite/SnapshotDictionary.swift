public import CSyncKernel

/// A dictionary that any thread reads without waiting, even while others write to it and while it grows.
///
/// Use it for tables that are read much more than written: sessions, connections, caches. Copies share the contents.
///
/// ```swift
/// let sessions = SnapshotDictionary<Int, String>()
/// sessions.updateValue("alice", forKey: 7)
/// let length = sessions.read(7) { $0.utf8.count }     // no lock, no reference counted; nil: no such key
/// sessions.update(forKey: 7, default: "") { $0 += "!" }  // atomic
/// sessions.removeValue(forKey: 7)
/// ```
///
/// Each operation is independent: no operation locks the dictionary as a whole. To write a value computed from the
/// former one, use ``update(forKey:default:_:)``. Where several keys belong together, use ``PriorityMutex`` with a
/// dictionary inside, or a ``Snapshot`` where copying it is cheap enough. Values are replaced, not changed in place.
///
/// Writers wait neither for each other nor for readers. Entries that were replaced or removed are released once the
/// reads that may have seen them are over, as versions of a ``Snapshot`` are, with the same limit. The same is true of
/// entries that are left when the last copy of the dictionary ends. Keys are compared inside a read, with no lock held.
///
/// Don't use it in signal handlers. `rcu.h` says what a child of `fork` may do.
@frozen
public struct SnapshotDictionary<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
    @usableFromInline
    let box: DictionaryBox<Key, Value>

    /// Makes an empty dictionary.
    @inlinable
    public init() { box = DictionaryBox() }

    /// Makes a dictionary with the contents of another. It is O(n).
    @inlinable
    public init(_ contents: [Key: Value]) {
        self.init()
        for (key, value) in contents { updateValue(value, forKey: key) }
    }

    /// Runs `body` with the value of `key`. It returns nil when there is none.
    ///
    /// It never blocks, waits, allocates or counts a reference. It is O(1) on average. `body` can't suspend, and what
    /// it throws is rethrown. The value stays what it is until `body` has returned, even when it is removed meanwhile.
    @inlinable
    public func read<Result, Failure: Error>(
        _ key: Key, _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        csk_rcu_read_lock()
        defer { box.endReading() }
        guard let place = unsafe box.find(key) else { return nil }
        return unsafe try body(DictionaryEntry<Key, Value>.pair(place).pointee.value)
    }

    /// Returns a copy of the value of `key`, or nil. It never blocks: it is ``read(_:_:)`` and a copy.
    ///
    /// The subscript only reads. `dictionary[key]! += 1` would be two operations, and a write of another thread between
    /// them would be lost. ``update(forKey:default:_:)`` is one operation. ``updateValue(_:forKey:)`` sets, and
    /// ``removeValue(forKey:)`` removes.
    @inlinable
    public subscript(key: Key) -> Value? { read(key) { $0 } }

    /// Lets `body` change the value of `key`, or `value` where there is none, and keeps the result. This is one step,
    /// so that neither this change nor another thread's is lost. It returns what `body` returns.
    ///
    /// It takes no lock. `body` changes a copy. If another thread has written the key meanwhile, `body` runs anew with
    /// the new value, so it should be short and have no other effect. When `body` throws, nothing is changed, and the
    /// error is rethrown.
    ///
    /// `value` and `body` run inside a read. Nothing that was replaced since then, of any snapshot or dictionary of the
    /// process, is released before they have returned, and each write made meanwhile costs memory. So they must not
    /// block, and must not wait for anything that waits for such a release. `body` can't suspend. It may read and write
    /// snapshots and dictionaries, other keys of this one too, but it must not write this key, since it would then run
    /// anew for ever. The program stops with a message where it does so again in its second run.
    ///
    /// Each run makes one allocation and a copy of the value. Afterwards it waits as ``updateValue(_:forKey:)`` does.
    /// It is O(1) amortized.
    @inlinable
    @discardableResult
    public func update<Result: ~Copyable, Failure: Error>(
        forKey key: Key, default value: @autoclosure () -> Value, _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        box.checkThatNobodyUpdates(key, "update")
        if let result = try box.tryToUpdate(key, value, body) { return result }
        return try box.updateAgain(key, value, body)
    }

    /// Sets the value of `key`. It returns the former value, or nil where there was none.
    ///
    /// It makes one allocation. It never waits for readers or writers, but it waits for room when too much waits to be
    /// released; see ``Snapshot``. At every instant readers find either the former value or the new one. It is O(1)
    /// amortized: a writer that finds the table full, or nearly empty, moves the entries to another table, while all
    /// other threads continue.
    @inlinable
    @discardableResult
    public func updateValue(_ value: Value, forKey key: Key) -> Value? {
        box.checkThatNobodyUpdates(key, "updateValue")
        return unsafe box.replace(DictionaryEntry.make(key, value))
    }

    /// Sets the value of `key` unless it has one. It returns the value that `key` had, which stays, or nil where there
    /// was none. Of threads that do so at once, one gets nil.
    ///
    /// It makes one allocation and never waits. It is O(1) on average.
    @inlinable
    @discardableResult
    public func insertValue(_ value: Value, forKey key: Key) -> Value? {
        box.checkThatNobodyUpdates(key, "insertValue")
        return unsafe box.insert(DictionaryEntry.make(key, value))
    }

    /// Removes `key`. It returns the value of `key`, or nil where there was none. Of threads that remove it at once,
    /// one gets the value.
    ///
    /// It waits as ``updateValue(_:forKey:)`` does. It is O(1) amortized.
    @inlinable
    @discardableResult
    public func removeValue(forKey key: Key) -> Value? {
        box.checkThatNobodyUpdates(key, "removeValue")
        return box.remove(key)
    }

    /// Removes the present keys, one after the other. Keys that are inserted meanwhile may stay. It never waits. It is
    /// O(n).
    public func removeAll() { box.removeAll() }

    /// The number of keys at some instant. While others write, it may be off by the writes in progress. It is O(1).
    public var count: Int { withExtendedLifetime(box) { unsafe Int(csk_rcu_map_count(box.map)) } }

    /// True if there is no key; see ``count``.
    public var isEmpty: Bool { count == 0 }

    /// Runs `body` for every key and its value, in no particular order.
    ///
    /// It is weakly consistent. A key that is there from the beginning to the end comes once, with one of the values
    /// that it has meanwhile. Keys that come or go meanwhile may be visited or not. The whole call is one read, and
    /// delays releases for as long as it takes. It never blocks. `body` can't suspend, and may read and write the
    /// dictionary.
    @inlinable
    public func forEach<Failure: Error>(
        _ body: (borrowing Key, borrowing Value) throws(Failure) -> Void
    ) throws(Failure) {
        csk_rcu_read_lock()
        defer { box.endReading() }
        var cursor = unsafe csk_rcu_map_cursor_t()
        var place = unsafe csk_rcu_map_first(box.map, &cursor)
        while let found = unsafe place {
            let pair = unsafe DictionaryEntry<Key, Value>.pair(found)
            unsafe try body(pair.pointee.key, pair.pointee.value)
            unsafe place = csk_rcu_map_next(&cursor)
        }
    }

    /// Returns a copy of the contents, as weakly consistent as ``forEach(_:)``. It is O(n).
    public var current: [Key: Value] {
        var contents: [Key: Value] = [:]
        contents.reserveCapacity(count)
        forEach { contents[copy $0] = copy $1 }
        return contents
    }
}
