import Testing

@testable import SwiftSync

/// What becomes of each call on a work queue in each state: nothing stops the program, nothing hangs, and each call
/// ends as the table says.
@Suite(.endsInTime)
struct QueueStateTableWorkQueue {
    enum State: String, CaseIterable, Sendable {
        /// Full when the call comes: by the bound's three kinds.
        case fullRefusing, fullWaiting, fullDropping
        /// More work comes to a full queue that drops its oldest, after the call.
        case dropped
        case suspended
        /// Shut down before the call, or, with what waits, after it.
        case shutDown, shutDownWithPending
        /// Shut down after the call, while it is suspended.
        case suspendedThenShutDown
        /// The last reference goes after the call, while it is suspended.
        case ownerGone
    }

    enum Call: String, CaseIterable, Sendable {
        case async, asyncInheriting, asyncWaitingForRoom, sync, syncTimed, run, runTimed, drain, drainTimed
    }

    enum Mode: Int, CaseIterable, Sendable { case plain, timeout, cancelled }

    enum Outcome: Sendable {
        case ran, refused, dropped, full, shutDown, timedOut, cancelled

        init(_ error: any Error) {
            switch error as? WorkQueueError {
            case .full: self = .full
            case .shutDown: self = .shutDown
            case .timedOut: self = .timedOut
            case .cancelled: self = .cancelled
            default: fatalError("\(error)")
            }
        }
    }

    enum Expected: Equatable, Sendable {
        /// While what is before it still holds the queue.
        case now(Outcome)
        /// Not before that has let go.
        case later(Outcome)
    }

    struct Cell: Sendable, CustomTestStringConvertible {
        let state: State, call: Call, mode: Mode, expected: Expected
        var testDescription: String { "\(state), \(call), \(mode)" }
    }

