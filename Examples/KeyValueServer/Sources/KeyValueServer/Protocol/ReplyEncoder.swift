import NIOCore

/// The two protocol versions a client may choose between with `HELLO`.
public enum ProtocolVersion: Int, Sendable {
    case resp2 = 2
    case resp3 = 3
}

/// Writes replies straight into the buffer that goes to the socket.
public struct ReplyEncoder: Sendable {
    public var buffer: ByteBuffer
    public var version = ProtocolVersion.resp2

    public init(buffer: ByteBuffer, version: ProtocolVersion = .resp2) {
        self.buffer = buffer
        self.version = version
    }

    public mutating func write(_ reply: Reply) {
        switch reply {
        case .ok:
            buffer.writeStaticString("+OK\r\n")
        case .simple(let text):
            buffer.writeStaticString("+")
            buffer.writeStaticString(text)
            endLine()
        case .error(let text):
            buffer.writeStaticString("-")
            // A line end inside would be taken for the end of the reply.
            buffer.writeBytes(text.lazy.map { $0 == 0x0D || $0 == 0x0A ? 0x20 : $0 })
            endLine()
        case .integer(let value):
            writeHeader(":", value)
        case .bulk(let bytes):
            writeBulk(bytes)
        case .verbatim(let bytes):
            if version == .resp3 {
                writeHeader("=", bytes.count + 4)
                buffer.writeStaticString("txt:")
                buffer.writeBytes(bytes)
                endLine()
            } else {
                writeBulk(bytes)
            }
        case .null:
            buffer.writeStaticString(version == .resp3 ? "_\r\n" : "$-1\r\n")
        case .nullArray:
            buffer.writeStaticString(version == .resp3 ? "_\r\n" : "*-1\r\n")
        case .array(let items):
            writeHeader("*", items.count)
            for item in items { write(item) }
        case .set(let items):
            writeHeader(version == .resp3 ? "~" : "*", items.count)
            for item in items { write(item) }
        case .map(let pairs):
            writeHeader(version == .resp3 ? "%" : "*", version == .resp3 ? pairs.count : 2 * pairs.count)
            for (key, value) in pairs {
                write(key)
                write(value)
            }
        }
    }

    public mutating func writeBulk(_ bytes: [UInt8]) {
        writeHeader("$", bytes.count)
        buffer.writeBytes(bytes)
        endLine()
    }

    /// A marker, a decimal number and the end of the line.
    public mutating func writeHeader(_ marker: StaticString, _ value: Int) {
        buffer.writeStaticString(marker)
        if value >= 0, value < 10 {
            buffer.writeInteger(UInt8(ascii: "0") + UInt8(value))
        } else {
            buffer.writeBytes(Decimal.text(value))
        }
        endLine()
    }

    private mutating func endLine() {
        buffer.writeStaticString("\r\n")
    }
}
