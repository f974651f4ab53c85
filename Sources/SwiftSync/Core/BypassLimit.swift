import CSyncKernel

/// How often whoever waits may be overtaken.
///
/// What users give is a number or nil. 0 is strict priority. Nil is a limit of 64 for those whose priority nobody
/// named, and strict priority for the others.
enum BypassLimit {
    /// The kernel's word for it.
    static func ofKernel(_ limit: UInt32?) -> UInt32 {
        guard let limit else { return 0 }
        return limit == 0 ? .max : limit
    }
}
