/// Reports misuse that the library has survived: a completion that was called twice, work that came after a shutdown, a
/// timeout that is not a number. It also reports a lock whose holder's thread has ended. A thread that waits for that
/// lock makes this report.
///
/// Without a handler each report becomes one line on the standard error stream. A handler replaces the line:
///
/// ```swift
/// SyncDiagnostics.setHandler { report in
///     logger.warning("\(report)")
/// }
/// ```
///
/// The handler runs on the thread where the misuse happened, before the call at fault returns, and never while the
/// library holds a lock of its own. Reports of waits (`deadlock`, `longWait`, `queueStalled`, `memoryWaits`) come on a
/// thread of the library. The handler may use every type of this library, except a lock or queue that the report is
/// about, or one behind which it would wait for these: after `holderEnded` it would wait for ever, and a report of
/// waits would block the thread that detects the next. If the handler itself causes a report on the same thread, that
/// report is not passed to it again, but written to the standard error stream.
///
/// Refusals (`refusedWhenFull`, `refusedAfterShutdown`) are backpressure rather than misuse, and come at each refused
/// call. A handler gets each refusal. The standard error stream gets the first of an object, and then at most one line
/// a second, which gives their number since the previous line. If more than 256 objects refuse within one second, the
/// others share a line.
public enum SyncDiagnostics {
    /// Replaces what is called for each report. Nil brings back the line on the standard error stream.
    ///
    /// It may be called from any thread, and from a handler. It does not block for longer than another thread's call of
    /// this function. A report that is being made on another thread at the same moment may still reach the handler that
    /// was set before.
    public static func setHandler(_ handler: (@Sendable (Report) -> Void)?) {
        HandlerSlot.shared.replace(with: handler)
    }

    /// Makes a report. It runs the handler on the calling thread. The caller holds no lock.
    ///
    /// - Parameter bound: for a refusal, the bound at which nothing more fitted.
    @usableFromInline
    package static func report(
        _ kind: Report.Kind, subject: String, message: @autoclosure () -> String, bound: Int? = nil
    ) {
        HandlerSlot.shared.deliver(kind, subject: subject) {
            let message = message()
            return Report(kind: kind, subject: subject, message: bound.map { "\(message) (bound: \($0))" } ?? message)
        }
    }
}
