import Dispatch
import Glibc
import Synchronization
import Testing

@testable import SwiftSync

/// Places where threads and tasks wait for each other, told apart by their functions.
private enum Place {
    @inline(never)
    static func locks(_ mutex: PriorityMutex<Int>, _ body: () -> Void) {
        mutex.withLock { value in
            value += 1
            body()
        }
        Place.calls.add(1, ordering: .relaxed) // so that the release isn't the last step, which would be a jump
    }

    @inline(never)
    static func waits(_ semaphore: PrioritySemaphore, _ body: () -> Void) {
        do { try semaphore.blockingWait() } catch { Issue.record(error) }
        body()
        do { try semaphore.signal() } catch { Issue.record(error) }
    }

    /// Two threads meet at a place: the second comes while the first has it, and the first stays until it waits.
    static func meet(_ place: @escaping @Sendable (() -> Void) -> Void, waits: @escaping @Sendable () -> Bool) {
        let entered = DispatchSemaphore(value: 0)
        let first = Thread {
            place {
                entered.signal()
                while !waits() { sched_yield() }
            }
        }
        entered.wait()
        let second = Thread { place {} }
        first.join()
        second.join()
    }
    static func meet(at mutex: PriorityMutex<Int>) {
        meet({ Place.locks(mutex, $0) }, waits: { mutex.waitingCount == 1 })
    }
    static func meet(at semaphore: PrioritySemaphore) {
        meet({ Place.waits(semaphore, $0) }, waits: { semaphore.waitingCount == 1 })
    }

    @inline(never)
    static func suspends(_ mutex: PriorityMutex<Int>) async {
        await Place.inner(mutex)
        Place.calls.add(1, ordering: .relaxed)
    }

    @inline(never)
    private static func inner(_ mutex: PriorityMutex<Int>) async {
        _ = try? await mutex.suspending.withLock(priority: .high) { $0 += 1 }
    }

    private static let calls = Atomic(0)
}

@Suite(.endsInTime, .serialized, .countsAlone)
struct ContentionProfileTests {
    /// The profile of what `body` does, at that threshold.
    private func profile(_ threshold: Duration, _ body: () async throws -> Void) async throws -> ContentionProfile {
        try ContentionProfile.start(threshold: threshold)
        let before = ContentionProfile.current()
        try await body()
        ContentionProfile.stop()
        return ContentionProfile.current().since(before)
    }

    /// The lines of the folded stacks that name a function.
    private func stacks(
        _ profile: ContentionProfile, _ side: ContentionProfile.Side, of function: String
    ) throws -> [Substring] {
        try profile.foldedStacks(side).split(separator: "\n").filter { $0.contains("\(function)(") }
    }

    @Test
    func threadsAreCountedByTheFunctionThatWaitsAndByTheOneThatLetsIn() async throws {
        let mutex = PriorityMutex(0), semaphore = PrioritySemaphore(value: 1)
        let profile = try await profile(.microseconds(1)) {
            for _ in 0..<20 {
                Place.meet(at: mutex)
                Place.meet(at: semaphore)
            }
        }
        for function in ["locks", "waits"] {
            #expect(try !stacks(profile, .waiting, of: function).isEmpty)
            #expect(try !stacks(profile, .lettingIn, of: function).isEmpty)
        }
        #expect(profile.lostCount == 0)
        #expect(profile.entries.map(\.delay) == profile.entries.map(\.delay).sorted(by: >))
    }

    @Test
    func aSuspendedTaskHasTheStackOfTheFunctionsThatAwaitIt() async throws {
        let mutex = PriorityMutex(0, name: "a suspended task's")
        let entered = PrioritySemaphore(value: 0), leave = PrioritySemaphore(value: 0)
        let profile = try await profile(.microseconds(1)) {
            let holder = Thread {
                mutex.withLock { _ in
                    try! entered.signal()
                    try! leave.blockingWait()
                }
            }
            try await entered.wait()
            let waiter = Task { await Place.suspends(mutex) }
            await waitUntil { mutex.waitingCount == 1 }
            try leave.signal()
            await waiter.value
            holder.join()
        }
        let lines = try stacks(profile, .waiting, of: "suspends")
        #expect(lines.contains { $0.contains("Place") && $0.contains("inner(") })
        let suspended = profile.entries.filter { $0.isSuspended && $0.side == .waiting && $0.priority == .high }
        #expect(
            suspended.contains {
                $0.contentions == 1 && $0.delay > .zero && $0.frames.count > 2 && $0.name == "a suspended task's"
            })
    }

    @Test
    func aDifferenceHasOnlyWhatCameBetween() async throws {
        let mutex = PriorityMutex(0)
        let first = try await profile(.microseconds(1)) { Place.meet(at: mutex) }
        let nothing = ContentionProfile.current()
        #expect(nothing.since(nothing).entries.isEmpty)
        #expect(try nothing.since(nothing).foldedStacks(.waiting) == "")
        let second = try await profile(.microseconds(1)) { Place.meet(at: mutex) }
        for profile in [first, second] {
            let waits = profile.entries.filter { $0.side == .waiting }.map(\.contentions).reduce(0, +)
            #expect(waits > 0)
            #expect(profile.entries.allSatisfy { $0.delay > .zero && !$0.frames.isEmpty })
        }
    }

    @Test
    func aProfileIsAFileOfPprof() async throws {
        let mutex = PriorityMutex(0)
        let profile = try await profile(.microseconds(1)) { Place.meet(at: mutex) }
        for side in [ContentionProfile.Side.waiting, .lettingIn] {
            let bytes = try profile.pprof(side)
            #expect(bytes.starts(with: [0x1F, 0x8B, 8]))
            // Stored blocks hold the texts as they are.
            let text = String(decoding: bytes, as: UTF8.self)
            for word in ["contentions", "nanoseconds", "priority", "locks("] { #expect(text.contains(word)) }
            #expect(text.contains("ContentionProfileTests.swift:") == (side == .waiting)) // the mutex's place
        }
    }

    @Test
    func aThresholdThatIsNotPositiveIsRefused() {
        for threshold in [Duration.zero, .seconds(-1)] {
            #expect(throws: ObservationError.limitNotPositive) {
                try ContentionProfile.start(threshold: threshold)
            }
        }
        #expect(throws: Never.self) { try ContentionProfile.start(threshold: .seconds(Int64.max)) }
        #expect(throws: Never.self) { try ContentionProfile.start(threshold: .nanoseconds(1) / 2) }
        ContentionProfile.stop()
    }
}
