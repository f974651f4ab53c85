import Dispatch
import Synchronization

/// The one queue of a name, and the configuration that it was made with. It lives as long as the process, so references
/// to it are not counted.
@usableFromInline
final class QueueOfName: Sendable {
    private static let all = unsafe SnapshotDictionary<String, Unmanaged<QueueOfName>>()

    private let name: String
    let queue: WorkQueueBase
    private let configuration: QueueConfig
    private let reported = PriorityMutex([QueueConfig]())

    private init(_ name: String, _ configuration: QueueConfig) {
        self.name = name
        self.configuration = configuration
        let priority = CommandPriority(configuration.qos.qosClass)
        queue =
            configuration.serial
            ? WorkQueue(name: name, priority: priority) : ConcurrentWorkQueue(name: name, priority: priority)
    }

    @usableFromInline
    static func find(_ name: String, _ configuration: QueueConfig) -> Unmanaged<QueueOfName> {
        let found = unsafe FirstLook.find(name) ?? all.read(name) { unsafe copy $0 } ?? make(name, configuration)
        unsafe found._withUnsafeGuaranteedRef { if !$0.agrees(with: configuration) { $0.report(configuration) } }
        return unsafe found
    }

    private static func make(_ name: String, _ configuration: QueueConfig) -> Unmanaged<QueueOfName> {
        let made = unsafe Unmanaged.passRetained(QueueOfName(name, configuration))
        if let earlier = unsafe all.insertValue(made, forKey: name) {
            unsafe made.release()
            return unsafe earlier
        }
        unsafe FirstLook.remember(made, name)
        return unsafe made
    }

    // MARK: - The first look

    /// A small table of queues in front of the dictionary. A queue's place in the table depends on a few bytes of its
    /// name, because hashing a whole name costs more than all the rest. The first queue at a place keeps it. Queues
    /// whose names share a place are found in the dictionary.
    private enum FirstLook {
        private static let count = 256
        nonisolated(unsafe) private static let places = {
            let places = UnsafeMutablePointer<Atomic<Unmanaged<QueueOfName>?>>.allocate(capacity: count)
            for index in 0..<count { unsafe (places + index).initialize(to: Atomic(nil)) }
            return unsafe places
        }()

        static func find(_ name: String) -> Unmanaged<QueueOfName>? {
            guard let found = unsafe places[place(of: name)].load(ordering: .acquiring) else { return nil }
            return unsafe found._withUnsafeGuaranteedRef { $0.name == name } ? found : nil
        }

        static func remember(_ queue: Unmanaged<QueueOfName>, _ name: String) {
            _ = unsafe places[place(of: name)].compareExchange(expected: nil, desired: queue, ordering: .releasing)
        }

        /// Computes the place from the length and the last eight bytes, in which the names of a program differ.
        private static func place(of name: String) -> Int {
            let hash = unsafe name.utf8.withContiguousStorageIfAvailable { bytes in
                let tail =
                    unsafe bytes.count < 8
                    ? bytes.reduce(0) { $0 << 8 | UInt64($1) }
                    : unsafe UnsafeRawBufferPointer(bytes).loadUnaligned(
                        fromByteOffset: bytes.count - 8, as: UInt64.self)
                return tail &+ UInt64(bytes.count)
            }
            return Int(truncatingIfNeeded: ((hash ?? 0) &* 0x9E37_79B9_7F4A_7C15) >> 56)
        }
    }

    // MARK: - Configurations

    private func agrees(with other: QueueConfig) -> Bool {
        other.serial == configuration.serial && other.qos == configuration.qos
            && (other.queueID.rawValue.isEmpty || other.queueID.rawValue == name)
    }

    private func report(_ other: QueueConfig) {
        let isNew = reported.withLock { reported in
            if reported.contains(other) { return false }
            reported.append(other)
            return true
        }
        if isNew {
            SyncDiagnostics.report(
                .configurationMismatch, subject: "NamedQueue \(queue.name)",
                message: "asked for as \(Self.text(other)); it was made as \(Self.text(configuration)) and stays so")
        }
    }

    private static func text(_ configuration: QueueConfig) -> String {
        let name = configuration.queueID.rawValue
        return "\(configuration.serial ? "serial" : "concurrent"), \(configuration.qos.qosClass)"
            + (name.isEmpty ? "" : ", named \(name)")
    }

    // MARK: - Work

    @usableFromInline
    func async(_ body: @escaping @Sendable () -> Void) -> Bool {
        queue.core.async(body)
    }

    func async(_ qos: DispatchQoS, _ flags: DispatchWorkItemFlags, _ body: @escaping @Sendable () -> Void) -> Bool {
        if flags.contains(.barrier) && !configuration.serial { return queue.core.asyncBarrier(body) }
        return qos == .unspecified ? queue.async(body) : queue.async(priority: CommandPriority(qos.qosClass), body)
    }

    func sync<R, E: Error>(_ flags: DispatchWorkItemFlags, _ body: () throws(E) -> R) throws(E) -> R {
        let isBarrier = flags.contains(.barrier)
        return try queue.core.sync(rank: queue.core.rankOfWait(barrier: isBarrier), barrier: isBarrier, body)
    }
}
