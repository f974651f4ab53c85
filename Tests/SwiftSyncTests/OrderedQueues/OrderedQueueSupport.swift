import Testing

@testable import SwiftSync

/// What tasks wait at until the test opens it.
final class Door: Sendable {
    private let state = Shared((isOpen: false, waiting: [UnsafeContinuation<Void, Never>]()))

    func open() {
        let waiting = state.access { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        waiting.forEach { $0.resume() }
    }

    func pass() async {
        await withUnsafeContinuation { continuation in
            let isOpen = state.access { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}

extension FIFOQueue {
    /// Submits work that ends when the door is opened, and waits until it has begun: what is submitted from now on is
    /// pending.
    func stopAtDoor() async -> Door {
        let door = Door(), began = Flag()
        enqueue {
            began.raise()
            await door.pass()
        }
        await waitUntil { began.isRaised }
        return door
    }
}

extension ActorQueue {
    /// Takes the turn, so that what is submitted from now on is pending until the closure that is returned is called.
    /// No thread is blocked meanwhile, as work that keeps the actor would do.
    func stop() async -> @Sendable () async -> Void {
        let actor = storage.actorOrStop()
        await storage.takeOwnPlace().waitForGrant(at: storage.box)
        return { [storage] in await Self.run(in: storage, on: actor, nil) { _ in } }
    }
}

/// An actor with a log, and a queue of its own.
actor Ledger {
    private(set) var lines = [Int]()
    nonisolated let queue: ActorQueue<Ledger>
    private let tracked: Tracked?

    init(tracked: Tracked? = nil, queue: ActorQueue<Ledger> = ActorQueue()) {
        self.tracked = tracked
        self.queue = queue
        queue.adoptExecutionContext(of: self)
    }

    func write(_ line: Int) { lines.append(line) }
    func nothing() {}
}

/// A random priority of a task.
func anyPriority(_ random: inout Seeded) -> TaskPriority {
    [TaskPriority.background, .low, .medium, .high].randomElement(using: &random)!
}

extension Semaphore {
    /// Blocks the thread until another has signalled.
    static func blockBriefly() {
        let semaphore = Semaphore()
        onThread { semaphore.signal() }
        semaphore.wait()
    }
}