    /// For each call: without a limit, with a timeout that passes, cancelled while it waits. Nil: there is no such
    /// call, or none that could be told from another.
    private static let table: [(State, [(Call, Expected?, Expected?, Expected?)])] = [
        (
            .fullRefusing,
            [
                (.async, .now(.refused), nil, nil),
                (.asyncInheriting, .now(.refused), nil, nil),
                (.asyncWaitingForRoom, .now(.full), .now(.full), .now(.full)),
                (.sync, .later(.ran), nil, nil),
                (.syncTimed, .now(.full), .now(.full), nil),
                (.run, .later(.ran), nil, .later(.ran)),
                (.runTimed, .now(.full), .now(.full), .now(.full)),
                (.drain, .later(.ran), nil, .now(.cancelled)),
                (.drainTimed, .later(.ran), .now(.timedOut), .now(.cancelled)),
            ]
        ),
        (
            .fullWaiting,
            [
                (.async, .later(.ran), nil, nil),
                (.asyncInheriting, .later(.ran), nil, nil),
                (.asyncWaitingForRoom, .later(.ran), .now(.timedOut), .now(.cancelled)),
                (.sync, .later(.ran), nil, nil),
                (.syncTimed, .later(.ran), .now(.timedOut), nil),
                (.run, .later(.ran), nil, .later(.ran)),
                (.runTimed, .later(.ran), .now(.timedOut), .now(.cancelled)),
                (.drain, .later(.ran), nil, .now(.cancelled)),
                (.drainTimed, .later(.ran), .now(.timedOut), .now(.cancelled)),
            ]
        ),
        (
            .fullDropping,
            [
                (.async, .later(.ran), nil, nil),
                (.asyncInheriting, .later(.ran), nil, nil),
                (.asyncWaitingForRoom, .later(.ran), nil, nil),
                (.sync, .later(.ran), nil, nil),
                (.syncTimed, .later(.ran), .now(.timedOut), nil),
                (.run, .later(.ran), nil, .later(.ran)),
                (.runTimed, .later(.ran), .now(.timedOut), .now(.cancelled)),
                (.drain, .later(.ran), nil, .now(.cancelled)),
                (.drainTimed, .later(.ran), .now(.timedOut), .now(.cancelled)),
            ]
        ),
        (
            .dropped,
            [
                (.async, .now(.dropped), nil, nil),
                (.asyncInheriting, .now(.dropped), nil, nil),
                (.asyncWaitingForRoom, .now(.dropped), nil, nil),
                (.sync, .later(.ran), nil, nil),
                (.syncTimed, .now(.cancelled), nil, nil),
                (.run, .later(.ran), nil, .later(.ran)),
                (.runTimed, .now(.cancelled), nil, nil),
            ]
        ),
        (
            .suspended,
            [
                (.async, .later(.ran), nil, nil),
                (.asyncInheriting, .later(.ran), nil, nil),
                (.asyncWaitingForRoom, .later(.ran), nil, nil),
                (.sync, .later(.ran), nil, nil),
                (.syncTimed, .later(.ran), .now(.timedOut), nil),
                (.run, .later(.ran), nil, .later(.ran)),
                (.runTimed, .later(.ran), .now(.timedOut), .now(.cancelled)),
                (.drain, .later(.ran), nil, .now(.cancelled)),
                (.drainTimed, .later(.ran), .now(.timedOut), .now(.cancelled)),
            ]
        ),
        (
            .shutDown,
            [
                (.async, .now(.refused), nil, nil),
                (.asyncInheriting, .now(.refused), nil, nil),
                (.asyncWaitingForRoom, .now(.shutDown), .now(.shutDown), .now(.shutDown)),
                (.sync, .later(.ran), nil, nil),
                (.syncTimed, .now(.shutDown), .now(.shutDown), nil),
                (.run, .later(.ran), nil, .later(.ran)),
                (.runTimed, .now(.shutDown), .now(.shutDown), .now(.shutDown)),
                (.drain, .later(.ran), nil, .now(.cancelled)),
                (.drainTimed, .later(.ran), .now(.timedOut), .now(.cancelled)),
            ]
        ),
        (
            .shutDownWithPending,
            [
                (.async, .now(.dropped), nil, nil),
                (.asyncInheriting, .now(.dropped), nil, nil),
                (.asyncWaitingForRoom, .now(.dropped), nil, nil),
                (.sync, .later(.ran), nil, nil),
                (.syncTimed, .now(.cancelled), nil, nil),
                (.run, .later(.ran), nil, .later(.ran)),
                (.runTimed, .now(.cancelled), nil, nil),
                (.drain, .later(.ran), nil, .now(.cancelled)),
                (.drainTimed, .later(.ran), .now(.timedOut), .now(.cancelled)),
            ]
        ),
        (
            .suspendedThenShutDown,
            [
                (.async, .now(.ran), nil, nil),
                (.asyncInheriting, .now(.ran), nil, nil),
                (.asyncWaitingForRoom, .now(.ran), nil, nil),
                (.sync, .now(.ran), nil, nil),
                (.syncTimed, .now(.ran), nil, nil),
                (.run, .now(.ran), nil, .now(.ran)),
                (.runTimed, .now(.ran), nil, nil),
                (.drain, .now(.ran), nil, nil),
                (.drainTimed, .now(.ran), nil, nil),
            ]
        ),
        // The other calls keep the queue until they return.
        (
            .ownerGone,
            [
                (.async, .now(.ran), nil, nil),
                (.asyncInheriting, .now(.ran), nil, nil),
                (.asyncWaitingForRoom, .now(.ran), nil, nil),
            ]
        ),
    ]

    static let cells = table.flatMap { state, rows in
        rows.flatMap { call, plain, timeout, cancelled in
            zip(Mode.allCases, [plain, timeout, cancelled]).compactMap { mode, expected in
                expected.map { Cell(state: state, call: call, mode: mode, expected: $0) }
            }
        }
    }

    @Test(arguments: cells)
    func aSerialQueueDoesWhatTheTableSays(_ cell: Cell) async {
        await WorkQueueStateTrial(cell).run { whenFull in
            let label = "\(cell.state)"
            return whenFull.map { WorkQueue(name: label, capacity: 1, whenFull: $0) } ?? WorkQueue(name: label)
        }
    }

    @Test(arguments: cells)
    func aConcurrentQueueDoesWhatTheTableSays(_ cell: Cell) async {
        await WorkQueueStateTrial(cell).run { whenFull in
            let label = "\(cell.state)"
            return whenFull.map { ConcurrentWorkQueue(name: label, width: 2, capacity: 1, whenFull: $0) }
                ?? ConcurrentWorkQueue(name: label, width: 2)
        }
    }
}
