/// Why a timed update of a ``Snapshot`` did not happen.
///
/// ```swift
/// let routes = Snapshot(["/": "index"])
/// do {
///     try routes.update(timeout: .milliseconds(5)) { $0["/about"] = "about" }
/// } catch .timedOut {
///     print("others update it all the time")
/// } catch .wouldDeadlock {
///     print("this thread is updating it already")
/// }
/// ```
public enum SnapshotError: String, SyncError, CaseIterable {
    /// The timeout passed while others were updating. It never passes early.
    case timedOut
    /// The calling thread is inside an update of the same snapshot.
    case wouldDeadlock
}
