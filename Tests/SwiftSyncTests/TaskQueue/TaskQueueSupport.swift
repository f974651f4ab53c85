@testable import SwiftSync

/// A task that does what a closure says.
struct ClosureTask: TaskQueue.Task {
    let tag: String
    private let body: @Sendable (QueueLock) -> Void

    init(_ tag: String = "", _ body: @escaping @Sendable (QueueLock) -> Void) {
        self.tag = tag
        self.body = body
    }

    func execute(queueLock: QueueLock) { body(queueLock) }
}

extension TaskQueue {
    /// A queue that no other test knows.
    static func make(_ function: String = #function) -> TaskQueue { TaskQueue(identifier: function) }

    @discardableResult
    func push(_ tag: String = "", _ body: @escaping @Sendable (QueueLock) -> Void) -> Bool {
        push(task: ClosureTask(tag, body))
    }

    /// Pushes a task that lasts until the closure that is returned is called.
    func hold(_ tag: String = "held") -> @Sendable () -> Void {
        let kept = Shared<QueueLock?>(nil)
        push(tag) { lock in kept.access { $0 = lock } }
        return { kept.access { lock in lock.take() }?.release() }
    }
}

extension EventRecorder.Event {
    var short: String { "\(kind) \(tag)" }
}
