import Glibc
import Testing

/// How long a wait may take before it counts as a hang: see `endsInTime`.
private let longestWait = Duration.seconds(600)

/// Yields until `condition` holds; fails the test where it hangs.
func waitUntil(
    _ what: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation, _ condition: () -> Bool
) {
    let start = ContinuousClock.now
    while !condition() {
        if ContinuousClock.now - start > longestWait {
            Issue.record(what ?? "what the test waits for did not happen", sourceLocation: sourceLocation)
            return
        }
        sched_yield()
    }
}

/// The same from a task: gives up its thread between looks, so that the tasks and blocks that the test waits for can
/// have it.
func waitUntil(
    _ what: Comment? = nil, isolation: isolated (any Actor)? = #isolation,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () -> Bool
) async {
    let start = ContinuousClock.now
    while !condition() {
        if ContinuousClock.now - start > longestWait {
            Issue.record(what ?? "what the test waits for did not happen", sourceLocation: sourceLocation)
            return
        }
        await Task.yield()
    }
}
