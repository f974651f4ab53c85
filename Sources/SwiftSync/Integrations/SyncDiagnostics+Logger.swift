#if Logging

public import Logging

extension SyncDiagnostics {
    /// Writes each report to a logger of swift-log, instead of the standard error stream or a handler.
    ///
    /// ```swift
    /// SyncDiagnostics.setLogger(Logger(label: "sync"))
    /// ```
    ///
    /// The message is the report's ``Report/description``. Its kind and subject are metadata, `sync.kind` and
    /// `sync.subject`. Each refusal is logged: a slow logger slows down the refused callers. It may be called from any
    /// thread and never blocks for longer than another call of it. It needs the package's trait `Logging`.
    ///
    /// - Parameters:
    ///   - logger: the logger. Nil brings back the standard error stream.
    ///   - level: the level of all reports.
    public static func setLogger(_ logger: Logger?, level: Logger.Level = .warning) {
        guard let logger else { return setHandler(nil) }
        setHandler { report in
            logger.log(
                level: level, "\(report)",
                metadata: ["sync.kind": "\(report.kind.rawValue)", "sync.subject": "\(report.subject)"])
        }
    }
}

#endif
