import Testing

@testable import SwiftSync

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
        await storage.takeOwnPlace().waitForGrant(at: storage)
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
