/// What an ordered queue does about work that it refuses.
enum OrderedRefusal {
    /// True for accepted work; else false after a report.
    static func report(_ error: OrderedQueueError?, _ subject: @autoclosure () -> String) -> Bool {
        guard let error else { return true }
        let kind: SyncDiagnostics.Report.Kind = error == .full ? .refusedWhenFull : .refusedAfterClose
        let message = "work was refused, and released without having run: the queue \(reason(error))"
        SyncDiagnostics.report(kind, subject: subject(), message: message)
        return false
    }

    /// Where neither a value nor an error can be given.
    static func stop(_ error: OrderedQueueError, _ subject: String, _ call: String) -> Never {
        switch error {
        case .wouldDeadlock: fatalError("\(subject): \(call) was called in work of the same queue, for whose end it would wait")
        default: fatalError("\(subject): \(call): the queue \(reason(error))")
        }
    }

    static func orStop<T>(_ subject: @autoclosure () -> String, _ call: String, _ body: () throws(OrderedQueueError) -> T) -> T {
        do { return try body() } catch { stop(error, subject(), call) }
    }

    private static func reason(_ error: OrderedQueueError) -> String {
        error == .full ? "is full" : "was shut down"
    }
}
