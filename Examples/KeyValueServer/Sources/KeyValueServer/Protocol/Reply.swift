/// An answer, before it is put into bytes of either protocol version.
///
/// Making one inside a critical section is cheap: the bytes of a value are shared with the store, not copied.
public indirect enum Reply: Equatable, Sendable {
    case ok
    /// A short text without a line end.
    case simple(StaticString)
    case error([UInt8])
    case integer(Int)
    case bulk([UInt8])
    /// Text for people: a bulk string in RESP2, a verbatim one in RESP3.
    case verbatim([UInt8])
    case null
    /// Where an array would be: in RESP2, it is told from a string that isn't there.
    case nullArray
    case array([Reply])
    /// Alternating keys and values: a map in RESP3, a flat array in RESP2.
    case map([(Reply, Reply)])
    /// A set in RESP3, an array in RESP2.
    case set([Reply])

    static func text(_ text: String) -> Reply { .bulk(Array(text.utf8)) }
    static func failure(_ text: String) -> Reply { .error(Array(text.utf8)) }

    public static func == (left: Reply, right: Reply) -> Bool {
        switch (left, right) {
        case (.ok, .ok), (.null, .null), (.nullArray, .nullArray): true
        case (.simple(let a), .simple(let b)): a.description == b.description
        case (.error(let a), .error(let b)), (.bulk(let a), .bulk(let b)), (.verbatim(let a), .verbatim(let b)): a == b
        case (.integer(let a), .integer(let b)): a == b
        case (.array(let a), .array(let b)), (.set(let a), .set(let b)): a == b
        case (.map(let a), .map(let b)): a.elementsEqual(b, by: ==)
        default: false
        }
    }
}

extension Reply {
    static let pong = Reply.simple("PONG")
    static let syntaxError = failure("ERR syntax error")
    static let wrongType = failure("WRONGTYPE Operation against a key holding the wrong kind of value")
    static let notAnInteger = failure("ERR value is not an integer or out of range")
    static let notAFloat = failure("ERR value is not a valid float")
    /// What a slow command is told that finds no room among those that wait.
    static let busy = failure("BUSY Too many slow commands wait. Try again later.")
    static let overflow = failure("ERR increment or decrement would overflow")
    static let tooLong = failure("ERR string exceeds maximum allowed size (proto-max-bulk-len)")

    static func invalidExpiry(in command: String) -> Reply {
        failure("ERR invalid expire time in '\(command)' command")
    }

    static func wrongArity(_ command: some Sequence<UInt8>) -> Reply {
        .error(Array("ERR wrong number of arguments for '".utf8) + command + Array("' command".utf8))
    }
}
