import CSyncKernel
import Dispatch

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The key that only the main queue has, whichever thread runs its blocks. The main actor's blocks are among them.
private let isMainQueue = DispatchSpecificKey<Bool>()

extension SyncDiagnostics {
    /// Reports each task that blocks its thread for 100 ms or longer at an object of this library (`longWait`), once
    /// for each such wait: the thread is one of the few that all tasks share, or the main actor's. A wait of the main
    /// actor is reported as such: "the main actor, which must not block, has waited". A thread of the library reports
    /// it, even while all others are stuck. False ends the reports.
    ///
    /// A task that runs on an executor of its own, such as a `WorkQueue`, is reported too, though it may block. A wait
    /// that doesn't park its thread costs nothing for this; one that does checks whether it is in a task. It never
    /// blocks.
    ///
    /// - Throws: ``ObservationError/outOfResources`` where the thread can't be started.
    public static func watchesTasks(_ watches: Bool) throws(ObservationError) {
        KernelReports.arePassedOn
        DispatchQueue.main.setSpecific(key: isMainQueue, value: true)
        let status = csk_thread_mark_by(
            watches
                ? {
                    guard unsafe withUnsafeCurrentTask(body: { unsafe $0 != nil }) else {
                        return UInt32(CSK_THREAD_PLAIN)
                    }
                    // The main thread, or the one that serves the main queue in its place: after `dispatchMain` the
                    // main thread has ended, on Linux. (The number is the system's.)
                    let isMain = csk_thread_id() == getpid() || DispatchQueue.getSpecific(key: isMainQueue) == true
                    return UInt32(isMain ? CSK_THREAD_MAIN : CSK_THREAD_COOPERATIVE)
                } : nil)
        if status != 0 { throw .outOfResources }
    }

    /// Sets whether the calling thread must not block, such as the thread of an event loop. If so, each of its waits of
    /// 100 ms or longer is reported (`longWait`), until the thread ends or unsets this. It never blocks.
    ///
    /// - Throws: ``ObservationError/outOfResources``.
    public static func markThread(mustNotBlock: Bool) throws(ObservationError) {
        KernelReports.arePassedOn
        if csk_thread_mark(UInt32(mustNotBlock ? CSK_THREAD_EVENT_LOOP : CSK_THREAD_PLAIN)) != 0 {
            throw .outOfResources
        }
    }
}
