import Testing

@testable import SwiftSync

/// One cell of the table: makes a queue in the state, makes the call, and observes how that ends, and whether before or
/// after the queue is let go.
final class WorkQueueStateTrial: Sendable {
    typealias Table = QueueStateTableWorkQueue

    private let cell: Table.Cell
    private let ended = Shared<Table.Expected?>(nil)
    private let letGo = Flag()

    init(_ cell: Table.Cell) { self.cell = cell }

    /// The first end counts.
    private func end(_ outcome: Table.Outcome) {
        let isLater = letGo.isRaised
        ended.access { if $0 == nil { $0 = isLater ? .later(outcome) : .now(outcome) } }
    }

    private var hasEnded: Bool { ended.value != nil }

    private var whenFull: OverflowPolicy? {
        switch cell.state {
        case .fullRefusing: .refuse
        case .fullWaiting: .wait
        case .fullDropping, .dropped: .dropOldest
        default: nil
        }
    }

    /// The queue has room for one, or no bound.
    func run(_ make: (OverflowPolicy?) -> WorkQueueBase) async {
        var queue: WorkQueueBase? = make(whenFull)
        let release = prepare(queue!)
        let task = await place(on: queue!)
        switch cell.state {
        case .dropped: queue!.async {}
        case .shutDownWithPending: queue!.shutdown(cancelsPending: true)
        case .suspendedThenShutDown: queue!.shutdown()
        case .ownerGone: queue = nil
        default: break
        }
        if cell.mode == .cancelled { task.cancel() }
        if case .now = cell.expected { await waitUntil("the call does not end") { hasEnded } }
        letGo.raise()
        release()
        await waitUntil("the call does not end") { hasEnded }
        await task.value
        #expect(ended.value == cell.expected)
    }

    /// Puts the queue into the state that the call finds. What is returned lets it go on.
    private func prepare(_ queue: WorkQueueBase) -> () -> Void {
        switch cell.state {
        case .suspended, .suspendedThenShutDown, .ownerGone:
            queue.suspend()
            queue.async {}
            return { [weak queue] in queue?.resume() }
        default:
            let blocked = (0..<(queue is WorkQueue ? 1 : 2)).map { _ in Blocked(queue) }
            if [.fullRefusing, .fullWaiting, .fullDropping].contains(cell.state) { queue.async {} }
            if cell.state == .shutDown { queue.shutdown() }
            return { for one in blocked { one.release() } }
        }
    }

    /// Makes the call, and returns once it has ended or stands in the queue, as far as that can be seen.
    private func place(on queue: WorkQueueBase) async -> Task<Void, Never> {
        let begun = Flag(), before = queue.waitingCount
        let task = Task { [self] in await call(queue, begun) }
        await waitUntil { begun.isRaised || hasEnded }
        switch cell.call {
        case .async, .asyncInheriting, .asyncWaitingForRoom:
            // Those that wait for room can't be seen, and whether they wait already makes no difference.
            if cell.state != .fullWaiting {
                await waitUntil { queue.waitingCount > before || hasEnded || cell.state == .fullDropping }
            }
        case .sync, .syncTimed, .run, .runTimed:
            let waitsForRoom = cell.state == .fullWaiting && (cell.call == .runTimed || cell.call == .syncTimed)
            if !waitsForRoom && cell.state != .fullDropping {
                await waitUntil { queue.waitingCount > before || hasEnded }
            }
        case .drain, .drainTimed:
            break
        }
        if case .now(let outcome) = cell.expected, outcome == .full || outcome == .shutDown {
            await waitUntil { hasEnded }
        }
        return task
    }

    private var timeout: TimeLimit { cell.mode == .timeout ? .milliseconds(5) : .never }

    private func call(_ queue: WorkQueueBase, _ begun: Flag) async {
        begun.raise()
        switch cell.call {
        case .async, .asyncInheriting, .asyncWaitingForRoom: await submit(queue)
        case .sync, .syncTimed: await sync(queue)
        case .run: await queue.run { [self] in end(.ran) }
        case .runTimed: await ending { try await queue.run(timeout: timeout) { [self] in end(.ran) } }
        case .drain:
            await ending {
                try await queue.drain()
                end(.ran)
            }
        case .drainTimed:
            await ending {
                try await queue.drain(timeout: timeout)
                end(.ran)
            }
        }
    }

    private func ending(_ body: () async throws -> Void) async {
        do { try await body() } catch { end(Table.Outcome(error)) }
    }

    /// Reports a drop when it goes without having run.
    private final class Token: Sendable {
        let trial: WorkQueueStateTrial
        init(_ trial: WorkQueueStateTrial) { self.trial = trial }
        func run() { trial.end(.ran) }
        deinit { trial.end(.dropped) }
    }

    private func submit(_ queue: WorkQueueBase) async {
        let token = Token(self)
        if cell.call == .asyncWaitingForRoom {
            await ending { try await queue.asyncWaitingForRoom(timeout: timeout) { token.run() } }
        } else {
            await aside { [self] in
                let body: @Sendable () -> Void = { token.run() }
                if !queue.async(inheritingTaskLocals: cell.call == .asyncInheriting, body) { end(.refused) }
            }
        }
        withExtendedLifetime(token) {}
    }

    private func sync(_ queue: WorkQueueBase) async {
        await aside { [self] in
            if cell.call == .sync { return queue.sync { end(.ran) } }
            do { try queue.sync(timeout: timeout) { end(.ran) } } catch { end(Table.Outcome(error)) }
        }
    }

    /// On a thread that may block.
    private func aside(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            onThread {
                body()
                continuation.resume()
            }
        }
    }
}
