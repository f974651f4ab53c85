public import CSyncKernel

/// A key and its value, side by side.
@usableFromInline
@frozen
struct DictionaryPair<Key, Value> {
    @usableFromInline let key: Key
    @usableFromInline let value: Value

    @inlinable
    init(key: Key, value: Value) {
        self.key = key
        self.value = value
    }
}

/// Destroys entries whose type the kernel doesn't know. The context of the entry's node is the metatype.
@usableFromInline
class AnyDictionaryEntry {
    @usableFromInline
    class func destroy(_ place: UnsafeMutableRawPointer) { fatalError("each type of entries ends its own") }
}

/// The layout of a ``SnapshotDictionary``'s entries: the table's part, then the pair. An entry is one piece of memory
/// without reference counts. The class has no instances.
@usableFromInline
final class DictionaryEntry<Key, Value>: AnyDictionaryEntry {
    @usableFromInline typealias Pair = DictionaryPair<Key, Value>
    @usableFromInline typealias Place = UnsafeMutablePointer<csk_rcu_map_entry_t>

    @usableFromInline typealias Memory = HeadedMemory<csk_rcu_map_entry_t, Pair>

    @inlinable
    static func make(_ key: Key, _ value: Value) -> Place {
        let place = unsafe Memory.make(csk_rcu_map_entry_t(), Pair(key: key, value: value))
        unsafe place.pointee.node.context = RuntimeFacts.pointer(to: self as AnyDictionaryEntry.Type)
        return unsafe place
    }

    @inlinable
    static func pair(_ place: Place) -> UnsafeMutablePointer<Pair> { unsafe Memory.element(place) }

    @inlinable
    override class func destroy(_ place: UnsafeMutableRawPointer) {
        unsafe pair(place.assumingMemoryBound(to: csk_rcu_map_entry_t.self)).deinitialize(count: 1)
        unsafe place.deallocate()
    }
}

/// The function that the kernel calls after a grace period.
private func endEntry(_ node: UnsafeMutablePointer<csk_rcu_node_t>?) {
    unsafe RuntimeFacts.type(at: node!.pointee.context, as: AnyDictionaryEntry.self).destroy(
        UnsafeMutableRawPointer(node!))
}

/// Compares keys whose type the kernel doesn't know.
@usableFromInline
class AnyDictionaryBox {
    init() {}

    func haveOneKey(_ place: UnsafePointer<csk_rcu_map_entry_t>, _ other: UnsafePointer<csk_rcu_map_entry_t>) -> Bool {
        fatalError("each table compares its own keys")
    }
}

/// The key that a writer passes to the kernel: the table, and the entry to be inserted.
@safe
private struct DictionaryProbe {
    let box: Unmanaged<AnyDictionaryBox>
    let entry: UnsafePointer<csk_rcu_map_entry_t>
}

private func matches(_ place: UnsafePointer<csk_rcu_map_entry_t>?, _ key: UnsafeRawPointer?) -> Bool {
    let probe = unsafe key!.assumingMemoryBound(to: DictionaryProbe.self).pointee
    return unsafe probe.box._withUnsafeGuaranteedRef { unsafe $0.haveOneKey(place!, probe.entry) }
}

/// The object that owns the kernel's table.
@usableFromInline
@safe
final class DictionaryBox<Key: Hashable, Value>: AnyDictionaryBox {
    @usableFromInline typealias Entry = DictionaryEntry<Key, Value>

    @safe @usableFromInline let map: UnsafeMutablePointer<csk_rcu_map_t>
    @usableFromInline let hashing = IntegerHashing()

    @usableFromInline
    override init() {
        KernelReports.arePassedOn
        var made: UnsafeMutablePointer<csk_rcu_map_t>?
        let status = unsafe csk_rcu_map_create(&made, matches)
        guard status == 0, let made = unsafe made else { DictionaryBox.stop(status) }
        map = unsafe made
    }

    deinit { unsafe csk_rcu_map_destroy(map, endEntry) }

    static func stop(_ status: Int32) -> Never {
        fatalError("SnapshotDictionary: \(statusText(status))")
    }

    override func haveOneKey(
        _ place: UnsafePointer<csk_rcu_map_entry_t>, _ other: UnsafePointer<csk_rcu_map_entry_t>
    ) -> Bool {
        unsafe Entry.pair(Entry.Place(mutating: place)).pointee.key
            == Entry.pair(Entry.Place(mutating: other)).pointee.key
    }

    @inlinable
    func hash(_ key: Key) -> UInt64 { hashing.hash(key) ?? UInt64(bitPattern: Int64(key.hashValue)) }

    /// Ends a read section in which the table is used. The end of the box frees the table, so the box lasts until here.
    @inlinable
    @inline(__always)
    func endReading() { withExtendedLifetime(self) { _ = csk_rcu_read_unlock() } }

    /// Returns the entry with the key. The caller must be inside a read section. Keys are compared here rather than in
    /// the kernel, where the key has no type.
    @inlinable
    func find(_ key: Key) -> Entry.Place? {
        var cursor = unsafe csk_rcu_map_cursor_t()
        var place = unsafe csk_rcu_map_first_of(map, hash(key), &cursor)
        while let found = unsafe place, unsafe Entry.pair(found).pointee.key != key {
            unsafe place = csk_rcu_map_next_of(&cursor)
        }
        return unsafe place
    }

