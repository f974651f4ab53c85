import Dispatch

/// The one queue of a name, and what it was made with. It stays for as long as the process, so nobody counts references to it.
@usableFromInline
final class QueueOfName: Sendable {
    private static let all = SnapshotDictionary<String, Unmanaged<QueueOfName>>()

    let queue: WorkQueueBase
    private let configuration: QueueConfig
    private let reported = PriorityMutex([QueueConfig]())

    private init(_ name: String, _ configuration: QueueConfig) {
        self.configuration = configuration
        let qos = configuration.qos.qosClass
        queue = configuration.serial ? WorkQueue(label: name, qos: qos) : ConcurrentWorkQueue(label: name, qos: qos)
    }

    @usableFromInline
    static func find(_ name: String, _ configuration: QueueConfig) -> Unmanaged<QueueOfName> {
        let found = all.read(name) { copy $0 } ?? make(name, configuration)
        found._withUnsafeGuaranteedRef { if !$0.agrees(with: configuration, name) { $0.report(configuration) } }
        return found
    }

    private static func make(_ name: String, _ configuration: QueueConfig) -> Unmanaged<QueueOfName> {
        let made = Unmanaged.passRetained(QueueOfName(name, configuration))
        guard let earlier = all.insertValue(made, forKey: name) else { return made }
        made.release()
        return earlier
    }

    // MARK: - Configurations

    private func agrees(with other: QueueConfig, _ name: String) -> Bool {
        other.serial == configuration.serial && other.qos == configuration.qos && (other.queueID.rawValue.isEmpty || other.queueID.rawValue == name)
    }

    private func report(_ other: QueueConfig) {
        let isNew = reported.withLock { reported in
            if reported.contains(other) { return false }
            reported.append(other)
            return true
        }
        if isNew {
            SyncDiagnostics.report(
                .configurationMismatch, subject: "NamedQueue \(queue.label)",
                message: "asked for as \(Self.text(other)); it was made as \(Self.text(configuration)) and stays so")
        }
    }

    private static func text(_ configuration: QueueConfig) -> String {
        let name = configuration.queueID.rawValue
        return "\(configuration.serial ? "serial" : "concurrent"), \(configuration.qos.qosClass)" + (name.isEmpty ? "" : ", named \(name)")
    }

    // MARK: - Work

    func async(_ qos: DispatchQoS, _ flags: DispatchWorkItemFlags, _ body: @escaping @Sendable () -> Void) -> Bool {
        if flags.contains(.barrier) && !configuration.serial { return queue.core.asyncBarrier(body) }
        return qos == .unspecified ? queue.async(body) : queue.async(priority: CommandPriority(qos.qosClass), body)
    }

    func sync<R, E: Error>(_ flags: DispatchWorkItemFlags, _ body: () throws(E) -> R) throws(E) -> R {
        try queue.core.sync(rank: queue.core.ownRank, barrier: flags.contains(.barrier), body)
    }
}
