/// Patterns as in `KEYS` and `SCAN MATCH`: `*`, `?`, `[abc]`, `[a-z]`, `[^a]`, and a backslash before a byte that is
/// meant literally.
///
/// Unlike a recursive matcher, this one only ever goes back to the last `*`, so its time is bounded by the product of
/// the two lengths and no pattern can make it explode.
public struct Glob: Sendable {
    private enum Element: Sendable {
        case any
        case one
        case literal(UInt8)
        case oneOf([ClosedRange<UInt8>], negated: Bool)

        func matches(_ byte: UInt8) -> Bool {
            switch self {
            case .any: false
            case .one: true
            case .literal(let expected): byte == expected
            case .oneOf(let ranges, let negated): ranges.contains { $0.contains(byte) } != negated
            }
        }
    }

    private let elements: [Element]
    private let ignoringCase: Bool

    /// Whether every text matches.
    public let matchesAll: Bool

    public init(_ pattern: [UInt8], ignoringCase: Bool = false) {
        self.ignoringCase = ignoringCase
        elements = Glob.compile(ignoringCase ? pattern.map(Glob.lowercased) : pattern)
        if elements.count == 1, case .any = elements[0] { matchesAll = true } else { matchesAll = false }
    }

    public func matches(_ text: [UInt8]) -> Bool {
        if matchesAll { return true }
        var position = 0
        var element = 0
        /// Where to go on when the elements behind the last `*` did not fit.
        var retry: (element: Int, position: Int)?
        while position < text.count {
            if element < elements.count {
                if case .any = elements[element] {
                    element += 1
                    retry = (element, position)
                    continue
                }
                if elements[element].matches(ignoringCase ? Glob.lowercased(text[position]) : text[position]) {
                    element += 1
                    position += 1
                    continue
                }
            }
            guard let last = retry else { return false }
            position = last.position + 1
            element = last.element
            retry = (element, position)
        }
        return elements[element...].allSatisfy { if case .any = $0 { true } else { false } }
    }

    private static func compile(_ pattern: [UInt8]) -> [Element] {
        var elements: [Element] = []
        var index = 0
        while index < pattern.count {
            let byte = pattern[index]
            index += 1
            switch byte {
            case UInt8(ascii: "*"):
                if case .any? = elements.last { continue }
                elements.append(.any)
            case UInt8(ascii: "?"):
                elements.append(.one)
            case UInt8(ascii: "["):
                elements.append(byteClass(pattern, &index))
            case UInt8(ascii: "\\") where index < pattern.count:
                elements.append(.literal(pattern[index]))
                index += 1
            default:
                elements.append(.literal(byte))
            }
        }
        return elements
    }

    /// Reads a class from behind its `[`. Like in Redis, one that is not closed reaches to the end of the pattern.
    private static func byteClass(_ pattern: [UInt8], _ index: inout Int) -> Element {
        var ranges: [ClosedRange<UInt8>] = []
        let negated = index < pattern.count && pattern[index] == UInt8(ascii: "^")
        if negated { index += 1 }
        while index < pattern.count, pattern[index] != UInt8(ascii: "]") {
            if pattern[index] == UInt8(ascii: "\\"), index + 1 < pattern.count {
                ranges.append(pattern[index + 1]...pattern[index + 1])
                index += 2
            } else if index + 2 < pattern.count, pattern[index + 1] == UInt8(ascii: "-") {
                let (first, last) = (pattern[index], pattern[index + 2])
                ranges.append(min(first, last)...max(first, last))
                index += 3
            } else {
                ranges.append(pattern[index]...pattern[index])
                index += 1
            }
        }
        index = min(index + 1, pattern.count)
        return .oneOf(ranges, negated: negated)
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }
}
