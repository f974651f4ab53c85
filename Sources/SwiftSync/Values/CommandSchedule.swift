/// Has commands of every priority: a schedule of a value, or a value all of whose commands have one schedule.
///
/// Only types of this library conform to it. Choosing a priority never blocks.
public protocol CommandSchedule<Commands> {
    /// The commands of one priority.
    associatedtype Commands

    /// Only the members below call it.
    func _commands(rank: Int64) -> Commands
}

extension CommandSchedule {
    /// Commands that run after all waiting commands.
    @inlinable @inline(__always)
    public var lowestPriority: Commands { _commands(rank: CommandRank.back) }

    /// Commands that run before all waiting commands. The one issued last runs first.
    @inlinable @inline(__always)
    public var highestPriority: Commands { _commands(rank: CommandRank.front) }

    /// Commands ordered by priority, and within one priority by arrival.
    @inlinable @inline(__always)
    public func priority(_ priority: CommandPriority) -> Commands { _commands(rank: CommandRank.of(priority)) }
}
