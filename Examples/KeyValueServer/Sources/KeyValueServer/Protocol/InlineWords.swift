/// Splits an inline request into words, by the quoting rules of Redis.
///
/// Between double quotes, `\n \r \t \b \a`, `\xHH` and a backslash before any other byte are escapes; between single
/// quotes, only `\'` is. A closing quote must be followed by a blank or by the end.
enum InlineWords {
    /// Nil when a quote is left open, or closed in the middle of a word.
    static func split(_ line: [UInt8]) -> Request? {
        var words: Request = []
        var index = 0
        // Redis handles the line as a C string.
        let end = line.firstIndex(of: 0) ?? line.count
        while true {
            while index < end, isBlank(line[index]) { index += 1 }
            if index == end { return words }
            guard let word = word(line[..<end], &index) else { return nil }
            words.append(word)
        }
    }

    private static func word(_ line: ArraySlice<UInt8>, _ index: inout Int) -> [UInt8]? {
        var word: [UInt8] = []
        while index < line.endIndex, !isBlank(line[index]) {
            let byte = line[index]
            index += 1
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                guard quoted(line, &index, by: byte, into: &word) else { return nil }
                return index == line.endIndex || isBlank(line[index]) ? word : nil
            }
            word.append(byte)
        }
        return word
    }

    private static func quoted(
        _ line: ArraySlice<UInt8>, _ index: inout Int, by quote: UInt8, into word: inout [UInt8]
    ) -> Bool {
        let allowsEscapes = quote == UInt8(ascii: "\"")
        while index < line.endIndex {
            let byte = line[index]
            index += 1
            if byte == quote { return true }
            guard byte == UInt8(ascii: "\\"), index < line.endIndex else {
                word.append(byte)
                continue
            }
            let next = line[index]
            if !allowsEscapes {
                if next == quote { index += 1 }
                word.append(next == quote ? quote : byte)
            } else if next == UInt8(ascii: "x"), index + 2 < line.endIndex,
                let high = hexDigit(line[index + 1]), let low = hexDigit(line[index + 2])
            {
                word.append(high << 4 | low)
                index += 3
            } else {
                word.append(escaped(next))
                index += 1
            }
        }
        return false
    }

    private static func escaped(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "a"): 0x07
        default: byte
        }
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0D).contains(byte)
    }
}
