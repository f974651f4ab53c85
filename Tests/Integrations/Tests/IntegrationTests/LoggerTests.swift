import Logging
import SwiftSync
import Synchronization
import Testing

/// Reports in a logger of swift-log.
@Suite(.timeLimit(.minutes(1)))
struct LoggerTests {
    private final class Kept: LogHandler, Sendable {
        let lines = Mutex<[(level: Logger.Level, message: String, metadata: Logger.Metadata)]>([])
        var metadata: Logger.Metadata {
            get { [:] }
            set {}
        }
        var logLevel: Logger.Level {
            get { .trace }
            set {}
        }
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { nil }
            set {}
        }
        func log(event: LogEvent) {
            lines.withLock { $0.append((event.level, "\(event.message)", event.metadata ?? [:])) }
        }
    }

    @Test func reportsAreLogged() throws {
        let kept = Kept(), queue = WorkQueue(name: "jobs of the logger")
        SyncDiagnostics.setLogger(Logger(label: "sync") { _ in kept }, level: .error)
        defer { SyncDiagnostics.setLogger(nil) }
        queue.shutdown()
        #expect(!queue.async {})
        let lines = kept.lines.withLock { $0 }.filter { $0.message.contains("jobs of the logger") }
        let line = try #require(lines.first)
        #expect(lines.count == 1)
        #expect(line.level == .error)
        #expect(line.message.hasPrefix("refused after shutdown: "))
        #expect(line.metadata["sync.kind"] == "refused after shutdown")
        #expect(line.metadata["sync.subject"].map { "\($0)" }?.contains("jobs of the logger") == true)
    }
}
