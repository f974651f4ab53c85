/// Decimal integers as Redis reads them: no sign but a minus, no leading zero, no blank, nothing behind.
public enum Decimal {
    /// Longest text of a 64-bit integer: `-9223372036854775808`.
    static let longest = 20

    public static func parse(_ text: some Collection<UInt8>) -> Int? {
        guard let first = text.first, text.count <= longest else { return nil }
        if first == UInt8(ascii: "0") { return text.count == 1 ? 0 : nil }
        let isNegative = first == UInt8(ascii: "-")
        let digits = isNegative ? text.dropFirst() : text[...]
        guard let leading = digits.first, leading != UInt8(ascii: "0") else { return nil }
        // Summed below zero, where one more value fits than above.
        var value = 0
        for digit in digits {
            guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return nil }
            let (scaled, tooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, tooLow) = scaled.subtractingReportingOverflow(Int(digit - UInt8(ascii: "0")))
            guard !tooLarge, !tooLow else { return nil }
            value = sum
        }
        if isNegative { return value }
        return value == .min ? nil : -value
    }

    /// The text of `value`, made without a `String`.
    public static func text(_ value: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: longest) { buffer, count in
            var start = longest
            var rest = value.magnitude
            repeat {
                start -= 1
                buffer[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if value < 0 {
                start -= 1
                buffer[start] = UInt8(ascii: "-")
            }
            count = longest - start
            for index in 0..<count { buffer[index] = buffer[start + index] }
        }
    }
}
