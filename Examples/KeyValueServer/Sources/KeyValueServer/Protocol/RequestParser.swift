/// One request as it came over the wire: the command's name and its arguments.
public typealias Request = [[UInt8]]

/// Bounds on what a client may send. The defaults are Redis's own.
public struct RequestLimits: Sendable {
    /// Longest single argument, in bytes.
    public var bulkLength = 512 << 20
    /// Most arguments in one request.
    public var argumentCount = 1 << 20
    /// Longest inline request, and longest line that announces a count or a length, in bytes.
    public var lineLength = 64 << 10
    /// Most bytes of arguments that one unfinished request may hold in memory.
    public var requestLength = 1 << 30

    public init() {}
}

/// Turns a stream of bytes into requests.
///
/// A plain value that knows nothing of sockets. What arrives in pieces is kept in here, so a caller never has to hold
/// on to bytes that were consumed, and cutting a stream at any point gives the same requests. Each argument is copied
/// once, out of the input and into the array that the store may then keep as it is.
///
/// After an error the parser has lost its place in the stream, and the connection must be closed.
public struct RequestParser: Sendable {
    private enum State {
        /// Between two requests.
        case start
        /// Inside an inline request, before its end of line.
        case inline
        /// After `*`, before the end of its line.
        case count
        /// Before the `$` line of the next argument.
        case length
        /// Inside an argument's bytes, this many still missing.
        case body(missing: Int)
        /// Behind an argument, this many bytes of its line end still missing.
        case lineEnd(missing: Int)
    }

    private let limits: RequestLimits
    private var state = State.start
    /// The part of a line that came with earlier input. It keeps its storage from line to line.
    private var line: [UInt8] = []
    private var arguments: Request = []
    private var argument: [UInt8] = []
    private var argumentsMissing = 0
    private var bytesHeld = 0

    public init(limits: RequestLimits = RequestLimits()) {
        self.limits = limits
    }

    /// Whether part of a request has arrived and the rest has not.
    public var isInsideRequest: Bool {
        if case .start = state { false } else { true }
    }

    /// Reads on from `offset`, which moves past what was consumed.
    ///
    /// - Returns: the next complete request, or nil when the input is used up. Empty requests, which Redis leaves
    ///   unanswered, are skipped.
    public mutating func next(
        in input: UnsafeRawBufferPointer, from offset: inout Int
    ) throws(ProtocolError) -> Request? {
        while offset < input.count {
            switch state {
            case .start:
                if input[offset] == UInt8(ascii: "*") {
                    offset += 1
                    state = .count
                } else {
                    state = .inline
                }
            case .inline:
                guard let request = try inlineRequest(input, &offset) else { return nil }
                state = .start
                if !request.isEmpty { return request }
            case .count:
                guard try readCount(input, &offset) else { return nil }
            case .length:
                guard try readLength(input, &offset) else { return nil }
            case .body(let missing):
                let taken = min(missing, input.count - offset)
                argument.append(contentsOf: input[offset..<offset + taken])
                offset += taken
                state = taken == missing ? .lineEnd(missing: 2) : .body(missing: missing - taken)
            case .lineEnd(let missing):
                // Redis skips these two bytes without looking at them, and clients may count on that.
                let skipped = min(missing, input.count - offset)
                offset += skipped
                guard skipped == missing else {
                    state = .lineEnd(missing: missing - skipped)
                    return nil
                }
                if let request = finishArgument() { return request }
            }
        }
        return nil
    }

    private mutating func finishArgument() -> Request? {
        arguments.append(argument)
        argument = []
        argumentsMissing -= 1
        guard argumentsMissing == 0 else {
            state = .length
            return nil
        }
        state = .start
        bytesHeld = 0
        defer { arguments = [] }
        return arguments
    }

    private mutating func inlineRequest(
        _ input: UnsafeRawBufferPointer, _ offset: inout Int
    ) throws(ProtocolError) -> Request? {
        let rest = UnsafeRawBufferPointer(rebasing: input[offset...])
        guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else {
            line.append(contentsOf: rest)
            offset = input.count
            if line.count > limits.lineLength { throw .tooBigInlineRequest }
            return nil
        }
        line.append(contentsOf: rest[..<end])
        offset += end + 1
        defer { line.removeAll(keepingCapacity: true) }
        if line.count > limits.lineLength { throw .tooBigInlineRequest }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard let words = InlineWords.split(line) else { throw .unbalancedQuotes }
        return words
    }

    private mutating func readCount(
        _ input: UnsafeRawBufferPointer, _ offset: inout Int
    ) throws(ProtocolError) -> Bool {
        guard let value = try number(input, &offset, tooLong: .tooBigCountString) else { return false }
        guard let count = value.number, count <= limits.argumentCount else { throw .invalidMultibulkLength }
        if count <= 0 {
            state = .start
        } else {
            state = .length
            argumentsMissing = count
            // The count is only a claim: room for more comes as arguments do.
            arguments.reserveCapacity(min(count, 64))
        }
        return true
    }

    private mutating func readLength(
        _ input: UnsafeRawBufferPointer, _ offset: inout Int
    ) throws(ProtocolError) -> Bool {
        guard let value = try number(input, &offset, tooLong: .tooBigBulkCountString) else { return false }
        guard value.marker == UInt8(ascii: "$") else { throw .expectedDollar(got: value.marker) }
        guard let length = value.number, length >= 0, length <= limits.bulkLength else { throw .invalidBulkLength }
        bytesHeld += length
        guard bytesHeld <= limits.requestLength else { throw .requestTooLong }
        // Again only a claim, which must not be able to take half a gigabyte by itself.
        argument.reserveCapacity(min(length, 64 << 10))
        state = length == 0 ? .lineEnd(missing: 2) : .body(missing: length)
        return true
    }

    /// Reads a line up to and including its CR and the byte after it, which Redis does not look at either.
    ///
    /// In `.count` the marker was consumed before; in `.length` it is the first byte of the line.
    private mutating func number(
        _ input: UnsafeRawBufferPointer, _ offset: inout Int, tooLong: ProtocolError
    ) throws(ProtocolError) -> (marker: UInt8, number: Int?)? {
        let rest = UnsafeRawBufferPointer(rebasing: input[offset...])
        let carriageReturn = UInt8(ascii: "\r")
        let hasMarker = if case .length = state { 1 } else { 0 }
        if line.isEmpty, let end = rest.firstIndex(of: carriageReturn), end + 1 < rest.count {
            if end > limits.lineLength { throw tooLong }
            offset += end + 2
            let digits = UnsafeRawBufferPointer(rebasing: rest[min(hasMarker, end)..<end])
            return (rest[0], Decimal.parse(digits))
        }
        // The line is spread over several inputs: gather it byte for byte, which is rare and short.
        while offset < input.count {
            let byte = input[offset]
            offset += 1
            if line.last == carriageReturn {
                defer { line.removeAll(keepingCapacity: true) }
                let end = line.count - 1
                let parsed = line.withUnsafeBytes {
                    Decimal.parse(UnsafeRawBufferPointer(rebasing: $0[min(hasMarker, end)..<end]))
                }
                return (line[0], parsed)
            }
            line.append(byte)
            if line.count > limits.lineLength, byte != carriageReturn { throw tooLong }
        }
        return nil
    }
}
