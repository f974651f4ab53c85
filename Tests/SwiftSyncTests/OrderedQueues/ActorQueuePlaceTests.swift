import Glibc
import Testing

@testable import SwiftSync

/// Places of tasks among work that suspends, from several producers at once: none begins before what its producer has
/// submitted before.
///
/// A short form; `SWIFTSYNC_PLACES=1000000` makes as many.
@Suite(.endsInTime)
struct ActorQueuePlaceTests {
    private actor Counts {
        private var begun = [Int](repeating: 0, count: 8)
        private(set) var overtakings = 0

        func begin(_ producer: Int) { begun[producer] += 1 }

        func expect(_ count: Int, of producer: Int) {
            if begun[producer] != count { overtakings += 1 }
        }
    }

    /// Producers on threads of their own: those of the pool run the pumps.
    @Test
    func noPlaceOvertakesWorkThatWasSubmittedBefore() async {
        let places = getenv("SWIFTSYNC_PLACES").flatMap { Int(String(cString: $0)) } ?? 4000
        let counts = Counts(), queue = ActorQueue<Counts>()
        queue.adoptExecutionContext(of: counts)
        await withTaskGroup(of: Void.self) { group in
            for producer in 0..<2 {
                group.addTask {
                    await withUnsafeContinuation { hasEnded in
                        onThread {
                            Self.produce(producer, places / 2, queue)
                            hasEnded.resume()
                        }
                    }
                }
            }
        }
        #expect(await counts.overtakings == 0, "of \(places) places")
    }

    private static func produce(_ producer: Int, _ places: Int, _ queue: ActorQueue<Counts>) {
        var submitted = 0, random = Seeded(UInt64(producer))
        let hasRun = Semaphore()
        for _ in 0..<places {
            for _ in 0..<4 {
                submitted += 1
                queue.enqueue { counts in
                    counts.begin(producer)
                    await Task.yield()
                }
            }
            // Some pumps later, while what they have taken out is not empty.
            for _ in 0..<Int.random(in: 0..<2000, using: &random) { _ = random.next() }
            let expected = submitted
            Task(on: queue) { counts in
                counts.expect(expected, of: producer)
                hasRun.signal()
            }
            hasRun.wait()
        }
    }
}
