import Glibc
import Testing

/// Yields until `condition` holds; fails the test after a minute, which is there to tell a hang.
func waitUntil(
    _ what: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation, _ condition: () -> Bool
) {
    let start = ContinuousClock.now
    while !condition() {
        if ContinuousClock.now - start > .seconds(60) {
            Issue.record(what ?? "what the test waits for did not happen", sourceLocation: sourceLocation)
            return
        }
        sched_yield()
    }
}

/// The same from a task: gives up its thread between looks, so that the tasks and blocks that the test waits for can have it.
func waitUntil(
    _ what: Comment? = nil, isolation: isolated (any Actor)? = #isolation, sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () -> Bool
) async {
    let start = ContinuousClock.now
    while !condition() {
        if ContinuousClock.now - start > .seconds(60) {
            Issue.record(what ?? "what the test waits for did not happen", sourceLocation: sourceLocation)
            return
        }
        await Task.yield()
    }
}
