import ArgumentParser

/// Finds the list whose sorting takes a given time on this machine.
struct Calibrate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints how long a list must be for a SORT of it to take so long on a server that is idle.")

    @Option(help: "The server's IPv4 address.")
    var host = "127.0.0.1"

    @Option(help: "The server's port.")
    var port: Int

    @Option(help: "The time that a SORT should take, in microseconds.")
    var microseconds = 1000

    func validate() throws {
        guard (10...1_000_000).contains(microseconds) else {
            throw ValidationError("A SORT can take 10 to 1000000 microseconds.")
        }
    }

    func run() throws {
        let connection = try Connection(host: host, port: port)
        let roundTrip = try time(ofLength: 1, connection)
        var length = 4000
        for _ in 0..<4 {
            let taken = max(try time(ofLength: length, connection) - roundTrip, 1000)
            // One wrong time must not lead far away.
            length = min(max(length * microseconds * 1000 / taken, length / 4, 10), 4 * length)
        }
        print(length)
    }

    /// The least time that a SORT takes, in nanoseconds, way there and back included: the one that nothing disturbed.
    private func time(ofLength length: Int, _ connection: Connection) throws -> Int {
        try Numbers(length: length).write(0, over: connection)
        let times = try (0..<41).map { _ in
            let start = monotonicNow()
            try connection.send(Numbers.sort(0))
            try connection.receive()
            return monotonicNow() - start
        }
        return times.min() ?? 0
    }
}
