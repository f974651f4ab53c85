import CSyncKernel

extension CommandQueue {
    /// The place of a command among the waiting commands. It is a plain value: nothing here blocks.
    ///
    /// ```swift
    /// queue.append(priority: .priority(.high)) { print("after every .highest, before every .lowest") }
    /// ```
    @frozen
    public struct Priority: Sendable, Hashable {
        @usableFromInline
        let rank: csk_rank_t

        @inlinable
        init(_ priority: CommandPriority, place: Int) {
            rank = csk_rank(priority.rawValue, Int32(place))
        }

        /// In front of all waiting commands. The command appended last is first.
        @inlinable public static var highest: Self { Self(.highest, place: CSK_PLACE_FRONT) }

        /// Behind all waiting commands, whatever their priority. Such commands run in the order in which they were
        /// appended.
        @inlinable public static var lowest: Self { Self(.lowest, place: CSK_PLACE_LAST) }

        /// Between ``highest`` and ``lowest``, by `priority`. Commands of one priority run in the order in which they
        /// were appended.
        ///
        /// Even `.priority(.highest)` is behind every ``highest``, and `.priority(.lowest)` before every ``lowest``.
        @inlinable
        public static func priority(_ priority: CommandPriority) -> Self { Self(priority, place: CSK_PLACE_BACK) }

        @usableFromInline
        var takesTheFront: Bool { self == .highest }
    }
}
