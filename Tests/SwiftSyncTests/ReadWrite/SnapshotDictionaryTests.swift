import CSyncKernel
import Testing

@testable import SwiftSync

@Suite(.endsInTime)
struct SnapshotDictionaryTests {
    private enum Failure: Error { case expected }

    /// Keys of which four have one hash.
    private struct Colliding: Hashable, Sendable {
        let number: Int
        func hash(into hasher: inout Hasher) { hasher.combine(number / 4) }
    }

    private func behavesAsADictionary<Key: Hashable & Sendable>(_ key: (Int) -> Key) {
        let tested = SnapshotDictionary<Key, Int>()
        var expected: [Key: Int] = [:], random = SystemRandomNumberGenerator()
        for round in 0..<5000 {
            let key = key(Int.random(in: 0..<64, using: &random))
            switch Int.random(in: 0..<6, using: &random) {
            case 4:
                #expect(tested.insertValue(round, forKey: key) == expected[key])
                if expected[key] == nil { expected[key] = round }
            case 3:
                #expect(
                    tested.update(forKey: key, default: round) {
                        $0 += 1; return $0
                    } == expected[key, default: round] + 1)
                expected[key, default: round] += 1
            case 0: #expect(tested.updateValue(round, forKey: key) == expected.updateValue(round, forKey: key))
            case 1: #expect(tested.removeValue(forKey: key) == expected.removeValue(forKey: key))
            case 2: #expect(tested[key] == expected[key])
            default: #expect(tested.read(key) { $0 + 1 } == expected[key].map { $0 + 1 })
            }
            #expect(tested.count == expected.count)
        }
        #expect(tested.current == expected)
        tested.removeAll()
        #expect(tested.isEmpty)
        #expect(tested.current.isEmpty)
    }

    @Test func itBehavesAsADictionary() { behavesAsADictionary { $0 } }
    @Test func keysWithOneHashAreToldApart() { behavesAsADictionary { Colliding(number: $0) } }
    @Test func keysMayBeStrings() { behavesAsADictionary { "a key that is longer than what fits in place: \($0)" } }

    @Test
    func subscriptsAndThrows() {
        let ages = SnapshotDictionary(["anna": 30, "ben": 20])
        ages.updateValue(10, forKey: "carl")
        ages.removeValue(forKey: "ben")
        #expect(ages.current == ["anna": 30, "carl": 10])
        #expect(throws: Failure.expected) { try ages.read("anna") { (_) throws(Failure) in throw .expected } }
        #expect(throws: Failure.expected) { try ages.forEach { (_, _) throws(Failure) in throw .expected } }
        #expect(!csk_rcu_is_reading())
        var sum = 0
        ages.forEach { sum += $1 }
        #expect(sum == 40)
    }

    @Test
    func ofThreadsThatInsertAtOnceOneDoesAndAllGetItsValue() {
        let alive = Shared(0)
        do {
            let dictionary = SnapshotDictionary<Int, Tracked>()
            let inserted = Shared(0)
            Threads.run(4) { thread in
                for key in 0..<500 {
                    let value = Tracked(alive, number: thread)
                    let earlier = dictionary.insertValue(value, forKey: key)
                    if earlier == nil { inserted.increment() }
                    #expect(dictionary[key] === (earlier ?? value))
                }
            }
            #expect(inserted.value == 500 && dictionary.count == 500)
            // Values that were not inserted wait for no grace period.
            #expect(alive.value == 500)
        }
        waitUntil { alive.value == 0 }
    }

    @Test
    func valuesAreReleasedOnce() {
        let alive = Shared(0)
        do {
            let dictionary = SnapshotDictionary<Int, Tracked>()
            for number in 0..<100 { dictionary.updateValue(Tracked(alive), forKey: number) }
            for number in 0..<50 { dictionary.updateValue(Tracked(alive), forKey: number) }
            for number in 0..<25 { dictionary.removeValue(forKey: number) }
            awaitReleases()
            #expect(alive.value == 75)
            dictionary.read(30) { _ in
                dictionary.removeAll()
                #expect(alive.value == 75)
            }
            awaitReleases()
            #expect(alive.value == 0)
            for number in 0..<10 { dictionary.updateValue(Tracked(alive), forKey: number) }
        }
        awaitReleases()
        #expect(alive.value == 0)
    }

    @Test
    func forEachMayWrite() {
        let dictionary = SnapshotDictionary(Dictionary(uniqueKeysWithValues: (0..<100).map { ($0, 1) }))
        var seen = 0
        dictionary.forEach { key, value in
            seen += 1
            if key.isMultiple(of: 2) {
                dictionary.removeValue(forKey: key)
            } else {
                dictionary.updateValue(value + 1, forKey: key)
            }
        }
        #expect(seen == 100)
        #expect(dictionary.count == 50)
        #expect(dictionary.current.values.allSatisfy { $0 == 2 })
    }

    /// Keys that stay are found at every instant, whatever is inserted beside them.
    @Test
    func lookupsWhileItGrows() {
        let dictionary = SnapshotDictionary<Int, Int>(), finished = Flag()
        for key in 0..<100 { dictionary.updateValue(key, forKey: key) }
        let readers = (0..<2).map { first in
            Thread {
                var key = first
                while !finished.isRaised {
                    #expect(dictionary[key] == key)
                    key = (key + 7) % 100
                }
            }
        }
        Threads.run(2) { thread in
            for key in 0..<20_000 { dictionary.updateValue(key, forKey: 1000 + 2 * key + thread) }
            for key in 0..<100 { dictionary.updateValue(key, forKey: key) }
        }
        finished.raise()
        readers.forEach { $0.join() }
        #expect(dictionary.count == 40_100)
        #expect(dictionary.current.count == 40_100)
    }

    /// `dictionary[key]! += 1` was a read and a write: of two tasks' 400 000 it kept 268 165.
    @Test
    func ofTwoTasksThatIncrementOneKeyNoneIsLost() async {
        let dictionary = SnapshotDictionary<String, Int>()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask { for _ in 0..<200_000 { dictionary.update(forKey: "hits", default: 0) { $0 += 1 } } }
            }
        }
        #expect(dictionary["hits"] == 400_000)
    }

    /// Each change is either counted or taken out, whatever else is written, and however the table grows and shrinks.
    @Test
    func updatesLoseNothingAmongOtherWriters() {
        let dictionary = SnapshotDictionary<Colliding, Int>(), removed = Shared(0)
        Threads.run(4) { thread in
            for round in 0..<10_000 {
                let key = Colliding(number: round % 8)
                switch thread {
                case 0, 1: dictionary.update(forKey: key, default: 0) { $0 += 1 }
                case 2: if let value = dictionary.removeValue(forKey: key) { removed.access { $0 += value } }
                default:
                    for other in 0..<8 {
                        dictionary.updateValue(0, forKey: Colliding(number: 100 + round % 500 * 8 + other))
                    }
                    if round % 500 == 499 {
                        for other in 100..<4100 { dictionary.removeValue(forKey: Colliding(number: other)) }
                    }
                }
            }
        }
        var left = 0
        dictionary.forEach { left += $1 }
        #expect(left + removed.value == 20_000)
    }

    @Test
    func anUpdateThatThrowsChangesNothingAndWhatIsReplacedIsReleased() {
        let alive = Shared(0)
        do {
            let dictionary = SnapshotDictionary<Int, [Tracked]>()
            #expect(throws: Failure.expected) {
                try dictionary.update(forKey: 1, default: []) { (value) throws(Failure) in
                    value.append(Tracked(alive))
                    throw .expected
                }
            }
            #expect(dictionary.isEmpty && alive.value == 0)
            for _ in 0..<10 { dictionary.update(forKey: 1, default: []) { $0.append(Tracked(alive)) } }
            #expect(throws: Failure.expected) {
                try dictionary.update(forKey: 1, default: []) { (value) throws(Failure) in
                    value.removeAll()
                    throw .expected
                }
            }
            #expect(!csk_rcu_is_reading())
            #expect(dictionary.count == 1 && dictionary[1]?.count == 10 && alive.value == 10)
            let last = dictionary.update(forKey: 1, default: []) { $0.removeLast().number }
            #expect(last == 0)
            awaitReleases()
            #expect(alive.value == 9)
            // From inside, what belongs to other keys may be written, and the value in hand is kept.
            dictionary.update(forKey: 1, default: []) { value in
                value = []
                dictionary.updateValue([Tracked(alive)], forKey: 2)
            }
            awaitReleases()
            #expect(dictionary[1]?.isEmpty == true && alive.value == 1)
        }
        awaitReleases()
        #expect(alive.value == 0)
    }

    /// The value that it began with has gone: it begins anew with the one that is there.
    @Test
    func anUpdateThatAnotherHasOvertakenIsMadeAnew() {
        let dictionary = SnapshotDictionary([1: 10])
        var seen = [Int]()
        dictionary.update(forKey: 1, default: 0) { value in
            let round = seen.count
            Threads.run(1) { _ in
                if round == 0 { dictionary.updateValue(20, forKey: 1) }
                if round == 1 { dictionary.removeValue(forKey: 1) }
            }
            seen.append(value)
            value += 1
        }
        #expect(seen == [10, 20, 0] && dictionary[1] == 1)
    }

    @Test
    func oneOfManyGetsWhatIsRemoved() {
        let dictionary = SnapshotDictionary<Int, Int>(), removed = Shared(0), inserted = Shared(0)
        Threads.run(4) { thread in
            for round in 0..<5000 {
                let key = round % 8
                if thread < 2 {
                    if dictionary.updateValue(round, forKey: key) == nil { inserted.increment() }
                } else if dictionary.removeValue(forKey: key) != nil {
                    removed.increment()
                }
            }
        }
        #expect(dictionary.count == inserted.value - removed.value)
        #expect(dictionary.current.count == dictionary.count)
    }
}
