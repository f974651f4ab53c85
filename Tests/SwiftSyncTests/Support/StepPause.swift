import Dispatch
import Testing

@testable import SwiftSync

/// Stops the first thread that comes to a step of the library (`testStep`), until the test lets it go on.
///
/// ```swift
/// let pause = StepPause("SuspendedWaiter: queues")
/// let thread = Thread { pause.within { value.set(1) } }    // only what runs inside is stopped
/// await pause.isReached()
/// …                                                        // what shall come in between
/// pause.goOn()
/// thread.join()
/// ```
///
/// Tests run beside each other, so a pause must know which thread is meant: one that runs inside `within`, or with a
/// `subject` any thread that comes by on behalf of this object (a worker, a timer). A task that is to be stopped runs
/// on `OwnThreads`: the threads of the language's own pool are few, and the test itself needs one.
final class StepPause: Sendable {
    @TaskLocal private static var inside: [ObjectIdentifier] = []

    private enum State { case armed, reached, over }

    private let state = Shared(State.armed)
    private let listener = Shared<Int?>(nil)
    private let gate = DispatchSemaphore(value: 0)

    init(_ name: String, subject: AnyObject? = nil) {
        let identifier = subject.map(ObjectIdentifier.init)
        let id = TestSteps.add { [weak self] reached, object in
            guard let self, reached == name else { return }
            let isMeant = identifier.map { identifier in object.map(ObjectIdentifier.init) == identifier }
            if isMeant ?? Self.inside.contains(ObjectIdentifier(self)) { self.stop() }
        }
        listener.access { $0 = id }
    }

    deinit { goOn() }

    /// Runs `body`, which the pause is meant for, on the calling thread.
    func within<R>(_ body: () throws -> R) rethrows -> R {
        try Self.$inside.withValue(Self.inside + [ObjectIdentifier(self)]) { try body() }
    }

    /// The same in a task, and in its child tasks.
    func within<R>(isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> R) async rethrows -> R {
        try await Self.$inside.withValue(Self.inside + [ObjectIdentifier(self)]) { try await body() }
    }

    private func stop() {
        let isFirst = state.access { state in
            defer { if state == .armed { state = .reached } }
            return state == .armed
        }
        if isFirst { gate.wait() }
    }

    /// Waits until a thread has come to the step, and stands there.
    func isReached(
        isolation: isolated (any Actor)? = #isolation, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        await waitUntil("nobody came to the step", isolation: isolation, sourceLocation: sourceLocation) {
            state.value != .armed
        }
    }

    /// The same on a thread of the test's own.
    func waitUntilReached(sourceLocation: SourceLocation = #_sourceLocation) {
        waitUntil("nobody came to the step", sourceLocation: sourceLocation) { state.value != .armed }
    }

    /// Lets the thread go on, and stops nobody from now on.
    func goOn() {
        let wasReached = state.access { state in
            defer { state = .over }
            return state == .reached
        }
        if wasReached { gate.signal() }
        if let id = listener.access({ $0.take() }) { TestSteps.remove(id) }
    }
}

/// Runs each job of a task on a thread of its own, which a pause may stop.
final class OwnThreads: TaskExecutor {
    static let shared = OwnThreads()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        onThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
