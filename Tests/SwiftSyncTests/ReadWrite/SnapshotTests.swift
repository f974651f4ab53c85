import CSyncKernel
import Testing

@testable import SwiftSync

/// Waits until everything that was replaced before is released.
func awaitReleases() { #expect(csk_rcu_barrier() == 0) }

// One after the other: a reader that stays lets the backlog of another test grow, whose limit then slows the updates
// here.
@Suite(.endsInTime, .serialized)
struct SnapshotTests {
    private enum Failure: Error { case expected }

    private struct Handle: ~Copyable, Sendable {
        let number: Int
        let tracked: Tracked
    }

    @Test
    func whatIsPublishedIsRead() {
        let words = Snapshot(["one"])
        #expect(words.read { $0.count } == 1)
        words.update { $0.append("two") }
        #expect(words.current == ["one", "two"])
        words.store([])
        #expect(words.read { $0.isEmpty })
        let copy = words
        copy.store(["three"])
        #expect(words.current == ["three"])
        #expect(words.update { $0.count } == 1)
    }

    @Test
    func aReadSeesOneVersionWhateverIsPublished() {
        let number = Snapshot([1])
        number.read { old in
            for _ in 0..<100 { number.update { $0[0] += 1 } }
            #expect(old[0] == 1)
            number.read { #expect($0[0] == 101) }
            number.store([7])
            #expect(old[0] == 1)
        }
        #expect(number.current == [7])
    }

    @Test
    func throwsLeaveTheSnapshotAsItIs() throws {
        let alive = Shared(0)
        do {
            let value = Snapshot(Tracked(alive, number: 1))
            #expect(throws: Failure.expected) { try value.read { (_) throws(Failure) in throw .expected } }
            #expect(throws: Failure.expected) {
                try value.update { (value) throws(Failure) in
                    value = Tracked(alive, number: 2)
                    throw .expected
                }
            }
            #expect(throws: Failure.expected) { try value.replace { (_) throws(Failure) in throw .expected } }
            #expect(value.read { $0.number } == 1)
            #expect(alive.value == 1)
            // Neither a section nor an update is left open: both of them would be felt here.
            #expect(!csk_rcu_is_reading())
            Threads.run(1) { _ in #expect((try? value.update(timeout: .zero) { $0 = Tracked(alive, number: 3) }) != nil)
            }
            #expect(value.read { $0.number } == 3)
        }
        awaitReleases()
        #expect(alive.value == 0)
    }

    @Test
    func valuesThatCannotBeCopied() {
        let alive = Shared(0)
        do {
            let handle = Snapshot(Handle(number: 1, tracked: Tracked(alive)))
            #expect(handle.read { $0.number } == 1)
            handle.replace { Handle(number: $0.number + 1, tracked: Tracked(alive)) }
            #expect(handle.read { $0.number } == 2)
            handle.store(Handle(number: 3, tracked: Tracked(alive)))
            #expect(handle.read { $0.number } == 3)
            awaitReleases()
            #expect(alive.value == 1)
        }
        #expect(alive.value == 0)
    }

    @Test
    func noUpdateIsLost() {
        let count = Snapshot([0]), rounds = 2000, finished = Flag()
        let readers = (0..<2).map { _ in
            Thread {
                var last = 0
                while !finished.isRaised {
                    let now = count.read { $0[0] }
                    #expect(now >= last)
                    last = now
                }
            }
        }
        Threads.run(4) { _ in for _ in 0..<rounds { count.update { $0[0] += 1 } } }
        finished.raise()
        readers.forEach { $0.join() }
        #expect(count.current == [4 * rounds])
    }

    /// The current version ends with the snapshot, at once; the replaced ones when no read can have them any more.
    @Test
    func everyVersionIsReleasedOnce() {
        let alive = Shared(0)
        do {
            let value = Snapshot(Tracked(alive))
            value.read { _ in
                for _ in 0..<50 { value.store(Tracked(alive)) }
                #expect(alive.value == 51)
            }
            awaitReleases()
            #expect(alive.value == 1)
        }
        #expect(alive.value == 0)
    }

    @Test
    func replacedVersionsEndThoughTheSnapshotHasEnded() {
        let alive = Shared(0), leave = Flag(), inside = Flag()
        let other = Snapshot(0)
        let reader = Thread {
            other.read { _ in
                inside.raise()
                waitUntil { leave.isRaised }
            }
        }
        waitUntil { inside.isRaised }
        do {
            let value = Snapshot(Tracked(alive))
            for _ in 0..<10 { value.store(Tracked(alive)) }
        }
        #expect(alive.value == 10)
        leave.raise()
        reader.join()
        awaitReleases()
        #expect(alive.value == 0)
    }

    /// The reader leaves only when all updates have returned.
    @Test
    func updatesDoNotWaitForReaders() {
        let value = Snapshot([0]), leave = Flag(), inside = Flag()
        let reader = Thread {
            value.read { old in
                inside.raise()
                waitUntil { leave.isRaised }
                #expect(old == [0])
            }
        }
        waitUntil { inside.isRaised }
        for _ in 0..<1000 { value.update { $0[0] += 1 } }
        #expect(value.current == [1000])
        leave.raise()
        reader.join()
    }

    @Test
    func aNestedUpdateIsRefusedOrStops() async {
        let value = Snapshot(0), other = Snapshot(0)
        value.update { outer in
            outer = 1
            #expect(throws: SnapshotError.wouldDeadlock) { try value.update(timeout: .seconds(1)) { $0 = 2 } }
            other.update { $0 = 3 }
        }
        #expect(value.current == 1)
        #expect(other.current == 3)
        await #expect(processExitsWith: .failure) {
            let value = Snapshot(0)
            value.update { _ in value.update { $0 += 1 } }
        }
        await #expect(processExitsWith: .failure) {
            let value = Snapshot(0)
            value.update { _ in value.store(1) }
        }
    }

    @Test
    func aTimeoutIsForOtherUpdatesAndNeverEarly() {
        let value = Snapshot(0), leave = Flag(), inside = Flag(), clock = ContinuousClock()
        let updater = Thread {
            value.update { _ in
                inside.raise()
                waitUntil { leave.isRaised }
            }
        }
        waitUntil { inside.isRaised }
        let start = clock.now
        #expect(throws: SnapshotError.timedOut) { try value.update(timeout: .milliseconds(2)) { $0 = 1 } }
        #expect(clock.now - start >= .milliseconds(2))
        #expect(throws: SnapshotError.timedOut) { try value.update(timeout: .seconds(-1)) { $0 = 1 } }
        leave.raise()
        updater.join()
        #expect(value.current == 0)
    }

    /// Without the limit the versions of a million updates could all be alive at once.
    @Test
    func theBacklogOfAMillionUpdatesIsBounded() {
        let value = Snapshot([0]), most = Shared(0)
        for index in 0..<1_000_000 {
            value.update { $0[0] += 1 }
            if index % 64 == 0 {
                let pending = Int(csk_rcu_pending())
                most.access { $0 = max($0, pending) }
            }
        }
        #expect(value.current == [1_000_000])
        // Other tests retire meanwhile, and a thread may overstep by one for each 10 ms that a reader stays.
        #expect(most.value <= 32_768 + 5000)
    }

    /// A version may use snapshots when it ends, on the thread that releases it.
    @Test
    func versionsMayUseSnapshotsWhenTheyEnd() {
        final class Noisy: Sendable {
            let log: Snapshot<Int>
            init(_ log: Snapshot<Int>) { self.log = log }
            deinit { log.update { $0 += 1 } }
        }
        let log = Snapshot(0)
        do {
            let value = Snapshot(Noisy(log))
            for _ in 0..<20 { value.store(Noisy(log)) }
        }
        awaitReleases()
        #expect(log.current == 21)
    }

    @Test
    func tasksRead() async {
        let value = Snapshot(["a": 1])
        let sum = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<100 { group.addTask { value.read { $0["a"] ?? 0 } } }
            return await group.reduce(0, +)
        }
        #expect(sum == 100)
    }
}
