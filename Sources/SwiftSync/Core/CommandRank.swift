import CSyncKernel

/// The places of commands among those that wait: the ranks of the named priorities and of any other.
@usableFromInline
enum CommandRank {
    /// Before everything that waits. The one that came last stands first.
    @inlinable static var front: Int64 { csk_rank(.max, Int32(CSK_PLACE_FRONT)) }
    /// After everything that waits.
    @inlinable static var back: Int64 { csk_rank(.min, Int32(CSK_PLACE_LAST)) }
    /// By priority, and within one priority by arrival.
    @inlinable static func of(_ priority: CommandPriority) -> Int64 {
        csk_rank(priority.rawValue, Int32(CSK_PLACE_BACK))
    }
    /// The priority of a task that waits at its own with this rank; for another rank the nearest one.
    static func taskPriority(of rank: Int64) -> TaskPriority {
        let level = (rank >> 2) >> 8 + Int64(TaskPriority.medium.rawValue)
        return TaskPriority(rawValue: UInt8(min(max(level, 1), 33)))
    }
}
