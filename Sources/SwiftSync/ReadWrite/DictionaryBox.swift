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

/// What stands before a pair: the table's part, which must come first, and where the pair is.
@usableFromInline
@frozen
struct DictionaryEntryHeader {
    @usableFromInline var entry = csk_rcu_map_entry_t()
    @usableFromInline var pair: UnsafeMutableRawPointer?

    @inlinable
    init() {}
}

/// One entry of a ``SnapshotDictionary``; one allocation, which the table owns while the entry is in it.
@usableFromInline
final class DictionaryEntry<Key, Value>: ManagedBuffer<DictionaryEntryHeader, DictionaryPair<Key, Value>> {
    @usableFromInline typealias Pair = DictionaryPair<Key, Value>
    @usableFromInline typealias Place = UnsafeMutablePointer<csk_rcu_map_entry_t>

    /// An entry that owns itself until it is released as its node's context.
    @inlinable
    static func make(_ key: Key, _ value: Value) -> Place {
        let buffer = DictionaryEntry.create(minimumCapacity: 1) { _ in DictionaryEntryHeader() }
        buffer.withUnsafeMutablePointerToElements { $0.initialize(to: Pair(key: key, value: value)) }
        let context = Unmanaged.passRetained(buffer).toOpaque()
        return buffer.withUnsafeMutablePointers { header, pair in
            header.pointee.pair = UnsafeMutableRawPointer(pair)
            header.pointee.entry.node.context = context
            return UnsafeMutableRawPointer(header).assumingMemoryBound(to: csk_rcu_map_entry_t.self)
        }
    }

    @inlinable
    static func pair(_ place: Place) -> UnsafePointer<Pair> {
        let header = UnsafeRawPointer(place).assumingMemoryBound(to: DictionaryEntryHeader.self)
        return UnsafePointer(header.pointee.pair.unsafelyUnwrapped.assumingMemoryBound(to: Pair.self))
    }

    @inlinable
    deinit { _ = withUnsafeMutablePointerToElements { $0.deinitialize(count: 1) } }
}

/// Compares keys whose type the kernel doesn't know.
@usableFromInline
class AnyDictionaryBox {
    init() {}

    func haveOneKey(_ place: UnsafePointer<csk_rcu_map_entry_t>, _ other: UnsafePointer<csk_rcu_map_entry_t>) -> Bool {
        fatalError("each table compares its own keys")
    }
}

/// What a writer hands the kernel as a key: the table, and the entry to be inserted.
@usableFromInline
struct DictionaryProbe {
    @usableFromInline let box: Unmanaged<AnyDictionaryBox>
    @usableFromInline let entry: UnsafePointer<csk_rcu_map_entry_t>

    @usableFromInline
    init(box: Unmanaged<AnyDictionaryBox>, entry: UnsafePointer<csk_rcu_map_entry_t>) {
        self.box = box
        self.entry = entry
    }
}

private func matches(_ place: UnsafePointer<csk_rcu_map_entry_t>?, _ key: UnsafeRawPointer?) -> Bool {
    let probe = key!.assumingMemoryBound(to: DictionaryProbe.self).pointee
    return probe.box._withUnsafeGuaranteedRef { $0.haveOneKey(place!, probe.entry) }
}

/// The kernel's table in an object of its own.
@usableFromInline
final class DictionaryBox<Key: Hashable, Value>: AnyDictionaryBox {
    @usableFromInline typealias Entry = DictionaryEntry<Key, Value>

    @usableFromInline let map: OpaquePointer

    @usableFromInline
    override init() {
        var made: OpaquePointer?
        let status = csk_rcu_map_create(&made, matches)
        guard status == 0, let made else { fatalError("SnapshotDictionary: \(String(cString: csk_status_text(status)))") }
        map = made
    }

    deinit { csk_rcu_map_destroy(map, releaseRetired) }

    override func haveOneKey(_ place: UnsafePointer<csk_rcu_map_entry_t>, _ other: UnsafePointer<csk_rcu_map_entry_t>) -> Bool {
        Entry.pair(Entry.Place(mutating: place)).pointee.key == Entry.pair(Entry.Place(mutating: other)).pointee.key
    }

    @inlinable
    static func hash(_ key: Key) -> UInt64 { UInt64(bitPattern: Int64(key.hashValue)) }

    /// The entry with the key, inside a read section of the caller. Compares here rather than in the kernel, where the key has no type.
    @inlinable
    func find(_ key: Key) -> Entry.Place? {
        var cursor = csk_rcu_map_cursor_t()
        var place = csk_rcu_map_first_of(map, Self.hash(key), &cursor)
        while let found = place, Entry.pair(found).pointee.key != key { place = csk_rcu_map_next_of(map, &cursor) }
        return place
    }

    /// Puts the entry in, and gives the value in whose place it is.
    @inlinable
    func replace(_ entry: Entry.Place) -> Value? {
        var probe = DictionaryProbe(box: .passUnretained(self), entry: entry)
        return retire(csk_rcu_map_replace(map, Self.hash(Entry.pair(entry).pointee.key), &probe, entry))
    }

    /// Puts the entry in unless there is one with its key, and gives that one's value then.
    @inlinable
    func insert(_ entry: Entry.Place) -> Value? {
        guard let value = valueInTheWay(of: entry) else { return nil }
        // Nobody has seen it.
        Unmanaged<Entry>.fromOpaque(entry.pointee.node.context).release()
        return value
    }

    @inlinable
    func valueInTheWay(of entry: Entry.Place) -> Value? {
        csk_rcu_read_lock()
        defer { csk_rcu_read_unlock() }
        var probe = DictionaryProbe(box: .passUnretained(self), entry: entry)
        var found: Entry.Place?
        let status = csk_rcu_map_insert(map, Self.hash(Entry.pair(entry).pointee.key), &probe, entry, &found)
        return status == 0 ? nil : Entry.pair(found.unsafelyUnwrapped).pointee.value
    }

    @inlinable
    func remove(_ key: Key) -> Value? {
        csk_rcu_read_lock()
        var place = find(key)
        // Another thread may take out what was found, and a third put in anew.
        while let found = place, csk_rcu_map_remove_entry(map, found) != 0 { place = find(key) }
        csk_rcu_read_unlock()
        return retire(place)
    }

    @usableFromInline
    func removeAll() {
        csk_rcu_read_lock()
        defer { csk_rcu_read_unlock() }
        var cursor = csk_rcu_map_cursor_t()
        var place = csk_rcu_map_first(map, &cursor)
        while let found = place {
            if csk_rcu_map_remove_entry(map, found) == 0 { csk_rcu_retire(&found.pointee.node, releaseRetired) }
            place = csk_rcu_map_next(map, &cursor)
        }
    }

    /// The value of an entry that the caller has taken out; the entry ends after a grace period.
    @inlinable
    func retire(_ place: Entry.Place?) -> Value? {
        guard let place else { return nil }
        let value = Entry.pair(place).pointee.value
        retireEntry(place)
        return value
    }
}

@usableFromInline
func retireEntry(_ place: UnsafeMutablePointer<csk_rcu_map_entry_t>) { csk_rcu_retire(&place.pointee.node, releaseRetired) }
