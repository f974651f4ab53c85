/// What an ordered queue does when it refuses work.
enum OrderedRefusal {
    /// Returns true for accepted work. For refused work it makes a report, and returns false.
    static func report(
        _ error: OrderedQueueError?, _ subject: @autoclosure () -> String, capacity: Int?,
        _ endText: @autoclosure () -> String
    ) -> Bool {
        guard let error else { return true }
        let kind: SyncDiagnostics.Report.Kind = error == .full ? .refusedWhenFull : .refusedAfterShutdown
        let reason = error == .full ? "the queue is full" : endText()
        SyncDiagnostics.report(
            kind, subject: subject(), message: "work was refused, and released without having run: \(reason)",
            bound: error == .full ? capacity : nil)
        return false
    }

    /// Stops the program in a call that can give neither a value nor an error.
    static func stopWaitingForItself(_ subject: String, _ call: String) -> Never {
        fatalError("\(subject): \(call) was called in work of the same queue, for whose end it would wait")
    }

    /// Calls `body`, which the queue never refuses.
    static func never<T>(_ body: () throws(OrderedQueueError) -> T) -> T {
        do { return try body() } catch { fatalError("SwiftSync: a call that can't be refused was refused: \(error)") }
    }
}
