import CSyncKernel

/// Decisions that hold for the whole process.
public enum SyncProcess {
    /// Has the process do without the system call `membarrier`, for one whose sandbox refuses it later.
    ///
    /// ```swift
    /// print(SyncProcess.avoidMembarrier())    // first of all; then set up the filter of system calls
    /// ```
    ///
    /// By itself each lock asks the system at its first use, and counts on the answer from then on. After this call
    /// locks have a form with a second locked instruction, read-write locks have no reader bias, and reading a
    /// `Snapshot` is a call. It never blocks, and may be called from anywhere, any number of times.
    ///
    /// - Returns: false where something of the library that counts on `membarrier` was used already. Then nothing
    ///   changes.
    public static func avoidMembarrier() -> Bool { csk_avoid_membarrier() == 0 }
}
