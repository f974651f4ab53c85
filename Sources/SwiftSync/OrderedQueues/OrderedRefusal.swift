/// What an ordered queue does about work that it refuses.
enum OrderedRefusal {
    /// True for accepted work; else false after a report.
    static func report(_ error: OrderedQueueError?, _ subject: @autoclosure () -> String, capacity: Int?) -> Bool {
        guard let error else { return true }
        let kind: SyncDiagnostics.Report.Kind = error == .full ? .refusedWhenFull : .refusedAfterClose
        let reason = error == .full ? "is full" : "was shut down"
        SyncDiagnostics.report(
            kind, subject: subject(), message: "work was refused, and released without having run: the queue \(reason)",
            bound: error == .full ? capacity : nil)
        return false
    }

    /// Where neither a value nor an error can be given.
    static func stopWaitingForItself(_ subject: String, _ call: String) -> Never {
        fatalError("\(subject): \(call) was called in work of the same queue, for whose end it would wait")
    }

    /// For what the queue does not refuse.
    static func never<T>(_ body: () throws(OrderedQueueError) -> T) -> T {
        do { return try body() } catch { fatalError("SwiftSync: a call that can't be refused was refused: \(error)") }
    }
}
