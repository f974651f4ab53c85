import CSyncKernel

/// Where commands stand among those that wait: the ranks of the named priorities and of any other.
@usableFromInline
enum CommandRank {
    /// Before everything that waits; the last one in front.
    @inlinable static var front: Int64 { csk_rank(.max, Int32(CSK_PLACE_FRONT)) }
    /// After everything that waits.
    @inlinable static var back: Int64 { csk_rank(.min, Int32(CSK_PLACE_LAST)) }
    /// By priority, within one by arrival.
    @inlinable static func of(_ priority: CommandPriority) -> Int64 { csk_rank(priority.rawValue, Int32(CSK_PLACE_BACK)) }
}
