import Dispatch

/// Which queue or executor commands are performed on, as a number that is one queue's or executor's alone while it
/// exists.
enum QueueIdentity {
    /// Two `DispatchQueue` objects are one queue if what they wrap is: `DispatchQueue.global()` makes a new object at
    /// each call.
    static func of(_ queue: DispatchQueue) -> UInt {
        wrapsAtSecondWord ? RuntimeFacts.wrapped(by: queue) : byLabel(queue)
    }

    /// Looked at once: that the property stands where it is read.
    static let wrapsAtSecondWord: Bool = {
        let queue = DispatchQueue(label: "csk.identity"), other = DispatchQueue(label: "csk.identity")
        return [queue, other, .global(), .main].allSatisfy { queue in
            guard let child = Mirror(reflecting: queue).children.first, child.label == "__wrapped",
                let pointer = child.value as? OpaquePointer
            else { return false }
            return UInt(bitPattern: pointer) == RuntimeFacts.wrapped(by: queue)
        }
    }()

    /// Where the property stands elsewhere: the system's own queues by their names, which nobody else's have; others by
    /// their objects.
    static func byLabel(_ queue: DispatchQueue) -> UInt {
        let label = queue.label
        guard label.hasPrefix("com.apple.") else { return UInt(bitPattern: ObjectIdentifier(queue)) }
        return label.utf8.reduce(5381) { ($0 &* 33) ^ UInt($1) }
    }

    /// The executor that a task goes on on after a suspension in a function of this isolation.
    static func ofExecutor(isolation: (any Actor)?) -> UInt {
        if let isolation { return RuntimeFacts.identity(of: isolation.unownedExecutor) }
        let preferred = withUnsafeCurrentTask { $0?.unownedTaskExecutor }
        guard let preferred else { return 0 }
        return RuntimeFacts.identity(of: preferred)
    }
}
