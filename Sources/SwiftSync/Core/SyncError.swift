/// An error of this library.
///
/// ```swift
/// let queue = WorkQueue(name: "jobs")
/// do {
///     try await queue.run(timeout: .milliseconds(5)) { print("my turn") }
/// } catch let error as any SyncError where error.reason == .timedOut {
///     print("busy")
/// }
/// ```
///
/// A conforming type is more specific than the reason: its cases are those that can happen with its object, so a
/// `switch` over them can be exhaustive. Your own errors may conform as well.
///
/// Other modules have a `SyncError` too, for instance RealmSwift. A file that imports both writes
/// `SwiftSync.SyncError`.
public protocol SyncError: Error {
    /// The reason, in terms shared by the errors of all objects.
    var reason: SyncErrorReason { get }
}
