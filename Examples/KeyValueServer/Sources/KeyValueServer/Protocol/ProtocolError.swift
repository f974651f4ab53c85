/// What can be wrong with the bytes themselves, as opposed to with a command.
///
/// Each of these is answered once, and then costs the client its connection.
public enum ProtocolError: Error, Equatable, Sendable {
    case invalidMultibulkLength
    case invalidBulkLength
    case expectedDollar(got: UInt8)
    case tooBigInlineRequest
    case tooBigCountString
    case tooBigBulkCountString
    case unbalancedQuotes
    /// The arguments of one request together would take too much memory. Redis closes without a word here.
    case requestTooLong

    /// The error reply, without its `-` and line end. Nil where the connection is closed without one.
    public var message: [UInt8]? {
        let text: [UInt8]
        switch self {
        case .invalidMultibulkLength: text = Array("invalid multibulk length".utf8)
        case .invalidBulkLength: text = Array("invalid bulk length".utf8)
        case .expectedDollar(let byte):
            let isLineEnd = byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n")
            text = Array("expected '$', got '".utf8) + [isLineEnd ? UInt8(ascii: " ") : byte, UInt8(ascii: "'")]
        case .tooBigInlineRequest: text = Array("too big inline request".utf8)
        case .tooBigCountString: text = Array("too big mbulk count string".utf8)
        case .tooBigBulkCountString: text = Array("too big bulk count string".utf8)
        case .unbalancedQuotes: text = Array("unbalanced quotes in request".utf8)
        case .requestTooLong: return nil
        }
        return Array("ERR Protocol error: ".utf8) + text
    }
}
