import ArgumentParser
import KeyValueServer
import SwiftSync

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@main
struct KeyValueServerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kv-server",
        abstract: "An in-memory key-value store that speaks the Redis protocol.",
        discussion: "Stops on SIGTERM or SIGINT: commands in flight are answered, for at most five seconds.")

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on, or 0 for any that is free.")
    var port = 6379

    @Option(help: "How many parts the keyspace is split into, each protected by itself.")
    var shards = 16

    @Option(help: "How many threads serve connections (default: one for each core).")
    var threads: Int?

    @Option(help: "How many slow commands (KEYS, SCAN, FLUSHALL, DEBUG SLEEP) may wait; one more is answered -BUSY.")
    var slowLimit = 64

    @Option(help: "What protects the shards.")
    var store = StoreKind.swiftsync

    @Option(help: "How costly commands (SORT, and LRANGE of many) are admitted.")
    var admission = AdmissionKind.prioritysemaphore

    @Option(help: "How many costly commands run at once (default: one for each core).")
    var permits: Int?

    @Option(help: "A Unix socket that shows who waits for whom: it answers a line, text or json.")
    var inspect: String?

    @Flag(help: "Switches on what tells of waits: profile, metrics, lock order, deadlock watch, long waits of tasks.")
    var observe = false

    func validate() throws {
        guard (0...65535).contains(port) else { throw ValidationError("A port is a number from 0 to 65535.") }
        guard (1...4096).contains(shards) else { throw ValidationError("There can be 1 to 4096 shards.") }
        guard (1...1_000_000).contains(slowLimit) else {
            throw ValidationError("There can be 1 to 1000000 slow commands that wait.")
        }
        guard (1...1024).contains(threads ?? 1) else { throw ValidationError("There can be 1 to 1024 threads.") }
        guard (1...1024).contains(permits ?? 1) else { throw ValidationError("There can be 1 to 1024 permits.") }
    }

    func run() throws {
        // Before any thread is started, so that all of them leave these signals to this one.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGINT)
        pthread_sigmask(SIG_BLOCK, &signals, nil)

        var options = ServerOptions()
        options.host = host
        options.port = port
        options.shards = shards
        options.store = store
        options.slowLimit = slowLimit
        options.admission = admission
        if let permits { options.permits = permits }
        if let threads { options.threads = threads }
        // Before the server makes its locks: lock order is kept for those that begin later.
        if observe { try observeEverything() }
        if let inspect { try SyncInspector.serve(path: inspect) }
        defer { SyncInspector.stopServing() }
        let server = try Server.start(options)
        print(
            "ready on \(host):\(server.port) (store=\(store), shards=\(shards), threads=\(options.threads), "
                + "admission=\(admission), permits=\(options.permits))")
        fflush(nil)

        // Who is refused is told so by the answer; a line for each would make things worse.
        SyncDiagnostics.setHandler { if $0.kind != .refusedWhenFull { logToStandardError("SwiftSync: \($0)") } }
        var signal: Int32 = 0
        while sigwait(&signals, &signal) != 0 {}
        // Whoever insists gets the signal's own effect.
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        server.stop(within: .seconds(5))
    }
}

private func observeEverything() throws {
    try LockOrder.start()
    try ContentionProfile.start()
    try SyncMetrics.start()
    try DeadlockWatch.start()
    try SyncDiagnostics.watchesTasks(true)
    SyncInspector.listsTasks(true)
}

extension StoreKind: ExpressibleByArgument {}
extension AdmissionKind: ExpressibleByArgument {}
