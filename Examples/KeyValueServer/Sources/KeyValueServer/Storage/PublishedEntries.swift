import SwiftSync

/// The entries of a shard once more, for readers without a lock. It belongs to the shard: only who holds that changes
/// it.
struct PublishedEntries: Sendable {
    /// Where readers find the dictionary; the same for as long as the shard's place lasts.
    let current: Snapshot<Shard.Entries>
    /// The same dictionary, for the writer, who must not write inside a read: there, nothing would slow it down when it
    /// replaces entries faster than they can be released.
    let entries: Shard.Entries

    init() {
        entries = Shard.Entries()
        current = Snapshot(entries)
    }

    private init(_ current: Snapshot<Shard.Entries>, _ entries: Shard.Entries) {
        self.current = current
        self.entries = entries
    }

    /// Puts an empty dictionary before the readers, in constant time. The full one is released after the last read of
    /// it.
    func successor() -> PublishedEntries {
        let empty = Shard.Entries()
        current.store(empty)
        return PublishedEntries(current, empty)
    }
}
