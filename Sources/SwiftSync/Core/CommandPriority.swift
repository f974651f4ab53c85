/// The urgency of a waiting operation. Higher values go first, and equal values go by arrival.
///
/// ```swift
/// queue.push(job, priority: .high)
/// queue.push(job, priority: CommandPriority(rawValue: 17))
/// ```
///
/// Any 32-bit value is a priority. The named ones leave room between them. A priority is a plain value: nothing here
/// blocks, and it may be used from anywhere.
@frozen
public struct CommandPriority: RawRepresentable, Sendable, Hashable, Comparable {
    /// The value to compare.
    public let rawValue: Int32

    /// Makes the priority of a value. A higher value goes first.
    @inlinable
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// Makes the priority that a task of `taskPriority` has among waiters: `.medium` gives ``normal``, `.high`
    /// ``high``, `.low` ``low``.
    ///
    /// Task priorities that differ by one become priorities that differ by 256, so that others fit between them.
    @inlinable
    public init(_ taskPriority: TaskPriority) {
        self.init(rawValue: (Int32(taskPriority.rawValue) - Int32(TaskPriority.medium.rawValue)) * 256)
    }

    /// The priority below every other.
    @inlinable public static var lowest: Self { Self(rawValue: .min) }
    /// A priority for work that may wait.
    @inlinable public static var low: Self { Self(rawValue: -1024) }
    /// The priority of an operation that names none.
    @inlinable public static var normal: Self { Self(rawValue: 0) }
    /// A priority for work that a user or caller waits for.
    @inlinable public static var high: Self { Self(rawValue: 1024) }
    /// The priority above every other.
    @inlinable public static var highest: Self { Self(rawValue: .max) }

    /// True when `left` is less urgent than `right`.
    @inlinable
    public static func < (left: Self, right: Self) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension CommandPriority: CustomStringConvertible {
    /// The name of a named priority, or the number of any other.
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
