@testable import SwiftSync

/// Runs `body` while tasks are listed for views.
func listingTasks<T>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> T
) async rethrows -> T {
    SyncInspector.listsTasks(true)
    defer { SyncInspector.listsTasks(false) }
    return try await body()
}

extension InspectionReport {
    /// Whether the view has all. On a busy machine one leaves out what it has no time to read, and says so.
    var isWhole: Bool { !isMissing && !isIncomplete && leftOutCount == 0 }

    /// The first view that has all.
    static func whole() async -> InspectionReport {
        var view = SyncInspector.report()
        while !view.isWhole {
            await Task.yield()
            view = SyncInspector.report()
        }
        return view
    }
}
