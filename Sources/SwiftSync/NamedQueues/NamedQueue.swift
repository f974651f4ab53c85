public import Dispatch

/// The queues of a program, as the cases of an enum.
///
/// ```swift
/// enum Queue: String, NamedQueue {
///     case database = "com.example.database"
///     case network = "com.example.network"
///
///     var configuration: QueueConfiguration {
///         switch self {
///         case .database: QueueConfiguration(qos: .utility)
///         case .network: QueueConfiguration(qos: .userInitiated, serial: false)
///         }
///     }
/// }
///
/// Queue.database.async { save() }
/// let rows = Queue.database.sync { count() }
/// Queue.network.async(flags: .barrier) { reconnect() }
/// ```
///
/// Each raw value has one queue for the whole process, whatever type asks for it: a ``WorkQueue``, or a
/// ``ConcurrentWorkQueue`` where the configuration is not serial. The queue is made at its first use, and stays. Code
/// that asks for it with another configuration gets the queue as it is, and this is reported to ``SyncDiagnostics`` as
/// `configurationMismatch`, once for each such configuration.
///
/// Finding the queue is wait-free, and counts no reference. It asks the case for its configuration, which should be a
/// plain value as above. The methods are those of `DispatchQueue`, so code for one compiles with the other. Use
/// ``queue`` for everything else: waiting tasks, `drain()`, `suspend()`, its `recorder`.
public protocol NamedQueue: RawRepresentable, Sendable where RawValue == String {
    /// The queue's configuration. By default it is a serial queue with the default quality of service.
    var configuration: QueueConfiguration { get }
}

extension NamedQueue {
    public var configuration: QueueConfiguration { QueueConfiguration() }

    @inlinable
    var found: Unmanaged<QueueOfName> { unsafe QueueOfName.find(rawValue, configuration) }

    /// The queue itself. O(1).
    public var queue: WorkQueueBase { unsafe found._withUnsafeGuaranteedRef { $0.queue } }

    /// Runs `body` after the work that came before, and returns at once.
    ///
    /// It may be called from anywhere. O(1).
    ///
    /// - Returns: false, with a report to ``SyncDiagnostics``, when the queue was shut down or the system has no memory
    ///   or thread. `body` will not run then.
    @inlinable
    @discardableResult
    public func async(execute body: @escaping @Sendable () -> Void) -> Bool {
        unsafe found._withUnsafeGuaranteedRef { $0.async(body) }
    }

    /// Queues `body` with the other parameters of `DispatchQueue`, and returns at once.
    ///
    /// With `.barrier` on a concurrent queue, `body` runs alone, once all work accepted before has ended; on a serial
    /// queue all work runs so. Other flags change nothing. A quality of service puts `body` before or behind other
    /// waiting work, as a ``CommandPriority``. Without one, `body` has the queue's own. The group is left when `body`
    /// has ended, or was refused.
    @discardableResult
    public func async(
        group: DispatchGroup? = nil, qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [],
        execute body: @escaping @Sendable () -> Void
    ) -> Bool {
        unsafe found._withUnsafeGuaranteedRef { found in
            guard let group else { return found.async(qos, flags, body) }
            group.enter()
            let isAccepted = found.async(qos, flags) {
                body()
                group.leave()
            }
            if !isAccepted { group.leave() }
            return isAccepted
        }
    }

    /// Queues a work item in the same way. It does not run if it was cancelled before its turn. Waiting for the item
    /// and its notifications work.
    ///
    /// The library can't read the flags that an item was made with, so ask for a barrier with `flags` here.
    @discardableResult
    public func async(
        group: DispatchGroup? = nil, flags: DispatchWorkItemFlags = [], execute item: DispatchWorkItem
    ) -> Bool {
        nonisolated(unsafe) let item = item
        return async(group: group, flags: flags) { unsafe item.perform() }
    }

    /// Queues `body` at `deadline`, never early. It does not run if the queue is shut down before.
    ///
    /// - Returns: an object that can cancel `body` until it begins.
    @discardableResult
    public func asyncAfter(deadline: DispatchTime, execute body: @escaping @Sendable () -> Void) -> DelayedWork {
        unsafe found._withUnsafeGuaranteedRef { $0.queue.asyncAfter(deadline: deadline, body) }
    }

    /// Performs a work item at `deadline`, never early. It does not run if the queue is shut down before.
    @discardableResult
    public func asyncAfter(deadline: DispatchTime, execute item: DispatchWorkItem) -> DelayedWork {
        nonisolated(unsafe) let item = item
        return asyncAfter(deadline: deadline) { unsafe item.perform() }
    }

    /// Waits for its turn, runs `body` on the calling thread, and returns what `body` returns. With `.barrier`, `body`
    /// runs alone.
    ///
    /// It blocks the thread meanwhile, and runs nothing but `body`; tasks may call `queue.run` instead. It is never
    /// refused, and still runs in order after a shutdown. A call from inside the queue's own work stops the program
    /// with a message; `queue.sync(timeout:)` throws instead.
    public func sync<R, E: Error>(flags: DispatchWorkItemFlags = [], execute body: () throws(E) -> R) throws(E) -> R {
        unsafe try found.takeUnretainedValue().sync(flags, body)
    }

    /// Waits for its turn, and performs a work item on the calling thread.
    public func sync(execute item: DispatchWorkItem) {
        sync { item.perform() }
    }
}
