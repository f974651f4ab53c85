/// An end of a list, and what is done there while a shard is held.
enum ListEnd: Sendable {
    case front
    case back

    /// One element after the other, each beyond the one before.
    func push(_ elements: [[UInt8]], to shard: inout Shard, _ key: Key, now: Milliseconds) -> Reply {
        // Only the kind is taken out: a second reference to the list would make the change copy it.
        guard let kind = shard.entry(key, now: now)?.value.kind else {
            var list = Value.List()
            push(elements, to: &list)
            shard.store(key, .list(list))
            return .integer(elements.count)
        }
        guard kind == .list else { return .wrongType }
        let count = shard.update(key) { value in
            value.changeList { list in
                push(elements, to: &list)
                return list.count
            }
        }
        return .integer(count.flatMap { $0 } ?? 0)
    }

    private func push(_ elements: [[UInt8]], to list: inout Value.List) {
        for element in elements {
            switch self {
            case .front: list.prepend(element)
            case .back: list.append(element)
            }
        }
    }

    /// Takes out one element, or up to `count` as an array. A list that is empty then is removed.
    func pop(_ count: Int?, from shard: inout Shard, _ key: Key, now: Milliseconds) -> Reply {
        guard let kind = shard.entry(key, now: now)?.value.kind else { return count == nil ? .null : .nullArray }
        guard kind == .list else { return .wrongType }
        let taken = shard.update(key) { value in
            value.changeList { list in
                let elements = (0..<min(count ?? 1, list.count)).compactMap { _ in pop(from: &list) }
                return (elements: elements, isEmpty: list.isEmpty)
            }
        }
        guard let (elements, isEmpty) = taken.flatMap({ $0 }) else { return .null }
        if isEmpty { shard.remove(key) }
        guard count == nil else { return .array(elements.map { .bulk($0) }) }
        return elements.first.map { .bulk($0) } ?? .null
    }

    private func pop(from list: inout Value.List) -> [UInt8]? {
        switch self {
        case .front: list.popFirst()
        case .back: list.popLast()
        }
    }
}

/// A part of a list, both ends included. Negative positions count from the list's end.
struct ListRange: Sendable {
    var first: Int
    var last: Int

    /// Whether it has at most `most` elements, however long the list is.
    func isShort(_ most: Int) -> Bool {
        guard (first < 0) == (last < 0) else { return false }
        return last < first || last - first < most
    }

    func reply(from list: Value.List) -> Reply {
        let start = max(first < 0 ? first + list.count : first, 0)
        let end = min(last < 0 ? last + list.count : last, list.count - 1)
        guard start <= end else { return .array([]) }
        return .array(
            (start...end).map { .bulk(list[list.index(list.startIndex, offsetBy: $0)]) })
    }
}
