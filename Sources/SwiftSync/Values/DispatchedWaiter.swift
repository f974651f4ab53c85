import Dispatch
import Glibc

/// A waiter whose work is performed on a dispatch queue once it is resolved.
///
/// Commands that wait for one value and are performed on one queue share dispatches: when such a command leaves, and the next in
/// order belongs to the same queue, the block that is running goes on with that one. It does so only where no code of the user
/// follows in the block, which might wait for the next command, and for at most ``commandsPerBlock`` commands.
class DispatchedWaiter: GateWaiter, @unchecked Sendable {
    final let queue: DispatchQueue

    /// Lets other blocks of the queue run in between.
    private static var commandsPerBlock: Int { 64 }

    init(queue: DispatchQueue) {
        self.queue = queue
    }

    /// The work, on the queue.
    func begin(_ status: Int32) {
        fatalError("QueueSafeValue: \(Self.self) does not say what it does on its queue")
    }

    final override func resolve(_ status: Int32) {
        if status == 0, let block = RunningBlock.leaving, block.queue === queue {
            block.next = self
        } else {
            queue.async { self.run(status) }
        }
    }

    /// Leaves a gate at the end of a command after which the block has nothing else to do.
    final func leaveLast(_ leave: () -> Void) {
        guard let block = RunningBlock.current else { return leave() }
        RunningBlock.leaving = block
        leave()
        RunningBlock.leaving = nil
    }

    private func run(_ status: Int32) {
        let block = RunningBlock(queue)
        let outer = RunningBlock.current
        RunningBlock.current = block
        defer { RunningBlock.current = outer }
        begin(status)
        for _ in 1..<Self.commandsPerBlock {
            guard let next = block.takeNext() else { return }
            next.begin(0)
        }
        if let next = block.takeNext() { queue.async { next.run(0) } }
    }
}

/// A block on a dispatch queue that performs commands, one after the other.
private final class RunningBlock {
    let queue: DispatchQueue
    var next: DispatchedWaiter?

    init(_ queue: DispatchQueue) {
        self.queue = queue
    }

    func takeNext() -> DispatchedWaiter? {
        defer { next = nil }
        return next
    }

    private static let currentKey = newKey()
    private static let leavingKey = newKey()

    private static func newKey() -> pthread_key_t {
        var key = pthread_key_t()
        let status = pthread_key_create(&key, nil)
        guard status == 0 else { fatalError("QueueSafeValue: this process has no thread-specific key left") }
        return key
    }

    /// The block that this thread runs.
    static var current: RunningBlock? {
        get { read(currentKey) }
        set { write(newValue, currentKey) }
    }

    /// The same while the thread leaves a gate and a command that it grants may be performed in this block.
    static var leaving: RunningBlock? {
        get { read(leavingKey) }
        set { write(newValue, leavingKey) }
    }

    private static func read(_ key: pthread_key_t) -> RunningBlock? {
        pthread_getspecific(key).map { Unmanaged<RunningBlock>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Not retained: `run` keeps the block for as long as it is set.
    private static func write(_ block: RunningBlock?, _ key: pthread_key_t) {
        pthread_setspecific(key, block.map { UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) })
    }
}
