public import Dispatch

/// A capacity and an ``OverflowPolicy`` in one value: the earlier form of `capacity:whenFull:`. It stays until version
/// 1.0.
@available(*, deprecated, message: "use the parameters capacity and whenFull")
public struct WorkQueueBound: Sendable, Hashable {
    let capacity: Int
    let whenFull: OverflowPolicy

    private init(_ capacity: Int, _ whenFull: OverflowPolicy) {
        guard capacity > 0, UInt32(exactly: capacity) != nil else {
            fatalError("WorkQueueBound: a bound has room for 1 to 4 294 967 295 works, not for \(capacity)")
        }
        self.capacity = capacity
        self.whenFull = whenFull
    }

    /// The capacity with the policy ``OverflowPolicy/wait``.
    public static func wait(beyond capacity: Int) -> Self { Self(capacity, .wait) }
    /// The capacity with the policy ``OverflowPolicy/refuse``.
    public static func refuse(beyond capacity: Int) -> Self { Self(capacity, .refuse) }
    /// The capacity with the policy ``OverflowPolicy/dropOldest``.
    public static func dropOldest(beyond capacity: Int) -> Self { Self(capacity, .dropOldest) }
}

extension WorkQueue {
    /// Makes an empty queue, with a capacity unless `bound` is nil. Never blocks.
    @available(*, deprecated, message: "use the parameters capacity and whenFull instead of bound")
    public convenience init(
        label: String, priority: CommandPriority = .normal, bound: WorkQueueBound?, recorder: EventRecorder? = nil
    ) {
        self.init(
            label: label, priority: priority, capacity: bound?.capacity, whenFull: bound?.whenFull ?? .wait,
            recorder: recorder)
    }

    /// Makes an empty queue whose priority comes from a quality of service, with a capacity unless `bound` is nil.
    /// Never blocks.
    @available(*, deprecated, message: "use the parameters capacity and whenFull instead of bound")
    public convenience init(
        label: String, qos: DispatchQoS.QoSClass, bound: WorkQueueBound?, recorder: EventRecorder? = nil
    ) {
        self.init(label: label, priority: CommandPriority(qos), bound: bound, recorder: recorder)
    }
}

extension ConcurrentWorkQueue {
    /// Makes an empty queue, with a capacity unless `bound` is nil. Never blocks.
    @available(*, deprecated, message: "use the parameters capacity and whenFull instead of bound")
    public convenience init(
        label: String, width: Int = 64, priority: CommandPriority = .normal, bound: WorkQueueBound?,
        recorder: EventRecorder? = nil
    ) {
        self.init(
            label: label, width: width, priority: priority, capacity: bound?.capacity,
            whenFull: bound?.whenFull ?? .wait, recorder: recorder)
    }

    /// Makes an empty queue whose priority comes from a quality of service, with a capacity unless `bound` is nil.
    /// Never blocks.
    @available(*, deprecated, message: "use the parameters capacity and whenFull instead of bound")
    public convenience init(
        label: String, width: Int = 64, qos: DispatchQoS.QoSClass, bound: WorkQueueBound?,
        recorder: EventRecorder? = nil
    ) {
        self.init(label: label, width: width, priority: CommandPriority(qos), bound: bound, recorder: recorder)
    }
}
