import Testing

@testable import SwiftSync

/// What is left of work that was cancelled.
struct MainThreadPromiseTests {
    @Test func cancelledWorkOfTheMainThreadIsReleased() async {
        let alive = Shared()
        func start() -> DelayedWork {
            let tracked = Tracked(alive)
            return mainThread(delay: 3600) { withExtendedLifetime(tracked) {} }
        }
        do {
            let work = start()
            #expect(alive.value == 1)
            #expect(work.cancel())
            #expect(!work.cancel())
        }
        #expect(alive.value == 0)
    }

    @Test func cancelledWorkOfTheSharedQueueIsReleased() async {
        let alive = Shared()
        func start() -> DelayedWork {
            let tracked = Tracked(alive)
            return async(delay: 3600) { withExtendedLifetime(tracked) {} }
        }
        do {
            let work = start()
            #expect(work.cancel())
        }
        #expect(alive.value == 0)
    }
}
