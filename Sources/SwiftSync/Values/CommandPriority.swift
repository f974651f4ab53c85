/// How urgent a waiting operation is: higher values go first, equal ones in the order they came.
///
/// ```swift
/// queue.push(job, priority: .high)
/// queue.push(job, priority: CommandPriority(rawValue: 17))
/// ```
///
/// Any 32-bit value is a priority; the named ones leave room between them. A plain value: nothing here blocks, and it
/// may be used from anywhere.
@frozen
public struct CommandPriority: RawRepresentable, Sendable, Hashable, Comparable {
    /// The value that is compared.
    public let rawValue: Int32

    /// The priority of a value: higher goes first.
    @inlinable
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The priority that a task of `taskPriority` has among waiters: `.medium` gives ``normal``, `.high` ``high``,
    /// `.low` ``low``.
    ///
    /// Task priorities one apart become priorities 256 apart, so that others fit between them.
    @inlinable
    public init(_ taskPriority: TaskPriority) {
        self.init(rawValue: (Int32(taskPriority.rawValue) - Int32(TaskPriority.medium.rawValue)) * 256)
    }

    /// Below every other priority.
    @inlinable public static var lowest: Self { Self(rawValue: .min) }
    /// Work that may wait.
    @inlinable public static var low: Self { Self(rawValue: -1024) }
    /// What an operation has that names no priority.
    @inlinable public static var normal: Self { Self(rawValue: 0) }
    /// Work that somebody waits for.
    @inlinable public static var high: Self { Self(rawValue: 1024) }
    /// Above every other priority.
    @inlinable public static var highest: Self { Self(rawValue: .max) }

    /// True when `left` is less urgent than `right`.
    @inlinable
    public static func < (left: Self, right: Self) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension CommandPriority: CustomStringConvertible {
    /// The name of a named priority, else its number.
    public var description: String {
        switch self {
        case .lowest: "lowest"
        case .low: "low"
        case .normal: "normal"
        case .high: "high"
        case .highest: "highest"
        default: String(rawValue)
        }
    }
}
