import Testing

@testable import SwiftSync

/// Writes inside of an update of a dictionary.
@Suite(.endsInTime)
struct SnapshotDictionaryNestingTests {
    private enum Failure: Error { case expected }

    enum Write: String, CaseIterable, Codable, Sendable {
        case update, updateValue, insertValue, removeValue

        func make(_ key: String, in dictionary: SnapshotDictionary<String, Int>) {
            switch self {
            case .update: dictionary.update(forKey: key, default: 0) { $0 += 1 }
            case .updateValue: dictionary.updateValue(7, forKey: key)
            case .insertValue: dictionary.insertValue(7, forKey: key)
            case .removeValue: dictionary.removeValue(forKey: key)
            }
        }

        /// The key has to be there to be removed, and not to be inserted.
        func prepare(_ key: String, in dictionary: SnapshotDictionary<String, Int>) {
            if self == .removeValue { dictionary.updateValue(1, forKey: key) }
        }
    }

    /// It used to run for ever: each run of the update found that the key was written meanwhile.
    @Test(arguments: Write.allCases, [false, true])
    func aWriteOfTheKeyInsideOfItsUpdateStopsWithAMessage(_ write: Write, isDeep: Bool) async {
        let exit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [write = write as Write, isDeep = isDeep as Bool] in
            let dictionary = SnapshotDictionary<String, Int>()
            write.prepare("a", in: dictionary)
            dictionary.update(forKey: "a", default: 0) { value in
                if isDeep {
                    dictionary.update(forKey: "b", default: 0) { _ in write.make("a", in: dictionary) }
                } else {
                    write.make("a", in: dictionary)
                }
                value += 1
            }
        }
        let text = String(decoding: exit?.standardErrorContent ?? [], as: UTF8.self)
        #expect(
            text.contains(
                "SnapshotDictionary: \(write.rawValue) was called inside an update of the same key by the same thread"))
    }

    /// Has the update's first run overtaken by a thread, so that the others are known to be repeated.
    private func updateAgain<Key: Hashable & Sendable>(
        _ key: Key, in dictionary: SnapshotDictionary<Key, Int>, _ body: (inout Int) throws -> Void
    ) rethrows {
        var runs = 0
        try dictionary.update(forKey: key, default: 0) { value in
            runs += 1
            if runs == 1 { Threads.run(1) { _ in dictionary.updateValue(100, forKey: key) } }
            try body(&value)
            value += 1
        }
        #expect(runs == 2)
    }

    @Test(arguments: Write.allCases)
    func aRepeatedUpdateMayWriteOtherKeysAndEqualKeysElsewhere(_ write: Write) {
        let dictionary = SnapshotDictionary<String, Int>(), other = SnapshotDictionary<String, Int>(["a": 1])
        let numbers = SnapshotDictionary<Int, Int>()
        updateAgain("a", in: dictionary) { _ in
            write.make("b", in: dictionary)
            write.make("a", in: other)
            updateAgain(1, in: numbers) { _ in
                write.make("c", in: dictionary)
                write.make("a", in: other)
                numbers.updateValue(2, forKey: 2)
            }
        }
        #expect(dictionary["a"] == 101 && numbers[1] == 101 && numbers[2] == 2)
        #expect((dictionary["b"] == nil) == (write == .removeValue))
    }

    @Test
    func aRepeatedUpdateThatThrowsIsOver() throws {
        let dictionary = SnapshotDictionary<String, Int>()
        var runs = 0
        #expect(throws: Failure.expected) {
            try dictionary.update(forKey: "a", default: 0) { value in
                runs += 1
                if runs == 2 { throw Failure.expected }
                Threads.run(1) { _ in dictionary.updateValue(100, forKey: "a") }
            }
        }
        updateAgain("b", in: dictionary) { _ in dictionary.updateValue(5, forKey: "a") }
        #expect(dictionary["a"] == 5)
    }

    /// What other threads write during a repeated update is no misuse.
    @Test
    func writesOfOtherThreadsOnlyMakeTheUpdateRunAnew() {
        let dictionary = SnapshotDictionary<Int, Int>()
        Threads.run(4) { _ in for _ in 0..<2000 { dictionary.update(forKey: 0, default: 0) { $0 += 1 } } }
        #expect(dictionary[0] == 8000)
        var runs = 0
        dictionary.update(forKey: 0, default: 0) { value in
            runs += 1
            if runs < 5 { Threads.run(1) { _ in dictionary.updateValue(0, forKey: 0) } }
            value += 1
        }
        #expect(runs == 5 && dictionary[0] == 1)
    }
}
