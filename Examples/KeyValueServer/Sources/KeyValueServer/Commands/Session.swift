import SwiftSync

/// What a connection remembers between its requests, and what commands may ask about the server.
struct Session: Sendable {
    /// The number `HELLO` reports.
    let id: Int
    let server: ServerFacts
    var version = ProtocolVersion.resp2
    var name: [UInt8] = []
    var priority = ClientPriority.normal

    /// The time at which the input arrived that is being worked on.
    var now: Milliseconds = 0

    /// The name of the command that was read last.
    var command: StaticString = ""
}

/// Facts for `INFO`, `CONFIG` and `HELLO`.
struct ServerFacts: Sendable {
    /// The server's own version.
    static let version = "1.0.0"
    /// The release of Redis whose replies are given.
    static let dialect = "7.0.15"
    static let name = "swiftsync-kv"

    var port: Int
    var store: StoreKind
    var shards: Int
    var threads: Int
    let costly: CostlyCommands
    var started: Milliseconds
    let statistics: Statistics
    let background: Background
    /// Read by every command, changed by `CONFIG SET`.
    let settings: Snapshot<Settings>
    let write: Log
}
