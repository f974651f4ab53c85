#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// `SORT key [LIMIT offset count] [ASC|DESC] [ALPHA]`.
struct SortOptions: Sendable {
    var isDescending = false
    /// By bytes, instead of by the numbers that the elements are.
    var isAlphabetic = false
    var offset = 0
    /// Negative: all.
    var count = -1

    static func read(_ request: Request) -> Result<SortOptions, ArgumentProblem> {
        var options = SortOptions()
        var index = 2
        while index < request.count {
            let word = request[index]
            if word.hasName("asc") {
                options.isDescending = false
            } else if word.hasName("desc") {
                options.isDescending = true
            } else if word.hasName("alpha") {
                options.isAlphabetic = true
            } else if word.hasName("limit"), index + 2 < request.count {
                guard let offset = Decimal.parse(request[index + 1]), let count = Decimal.parse(request[index + 2])
                else { return .failure(.notAnInteger) }
                (options.offset, options.count) = (max(offset, 0), count)
                index += 2
            } else {
                return .failure(.syntax)
            }
            index += 1
        }
        return .success(options)
    }

    func reply(from list: Value.List) -> Reply {
        let elements = Array(list)
        guard let order = isAlphabetic ? alphabeticOrder(of: elements) : numericOrder(of: elements) else {
            return .failure("ERR One or more scores can't be converted into double")
        }
        let start = min(offset, order.count)
        let end = count < 0 ? order.count : start + min(count, order.count - start)
        // The other way round, equal ones included, as Redis does.
        let chosen = isDescending ? Array(order.reversed()[start..<end]) : Array(order[start..<end])
        return .array(chosen.map { .bulk(elements[$0]) })
    }

    private func alphabeticOrder(of elements: [[UInt8]]) -> [Int]? {
        elements.indices.sorted { elements[$0].lexicographicallyPrecedes(elements[$1]) }
    }

    private struct Scored {
        var score: Double
        var index: Int
    }

    /// Nil if one of them is no number. Equal numbers are ordered by their bytes.
    private func numericOrder(of elements: [[UInt8]]) -> [Int]? {
        var scored: [Scored] = []
        scored.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            guard let score = SortOptions.score(of: element) else { return nil }
            scored.append(Scored(score: score, index: index))
        }
        scored.sort { left, right in
            if left.score != right.score { return left.score < right.score }
            return elements[left.index].lexicographicallyPrecedes(elements[right.index])
        }
        return scored.map(\.index)
    }

    /// A number as C's `strtod` reads it, as in Redis.
    private static func score(of element: [UInt8]) -> Double? {
        if let integer = Decimal.parse(element) { return Double(integer) }
        return (element + [0]).withUnsafeBytes { bytes in
            let text = bytes.assumingMemoryBound(to: CChar.self)
            var end: UnsafeMutablePointer<CChar>?
            errno = 0
            let score = strtod(text.baseAddress!, &end)
            guard errno != ERANGE, !score.isNaN, let end,
                end - UnsafeMutablePointer(mutating: text.baseAddress!) == element.count
            else { return nil }
            return score
        }
    }
}