    /// Inserts the entry, and returns the value that it replaces.
    @inlinable
    func replace(_ entry: Entry.Place) -> Value? {
        unsafe retire(replace(entry, hash: hash(Entry.pair(entry).pointee.key)))
    }

    @usableFromInline
    func replace(_ entry: Entry.Place, hash: UInt64) -> Entry.Place? {
        var probe = unsafe DictionaryProbe(box: .passUnretained(self), entry: entry), old: Entry.Place?
        let status = unsafe csk_rcu_map_replace(map, hash, &probe, entry, &old)
        guard status == 0 else { DictionaryBox.stop(status) }
        return unsafe old
    }

    /// Inserts the entry unless there is one with its key. In that case it returns the value of that entry.
    @inlinable
    func insert(_ entry: Entry.Place) -> Value? {
        csk_rcu_read_lock()
        let found = unsafe insert(entry, hash: hash(Entry.pair(entry).pointee.key))
        let value = unsafe found.map { unsafe Entry.pair($0).pointee.value }
        endReading()
        if value != nil { unsafe Entry.destroy(entry) } // no reader has seen it
        return value
    }

    /// The caller must be inside a read section.
    @usableFromInline
    func insert(_ entry: Entry.Place, hash: UInt64) -> Entry.Place? {
        var probe = unsafe DictionaryProbe(box: .passUnretained(self), entry: entry), found: Entry.Place?
        let status = unsafe csk_rcu_map_insert(map, hash, &probe, entry, &found)
        guard status == 0 || status == EEXIST else { DictionaryBox.stop(status) }
        return unsafe found
    }

    /// Returns nil when another thread has written the key meanwhile. Nothing was changed then.
    @inlinable
    func tryToUpdate<Result: ~Copyable, Failure: Error>(
        _ key: Key, _ fallback: () -> Value, _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        csk_rcu_read_lock()
        let found = unsafe find(key), result: Result, entry: Entry.Place
        do throws(Failure) {
            var value = unsafe found.map { unsafe Entry.pair($0).pointee.value } ?? fallback()
            result = try body(&value)
            unsafe entry = Entry.make(key, value)
        } catch {
            endReading()
            throw error
        }
        let isKept =
            if let found = unsafe found { unsafe replace(found, with: entry) } else {
                unsafe insert(entry, hash: hash(key)) == nil
            }
        endReading()
        guard isKept else {
            unsafe Entry.destroy(entry) // no reader has seen it
            return nil
        }
        if let found = unsafe found { unsafe retireEntry(found) }
        return result
    }

    /// Updates a key that was written during the first attempt, and records the attempt for the thread: if `body`
    /// itself wrote the key, it will do so again.
    @inlinable
    func updateAgain<Result: ~Copyable, Failure: Error>(
        _ key: Key, _ fallback: () -> Value, _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        while true {
            let update = RepeatedUpdate(of: key, in: self)
            defer { update.end() }
            if let result = try tryToUpdate(key, fallback, body) { return result }
        }
    }

    /// Stops the program inside of a repeated update of that key by the calling thread.
    @inlinable
    @inline(__always)
    func checkThatNobodyUpdates(_ key: Key, _ call: StaticString) {
        if AnyRepeatedUpdate.mayExist { stop(ifUpdating: key, call) }
    }

    @usableFromInline
    func stop(ifUpdating key: Key, _ call: StaticString) {
        guard AnyRepeatedUpdate.ofThread(contains: { ($0 as? RepeatedUpdate<Key>)?.isOf(key, in: self) == true }) else {
            return
        }
        fatalError(
            "SnapshotDictionary: \(call) was called inside an update of the same key by the same thread")
    }

    /// The caller must be inside the read section in which it found that entry. Returns false if the entry was removed
    /// meanwhile.
    @usableFromInline
    func replace(_ found: Entry.Place, with entry: Entry.Place) -> Bool {
        let status = unsafe csk_rcu_map_replace_entry(map, found, entry)
        guard status == 0 || status == ENOENT else { DictionaryBox.stop(status) }
        return status == 0
    }

    @inlinable
    func remove(_ key: Key) -> Value? {
        csk_rcu_read_lock()
        var place = unsafe find(key)
        // Another thread may remove the entry that was found, and a third may insert the key anew.
        while let found = unsafe place, unsafe csk_rcu_map_remove_entry(map, found) != 0 { unsafe place = find(key) }
        endReading()
        return unsafe retire(place)
    }

    @usableFromInline
    func removeAll() {
        csk_rcu_read_lock()
        defer { csk_rcu_read_unlock() }
        var cursor = unsafe csk_rcu_map_cursor_t()
        var place = unsafe csk_rcu_map_first(map, &cursor)
        while let found = unsafe place {
            if unsafe csk_rcu_map_remove_entry(map, found) == 0 {
                unsafe csk_rcu_retire_always(&found.pointee.node, endEntry)
            }
            unsafe place = csk_rcu_map_next(&cursor)
        }
    }

    /// Returns the value of an entry that the caller has removed. The entry is destroyed after a grace period.
    @inlinable
    func retire(_ place: Entry.Place?) -> Value? {
        guard let place = unsafe place else { return nil }
        let value = unsafe Entry.pair(place).pointee.value
        unsafe retireEntry(place)
        return value
    }
}

@usableFromInline
func retireEntry(_ place: UnsafeMutablePointer<csk_rcu_map_entry_t>) {
    unsafe csk_rcu_retire_always(&place.pointee.node, endEntry)
}
