import CSyncKernel

/// Passes on to ``SyncDiagnostics`` what the kernel finds out by itself: a holder that has ended.
enum KernelReports {
    /// Whoever makes a gate touches this. A reporter that C code of the program had set before stays.
    static let arePassedOn: Void = {
        if let earlier = csk_set_reporter(passOn) { csk_set_reporter(earlier) }
    }()

    private static let passOn: csk_reporter_t = { event in
        guard let event, event.pointee.kind == UInt32(CSK_EVENT_HOLDER_ENDED) else { return }
        let address = String(UInt(bitPattern: event.pointee.object), radix: 16)
        let seconds = Double(event.pointee.waited_ns / 100_000_000) / 10
        SyncDiagnostics.report(
            .holderEnded, subject: "lock at 0x\(address)",
            message: "the thread that holds it has ended, so it will never be released; this thread has waited for \(seconds) s")
    }
}
