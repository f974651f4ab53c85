public import Dispatch

/// The configuration of a queue: its name, its quality of service, and whether it is serial.
///
/// ```swift
/// extension QueueConfig.QueueID {
///     static let archive: Self = "com.example.archive"
/// }
/// let config = QueueConfig(queueID: .archive, qos: .utility)
/// let queue = DispatchQueue(config: config)                  // a plain one
/// ```
///
/// It also describes a ``NamedQueue``. It is a plain value: nothing here blocks, and it may be used from anywhere.
public struct QueueConfig: Sendable, Equatable {
    /// The name of a queue. Programs add their own names as static constants of this type.
    public struct QueueID: RawRepresentable, ExpressibleByStringLiteral, Sendable, Hashable {
        /// The name itself.
        public let rawValue: String

        /// Makes the name `rawValue`.
        @inlinable
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Makes the name from a literal.
        @inlinable
        public init(stringLiteral value: String) {
            self.init(rawValue: value)
        }
    }

    /// The queue's name.
    public let queueID: QueueID
    /// The quality of service of the queue's work.
    public let qos: DispatchQoS
    /// True if the queue runs one closure at a time; false if it runs many at once, with barriers.
    public let serial: Bool

    /// Makes a configuration. A ``NamedQueue`` is named by its raw value, so its configuration may leave `queueID` out.
    @inlinable
    public init(queueID: QueueID = "", qos: DispatchQoS = .default, serial: Bool = true) {
        self.queueID = queueID
        self.qos = qos
        self.serial = serial
    }
}

/// ``QueueConfig`` under the name that ``NamedQueue/configuration`` uses.
public typealias QueueConfiguration = QueueConfig
