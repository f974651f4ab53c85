import CSyncKernel

/// The limit on how often a waiter may be overtaken.
///
/// Users give a number or nil. 0 is strict priority. Nil is a limit of 64 for waiters without a named priority, and
/// strict priority for the others.
enum BypassLimit {
    /// The kernel's encoding of the limit.
    static func ofKernel(_ limit: UInt32?) -> UInt32 {
        guard let limit else { return 0 }
        return limit == 0 ? .max : limit
    }
}

/// The number of waiters that are admitted.
enum WaitersLimit {
    /// The kernel's encoding of the limit, in which 0 is any number. It returns nil for a number below 1.
    static func ofKernel(_ limit: Int?) -> UInt32? {
        guard let limit else { return 0 }
        return limit < 1 ? nil : UInt32(exactly: limit) ?? 0
    }
}
