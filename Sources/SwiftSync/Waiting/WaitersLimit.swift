import Synchronization

/// How many may wait at an object, and how many do. Only who has to wait asks.
///
/// The count is that of calls between ``enter(_:)`` and ``leave(_:)``, which is never less than that of those who stand
/// in the object's queue: a call that was granted leaves shortly after. Who only tries waits for nobody, and is not
/// counted.
struct WaitersLimit: ~Copyable {
    private let most: Int
    private let count = Atomic(0)

    /// Nil is no limit. It returns nil where the number is out of its bounds.
    init?(_ most: Int?) {
        if let most, most < 1 { return nil }
        self.most = most ?? .max
    }

    /// Takes one of the places of those who wait, if there is one, for a wait until `deadline`.
    func enter(_ deadline: Int64) -> Bool {
        if most == .max || deadline == Deadline.passed { return true }
        var current = count.load(ordering: .relaxed)
        while current < most {
            let (exchanged, found) = count.weakCompareExchange(
                expected: current, desired: current + 1, ordering: .relaxed)
            if exchanged { return true }
            current = found
        }
        return false
    }

    /// Gives the place of that wait back.
    func leave(_ deadline: Int64) {
        if most != .max, deadline != Deadline.passed { count.subtract(1, ordering: .relaxed) }
    }
}
