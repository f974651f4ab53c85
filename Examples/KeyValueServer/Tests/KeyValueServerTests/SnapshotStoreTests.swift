import Dispatch
import XCTest

@testable import KeyValueServer

final class SnapshotStoreTests: XCTestCase {
    private func key(_ text: String) -> Key { Key(Array(text.utf8)) }

    /// Inside the section of a writer, where any lock would never be given.
    func testReadingTakesNoLock() {
        let store = SnapshotStore(Shard())
        let key = key("a")
        _ = store.apply(.set([1], SetOptions(expiry: .at(1500))), key, now: 0)
        store.withShard(.command) { shard in
            XCTAssertEqual(store.apply(.get, key, now: 0), .bulk([1]))
            XCTAssertEqual(store.apply(.exists, key, now: 0), .integer(1))
            XCTAssertEqual(store.apply(.length, key, now: 0), .integer(1))
            XCTAssertEqual(store.apply(.timeLeft(unit: .milliseconds), key, now: 0), .integer(1500))
            XCTAssertEqual(store.apply(.get, self.key("b"), now: 0), .null)
            // What is changed is seen at once.
            shard.store(key, [2])
            XCTAssertEqual(store.apply(.get, key, now: 0), .bulk([2]))
            _ = shard.exchange(with: Shard())
            XCTAssertEqual(store.apply(.get, key, now: 0), .null)
            shard.store(key, [3])
            XCTAssertEqual(store.apply(.get, key, now: 0), .bulk([3]))
        }
    }

    func testAReadOfWhatHasExpiredRemovesIt() {
        let store = SnapshotStore(Shard())
        _ = store.apply(.set([1], SetOptions(expiry: .at(10))), key("a"), now: 0)
        XCTAssertEqual(store.apply(.get, key("a"), now: 9), .bulk([1]))
        XCTAssertEqual(store.apply(.get, key("a"), now: 10), .null)
        XCTAssertEqual(store.withShard(.command) { $0.count }, 0)
    }

    /// Every reply is that of a store in which all access is exclusive, and what readers see is what writers have.
    func testItAnswersAsAnExclusiveStore() {
        let store = SnapshotStore(Shard())
        let model = MutexStore(Shard())
        var generator = SystemRandomNumberGenerator()
        let keys = (0..<40).map { key("k\($0)") }
        for step in 0..<40_000 {
            let key = keys.randomElement(using: &generator)!
            let now = step / 10
            switch Int.random(in: 0..<400, using: &generator) {
            case 0:
                for shard in [
                    store.withShard(.sweep) { $0.exchange(with: Shard()) },
                    model.withShard(.sweep) { $0.exchange(with: Shard()) },
                ] {
                    var shard = shard
                    while shard.dropBucket() {}
                }
            case 1...20:
                let removed = store.withShard(.sweep) {
                    $0.removeExpired(from: 0, limit: .max, maximum: Shard.bucketCount, now: now).removed.count
                }
                let expected = model.withShard(.sweep) {
                    $0.removeExpired(from: 0, limit: .max, maximum: Shard.bucketCount, now: now).removed.count
                }
                XCTAssertEqual(removed, expected)
            default:
                let operation = randomOperation(step, now: now, &generator)
                let reply = store.apply(operation, key, now: now)
                XCTAssertEqual(reply, model.apply(operation, key, now: now), "\(operation) at step \(step)")
                let value = store.value(of: key, now: now)
                XCTAssertEqual(value?.kind, model.value(of: key, now: now)?.kind)
                XCTAssertEqual(value?.list.map(Array.init), model.value(of: key, now: now)?.list.map(Array.init))
            }
        }
        for key in keys {
            XCTAssertEqual(store.apply(.get, key, now: 4000), model.apply(.get, key, now: 4000))
            XCTAssertEqual(
                store.apply(.get, key, now: 4000),
                store.withShard(.command) { KeyOperation.get.apply(to: &$0, key, now: 4000) })
        }
    }

    private func randomOperation(_ step: Int, now: Int, _ generator: inout SystemRandomNumberGenerator) -> KeyOperation
    {
        let deadline = now + Int.random(in: 0..<60, using: &generator)
        let operations: [KeyOperation] = [
            .get, .exists, .length, .type, .timeLeft(unit: .milliseconds), .delete, .persist, .add(step), .append([7]),
            .set(Decimal.text(step), SetOptions()), .set([1], SetOptions(condition: .ifAbsent)),
            .set([2], SetOptions(condition: .ifPresent, expiry: .keep)),
            .set([3], SetOptions(expiry: .at(deadline + 1), returnsOld: true)),
            .expire(at: deadline, []), .expire(at: deadline, .ifNone),
            .push([[1], [2], [3]], .front), .push([[4]], .back), .pop(.front, count: 2), .pop(.back, count: nil),
            .listLength, .range(ListRange(first: -2, last: -1)), .getIfString,
        ]
        return operations.randomElement(using: &generator)!
    }

    func testConcurrentAdditionsAreAllKeptAndNoReaderSeesThemGoBack() {
        let store = SnapshotStore(Shard())
        let key = key("n")
        let writers = 3
        let additions = 20_000
        DispatchQueue.concurrentPerform(iterations: writers + 3) { thread in
            if thread < writers {
                for _ in 0..<additions { _ = store.apply(.add(1), key, now: 0) }
            } else {
                var last = 0
                for _ in 0..<additions {
                    guard case .bulk(let text) = store.apply(.get, key, now: 0) else { continue }
                    let value = Decimal.parse(text) ?? -1
                    XCTAssertGreaterThanOrEqual(value, last)
                    last = value
                }
            }
        }
        XCTAssertEqual(store.apply(.get, key, now: 0), .bulk(Decimal.text(writers * additions)))
    }

    /// A flush replaces the dictionary below the readers, and frees the old one while they may still be in it.
    func testReadersAreUnharmedByFlushes() {
        let store = SnapshotStore(Shard())
        let keys = (0..<200).map { key("k\($0)") }
        DispatchQueue.concurrentPerform(iterations: 3) { thread in
            for round in 0..<400 {
                if thread == 0 {
                    for key in keys { _ = store.apply(.set(key.bytes, SetOptions()), key, now: 0) }
                    var old = store.withShard(.sweep) { $0.exchange(with: Shard()) }
                    while old.dropBucket() {}
                } else {
                    for key in keys {
                        let reply = store.apply(.get, key, now: 0)
                        XCTAssertTrue(reply == .null || reply == .bulk(key.bytes), "round \(round)")
                    }
                }
            }
        }
        XCTAssertTrue(keys.allSatisfy { store.apply(.get, $0, now: 0) == .null })
        XCTAssertEqual(store.withShard(.command) { $0.count }, 0)
    }
}
