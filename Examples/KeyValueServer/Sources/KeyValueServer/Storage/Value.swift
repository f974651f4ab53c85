import NIOCore

/// What a key holds.
enum Value: Sendable {
    /// Grows and shrinks at both ends in constant time.
    typealias List = CircularBuffer<[UInt8]>

    case string([UInt8])
    /// Never empty: a list whose last element is taken out loses its key. Indirect, so that strings stay one word.
    indirect case list(List)

    var bytes: [UInt8]? {
        if case .string(let bytes) = self { bytes } else { nil }
    }

    var list: List? {
        if case .list(let list) = self { list } else { nil }
    }

    var kind: ValueKind {
        switch self {
        case .string: .string
        case .list: .list
        }
    }

    /// Changes a string where it lies. Nil, and nothing was done, if this is none.
    mutating func changeBytes<R>(_ body: (inout [UInt8]) -> R) -> R? {
        guard case .string(var bytes) = self else { return nil }
        // The only reference, or else the change would copy it.
        self = .string([])
        defer { self = .string(bytes) }
        return body(&bytes)
    }

    /// Changes a list where it lies. Nil, and nothing was done, if this is none.
    mutating func changeList<R>(_ body: (inout List) -> R) -> R? {
        guard case .list(var list) = self else { return nil }
        self = .string([])
        defer { self = .list(list) }
        return body(&list)
    }
}

/// Types of values, as `TYPE` names them.
struct ValueKind: OptionSet, Sendable {
    let rawValue: UInt8

    static let string = ValueKind(rawValue: 1)
    static let list = ValueKind(rawValue: 2)
    static let all: ValueKind = [.string, .list]

    /// The kinds of a name: none, if no value here has it.
    init(named name: [UInt8]) {
        self = name.hasName("string") ? .string : name.hasName("list") ? .list : []
    }

    init(rawValue: UInt8) { self.rawValue = rawValue }

    var name: StaticString { self == .list ? "list" : "string" }
}
