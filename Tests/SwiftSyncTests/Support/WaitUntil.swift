import Glibc
import Testing

/// Yields until `condition` holds; fails the test after ten seconds.
func waitUntil(
    _ what: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation, _ condition: () -> Bool
) {
    let start = ContinuousClock.now
    while !condition() {
        if ContinuousClock.now - start > .seconds(10) {
            Issue.record(what ?? "what the test waits for did not happen", sourceLocation: sourceLocation)
            return
        }
        sched_yield()
    }
}
