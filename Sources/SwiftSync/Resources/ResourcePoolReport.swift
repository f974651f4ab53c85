/// The remains of a ``ResourcePool`` when its shutdown stopped waiting.
public struct ResourcePoolReport: Sendable, CustomStringConvertible {
    /// A call that still uses a resource.
    public struct Holder: Sendable, Hashable, CustomStringConvertible {
        /// The location of the call of `withResource`: the file's ID and the line.
        public let location: String
        /// The duration of the use so far.
        public let heldFor: Duration

        /// The location and the time, on one line.
        public var description: String { "\(location), for \(heldFor)" }
    }

    /// The pool's ``ResourcePool/name``.
    public let poolName: String
    /// The calls that still use a resource, the longest use first.
    public let holders: [Holder]
    /// The number of resources that are being made or closed.
    public let unfinishedCount: Int

    /// True if nothing is left: each resource is closed.
    public var isComplete: Bool { holders.isEmpty && unfinishedCount == 0 }

    /// One line for each user of a resource, behind the pool's name.
    public var description: String {
        if isComplete { return "\(poolName): all resources are closed" }
        let lines = holders.map { "held by \($0)" } + ["being made or closed: \(unfinishedCount)"]
        return lines.map { "\(poolName): \($0)" }.joined(separator: "\n")
    }
}
