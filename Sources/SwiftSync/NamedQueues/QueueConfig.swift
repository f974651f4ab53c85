public import Dispatch

/// The name of a queue, its quality of service, and whether it runs one thing at a time.
///
/// ```swift
/// extension QueueConfig.QueueID {
///     static let archive: Self = "com.example.archive"
/// }
/// let config = QueueConfig(queueID: .archive, qos: .utility)
/// let queue = DispatchQueue(config: config)                  // a plain one
/// ```
///
/// A ``NamedQueue`` is described by it too. A plain value: nothing here blocks, and it may be used from anywhere.
public struct QueueConfig: Sendable, Equatable {
    /// The name of a queue. Programs add theirs as static constants of this type.
    public struct QueueID: RawRepresentable, ExpressibleByStringLiteral, Sendable, Hashable {
        /// The name itself.
        public let rawValue: String

        /// The name `rawValue`.
        @inlinable
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The name that the literal is.
        @inlinable
        public init(stringLiteral value: String) {
            self.init(rawValue: value)
        }
    }

    /// What the queue is called.
    public let queueID: QueueID
    /// How urgent its work is.
    public let qos: DispatchQoS
    /// Whether it runs one thing at a time; else many, with barriers.
    public let serial: Bool

    /// A configuration. A ``NamedQueue`` is named by its raw value, and may leave `queueID` out.
    @inlinable
    public init(queueID: QueueID = "", qos: DispatchQoS = .default, serial: Bool = true) {
        self.queueID = queueID
        self.qos = qos
        self.serial = serial
    }
}

/// The same under the name that ``NamedQueue/configuration`` uses.
public typealias QueueConfiguration = QueueConfig
