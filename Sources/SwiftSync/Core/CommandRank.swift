import CSyncKernel

/// The ranks of waiting commands: of the named places and of any priority.
@usableFromInline
enum CommandRank {
    /// Before all waiting commands. The last arrival is first.
    @inlinable static var front: Int64 { csk_rank(.max, Int32(CSK_PLACE_FRONT)) }
    /// After all waiting commands.
    @inlinable static var back: Int64 { csk_rank(.min, Int32(CSK_PLACE_LAST)) }
    /// By priority, and within one priority by arrival.
    @inlinable static func of(_ priority: CommandPriority) -> Int64 {
        csk_rank(priority.rawValue, Int32(CSK_PLACE_BACK))
    }
    /// The priority of a task that waits at its own priority with this rank; for another rank, the nearest priority.
    static func taskPriority(of rank: Int64) -> TaskPriority {
        let level = (rank >> 2) >> 8 + Int64(TaskPriority.medium.rawValue)
        return TaskPriority(rawValue: UInt8(min(max(level, 1), 33)))
    }
}
