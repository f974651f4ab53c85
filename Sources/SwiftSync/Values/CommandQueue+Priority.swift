import CSyncKernel

extension CommandQueue {
    /// The place of a command among those that wait. It is a plain value: nothing here blocks.
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

        /// In front of everything that waits. The command appended last stands first.
        @inlinable public static var highest: Self { Self(.highest, place: CSK_PLACE_FRONT) }

        /// Behind everything that waits, whatever its priority. Such commands run in the order in which they were
        /// appended.
        @inlinable public static var lowest: Self { Self(.lowest, place: CSK_PLACE_LAST) }

        /// Between ``highest`` and ``lowest``, by `priority`. Commands of one priority run in the order in which they
        /// were appended.
        ///
        /// Even `.priority(.highest)` stands behind every ``highest``, and `.priority(.lowest)` before every
        /// ``lowest``.
        @inlinable
        public static func priority(_ priority: CommandPriority) -> Self { Self(priority, place: CSK_PLACE_BACK) }

        @usableFromInline
        var takesTheFront: Bool { self == .highest }
    }
}
