/// Lists of random numbers for `SORT`, the same in each run.
///
/// There are several, so that those who sort at once don't count references to the same elements.
struct Numbers: Sendable {
    static let lists = 16

    let length: Int

    static func name(_ index: Int) -> String { "numbers:\(index % lists)" }

    /// Ten numbers of the whole list's order: the time goes into the sorting, not into the reply.
    static func sort(_ index: Int) -> [UInt8] { Connection.request("SORT", name(index), "LIMIT", "0", "10") }

    /// Puts the list there, in the place of what was.
    func write(_ index: Int, over connection: Connection) throws {
        try connection.send(Connection.request("DEL", Numbers.name(index)))
        try connection.receive()
        // Knuth's generator, of which the upper bits are good.
        var state = UInt64(index + 1)
        var left = length
        while left > 0 {
            let step = min(left, 500)
            let numbers = (0..<step).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return String(state >> 34)
            }
            try connection.send(Connection.request(["RPUSH", Numbers.name(index)] + numbers))
            try connection.receive()
            left -= step
        }
    }
}
