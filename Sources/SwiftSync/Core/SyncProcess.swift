import CSyncKernel

/// Decisions that hold for the whole process.
public enum SyncProcess {
    /// Makes the library do without the system call `membarrier`, for a process whose sandbox refuses it later.
    ///
    /// ```swift
    /// print(SyncProcess.avoidMembarrier())    // first of all; then set up the filter of system calls
    /// ```
    ///
    /// Otherwise each lock queries the system at its first use, and relies on the answer from then on. After this call
    /// locks have a form with a second locked instruction, read-write locks have no reader bias, and reading a
    /// `Snapshot` is a call. It never blocks, and may be called from anywhere, any number of times.
    ///
    /// - Returns: false if an object that relies on `membarrier` was used already. Then nothing changes.
    public static func avoidMembarrier() -> Bool { csk_avoid_membarrier() == 0 }
}
