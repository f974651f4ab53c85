import XCTest

@testable import KeyValueServer

final class ShardTests: XCTestCase {
    private func key(_ text: String) -> Key { Key(Array(text.utf8)) }

    private func finish<Job: SweepJob>(
        _ job: Job, over shards: inout [Shard], now: Int = 0, between: (inout [Shard], Int) -> Void = { _, _ in }
    ) -> (job: Job, steps: Int) {
        var job = job
        var steps = 0
        while let step = job.nextStep {
            job.absorb(step.visit(&shards[step.shard], now))
            steps += 1
            between(&shards, steps)
        }
        return (job, steps)
    }

    private func filled(_ count: Int, shards: Int) -> [Shard] {
        var result = Array(repeating: Shard(), count: shards)
        for index in 0..<count {
            let key = key("stays:\(index)")
            result[key.shard(of: shards)].store(key, [1])
        }
        return result
    }

    private func scanned(_ reply: Reply) -> (cursor: Int, keys: [[UInt8]])? {
        guard case .array(let parts) = reply, case .bulk(let cursor) = parts[0], case .array(let items) = parts[1]
        else {
            return nil
        }
        let keys = items.compactMap { item -> [UInt8]? in if case .bulk(let key) = item { key } else { nil } }
        return (Decimal.parse(cursor) ?? -1, keys)
    }

    func testAScanReturnsOnceWhateverWasThereAllTheTime() throws {
        var shards = filled(20_000, shards: 4)
        var cursor = 0
        var seen: [[UInt8]: Int] = [:]
        var changes = 0
        repeat {
            let request = ScanRequest(
                cursor: ScanCursor(UInt64(cursor)), match: Glob(Array("stays:*".utf8)), count: 100)
            let (job, _) = finish(ScanJob(shardCount: 4, request: request), over: &shards)
            let part = try XCTUnwrap(scanned(job.reply()))
            for key in part.keys { seen[key, default: 0] += 1 }
            cursor = part.cursor
            // Between two calls the dictionaries grow, are rehashed and shrink.
            for _ in 0..<200 {
                let added = key("comes:\(changes)")
                shards[added.shard(of: 4)].store(added, [])
                let removed = key("comes:\(changes - 300)")
                shards[removed.shard(of: 4)].remove(removed)
                changes += 1
            }
        } while cursor != 0
        XCTAssertEqual(seen.count, 20_000)
        XCTAssertTrue(seen.values.allSatisfy { $0 == 1 })
    }

    func testKeysVisitsInBoundedStepsAndFindsAll() {
        var shards = filled(20_000, shards: 2)
        let (job, steps) = finish(KeysJob(shardCount: 2, pattern: Glob(Array("*".utf8))), over: &shards) {
            shards, step in
            let added = self.key("comes:\(step)")
            shards[added.shard(of: 2)].store(added, [])
        }
        XCTAssertGreaterThan(steps, 20_000 / (2 * sweepStepSize))
        let reply = job.reply().map { String(buffer: $0) }.joined()
        for index in 0..<20_000 where index % 97 == 0 { XCTAssertTrue(reply.contains("stays:\(index)\r\n")) }
    }

    func testFlushTakesEverythingOutAndFreesItInParts() {
        var shards = filled(1000, shards: 2)
        var (job, steps) = finish(FlushJob(shardCount: 2), over: &shards)
        XCTAssertEqual(steps, 2)
        XCTAssertEqual(shards.map(\.count), [0, 0])
        var parts = 0
        while job.freeBucket() { parts += 1 }
        XCTAssertGreaterThanOrEqual(parts, 2 * Shard.bucketCount)
    }

    func testActiveExpiryRemovesExactlyWhatIsDue() {
        var shards = [Shard(), Shard()]
        for index in 0..<4000 {
            let key = key("\(index)")
            shards[key.shard(of: 2)].store(key, [], deadline: index % 2 == 0 ? 100 : index % 4 == 1 ? 101 : .max)
        }
        var removed = 0
        for round in 0..<ExpiryJob.rounds {
            removed += finish(ExpiryJob(shardCount: 2, round: round), over: &shards, now: 100).job.removed
        }
        XCTAssertEqual(removed, 2000)
        XCTAssertEqual(shards.reduce(0) { $0 + $1.count }, 2000)
        XCTAssertEqual(shards.reduce(0) { $0 + $1.expiring }, 1000)
    }

    func testAnEntryIsGoneAtItsDeadline() {
        var shard = Shard()
        shard.store(key("a"), [1], deadline: 10)
        XCTAssertNotNil(shard.entry(key("a"), now: 9))
        XCTAssertNil(shard.entry(key("a"), now: 10))
        XCTAssertEqual(shard.count, 0)
        XCTAssertEqual(shard.expiring, 0)
    }

    func testGlobs() {
        let cases: [(String, String, Bool)] = [
            ("*", "", true), ("", "", true), ("", "a", false), ("?", "a", true), ("?", "", false),
            ("h*llo", "heeello", true), ("h*llo", "hllo!", false), ("h[ae]llo", "hallo", true),
            ("h[ae]llo", "hillo", false),
            ("h[^e]llo", "hallo", true), ("h[^e]llo", "hello", false), ("h[b-a]llo", "hallo", true),
            ("h\\*llo", "h*llo", true),
            ("h\\*llo", "hello", false), ("[\\]]", "]", true), ("[", "[", false), ("[a", "a", true),
            ("a\\", "a\\", true),
            ("*a*b*c*", "xxaxxbxxcxx", true), ("*a*b*c*", "xxaxxcxxbxx", false), ("*?", "a", true), ("*?", "", false),
        ]
        for (pattern, text, expected) in cases {
            XCTAssertEqual(Glob(Array(pattern.utf8)).matches(Array(text.utf8)), expected, "\(pattern) \(text)")
        }
        XCTAssertTrue(Glob(Array("SA*".utf8), ignoringCase: true).matches(Array("save".utf8)))
        let hostile = Glob(Array((String(repeating: "a*", count: 60) + "b").utf8))
        XCTAssertFalse(hostile.matches(Array(repeating: UInt8(ascii: "a"), count: 2000)))
    }
}
