import CSyncKernel

extension SyncDiagnostics {
    /// Sets after how long a read of a ``Snapshot`` or ``SnapshotDictionary`` is reported (`memoryWaits`), if replaced
    /// memory waits for it. The default is a second.
    ///
    /// A thread of the library checks, once something was replaced. Reads cost nothing for it. Each standstill is
    /// reported once, at latest after one and a half times the limit, and once more when it has ended. It never blocks.
    ///
    /// - Parameter limit: a time of less than a millisecond counts as one. Nil: no read is reported. If reports were
    ///   off from the start, a read for which memory waits already is not reported.
    public static func watchesReads(longerThan limit: Duration?) {
        KernelReports.arePassedOn
        let nanoseconds = limit.map { max(Deadline.nanoseconds(in: $0) ?? Int64.max, 1_000_000) }
        csk_rcu_report_after(nanoseconds ?? Int64.max)
    }
}
