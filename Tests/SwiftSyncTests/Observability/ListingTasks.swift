@testable import SwiftSync

/// Runs `body` while tasks are listed for views.
func listingTasks<T>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> T
) async rethrows -> T {
    SyncInspector.listsTasks(true)
    defer { SyncInspector.listsTasks(false) }
    return try await body()
}
