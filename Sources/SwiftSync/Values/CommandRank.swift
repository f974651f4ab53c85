import CSyncKernel

/// Where commands stand among those that wait: the ranks of the named priorities and of any other.
@usableFromInline
enum CommandRank {
    /// Before everything that waits; the last one in front.
    @inlinable static var front: Int64 { Int64(Int32.max) * 4 + 2 }
    /// After everything that waits.
    @inlinable static var back: Int64 { Int64(Int32.min) * 4 }
    /// By priority, within one by arrival.
    @inlinable static func of(_ priority: CommandPriority) -> Int64 { rank(of: priority) }
}
