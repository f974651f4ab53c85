import Dispatch

/// Identifies the queue or executor on which commands are performed, by a number. The number belongs to that queue or
/// executor alone while it exists.
enum QueueIdentity {
    /// Two `DispatchQueue` objects are one queue if they wrap the same object. `DispatchQueue.global()` makes a new
    /// object at each call.
    static func of(_ queue: DispatchQueue) -> UInt {
        wrapsAtSecondWord ? RuntimeFacts.wrapped(by: queue) : byLabel(queue)
    }

    /// Whether the property `__wrapped` stands where it is read. This is checked once.
    static let wrapsAtSecondWord: Bool = {
        let queue = DispatchQueue(label: "csk.identity"), other = DispatchQueue(label: "csk.identity")
        return [queue, other, .global(), .main].allSatisfy { queue in
            guard let child = Mirror(reflecting: queue).children.first, child.label == "__wrapped",
                let pointer = unsafe child.value as? OpaquePointer
            else { return false }
            return UInt(bitPattern: pointer) == RuntimeFacts.wrapped(by: queue)
        }
    }()

    /// Identifies a queue if the property stands elsewhere. The system's own queues are known by their names, which no
    /// other queue has. Other queues are known by their objects.
    static func byLabel(_ queue: DispatchQueue) -> UInt {
        let label = queue.label
        guard label.hasPrefix("com.apple.") else { return UInt(bitPattern: ObjectIdentifier(queue)) }
        return label.utf8.reduce(5381) { ($0 &* 33) ^ UInt($1) }
    }

    /// The executor on which a task continues after a suspension in a function of this isolation.
    static func ofExecutor(isolation: (any Actor)?) -> UInt {
        if let isolation { return unsafe RuntimeFacts.identity(of: isolation.unownedExecutor) }
        let preferred = unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor }
        guard let preferred = unsafe preferred else { return 0 }
        return unsafe RuntimeFacts.identity(of: preferred)
    }
}
