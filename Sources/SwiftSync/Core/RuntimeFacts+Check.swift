extension RuntimeFacts {
    /// Checks what can be checked without a task, when the first object with a gate is made. If one is false the
    /// program stops with its name, before anything relies on it. `RuntimeFactsTests` checks the rest too, with one
    /// test for each.
    static let areChecked: Void = {
        for (fact, holds) in checks where !holds {
            fatalError("SwiftSync: this Swift is not the one that it was written for: \(fact)")
        }
    }()

    private static var checks: [(String, Bool)] {
        let probe = Probe(), actor = ProbeActor()
        let now = Deadline.after(.zero)
        return unsafe [
            ("a structure does not begin with its first stored property", beginsWithItsFirst),
            ("a stored property is passed elsewhere than in its place", probe.isPassedInPlace()),
            ("a type is not one word", Probe.self == type(at: pointer(to: Probe.self), as: Probe.self)),
            ("a task is not one word", MemoryLayout<UnsafeCurrentTask>.size == MemoryLayout<UInt>.size),
            ("a task is not one word", MemoryLayout<AnyTask>.size == MemoryLayout<UInt>.size),
            ("an executor is not two words", MemoryLayout<UnownedSerialExecutor>.size == 2 * MemoryLayout<UInt>.size),
            ("an executor does not begin with its object", identity(of: actor.unownedExecutor) == address(of: actor)),
            ("an instant is not its time", MemoryLayout<ContinuousClock.Instant>.size == MemoryLayout<Duration>.size),
            ("an instant is not its time", abs(Deadline.at(SuspendingClock.now) - now) < 1_000_000_000_000),
        ]
    }

    private static var beginsWithItsFirst: Bool {
        guard unsafe MemoryLayout<SnapshotHeader>.offset(of: \.snapshot) == 0 else { return false }
        return unsafe MemoryLayout<ValueHeader>.offset(of: \.placed) == 0
    }

    private static func address(of object: AnyObject) -> UInt { UInt(bitPattern: ObjectIdentifier(object)) }

    private actor ProbeActor {}

    private final class Probe {
        private let before = 0
        @exclusivity(unchecked) private var property = (1, 2)

        func isPassedInPlace() -> Bool {
            let place = unsafe lastingAddress(of: &property)
            unsafe place.pointee.1 = 3
            let distance = UInt(bitPattern: place) - address(of: self)
            return unsafe property.1 == 3 && lastingAddress(of: &property) == place && distance < 64
        }
    }
}
