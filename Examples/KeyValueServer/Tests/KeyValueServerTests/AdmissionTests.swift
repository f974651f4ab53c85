import Dispatch
import Synchronization
import XCTest

@testable import KeyValueServer

final class AdmissionTests: XCTestCase {
    /// Commands that block until they are let go, and a record of which began.
    private final class Gate: Sendable {
        let begun = Mutex<[Int]>([])
        let entered = DispatchSemaphore(value: 0)
        let exit = DispatchSemaphore(value: 0)

        func pass(_ number: Int) {
            begun.withLock { $0.append(number) }
            entered.signal()
            exit.wait()
        }
    }

    func testEachWayRunsEverythingAndNoMoreAtOnceThanPermits() {
        for kind in AdmissionKind.allCases {
            let costly = CostlyCommands(kind, permits: 2, isNice: false)
            let running = Atomic(0), most = Atomic(0), ended = Atomic(0)
            for index in 0..<300 {
                costly.run(ClientPriority.allCases[index % 3]) {
                    most.max(running.wrappingAdd(1, ordering: .relaxed).newValue, ordering: .relaxed)
                    for _ in 0..<100 { _ = ContinuousClock.now }
                    running.wrappingSubtract(1, ordering: .relaxed)
                    ended.wrappingAdd(1, ordering: .relaxed)
                }
            }
            XCTAssertTrue(costly.stop(until: .now + .seconds(60)), "\(kind)")
            XCTAssertEqual(ended.load(ordering: .relaxed), 300, "\(kind)")
            XCTAssertLessThanOrEqual(most.load(ordering: .relaxed), 2, "\(kind)")
            XCTAssertEqual(costly.waitingCount + costly.runningCount, 0, "\(kind)")
        }
    }

    /// The ways that know priorities serve by them; the others by arrival.
    func testWhoIsNext() {
        let arrivals: [ClientPriority] = [.low, .normal, .high, .low, .normal, .high]
        let byPriority = [3, 6, 2, 5, 1, 4], byArrival = [1, 2, 3, 4, 5, 6]
        let expected: [(AdmissionKind, [Int])] = [
            (.prioritysemaphore, byPriority), (.operationqueue, byPriority), (.dispatchsemaphore, byArrival),
            (.niothreadpool, byArrival), (.asyncsemaphore, byArrival),
        ]
        for (kind, order) in expected {
            let costly = CostlyCommands(kind, permits: 1, isNice: false)
            let gate = Gate()
            costly.run(.normal) { gate.pass(0) }
            gate.entered.wait()
            for (index, priority) in arrivals.enumerated() { costly.run(priority) { gate.pass(index + 1) } }
            XCTAssertEqual(costly.waitingCount, arrivals.count)
            for _ in 0...arrivals.count { gate.exit.signal() }
            XCTAssertTrue(costly.stop(until: .now + .seconds(60)), "\(kind)")
            XCTAssertEqual(gate.begun.withLock { $0 }, [0] + order, "\(kind)")
        }
    }

    func testWhatWaitsAtTheEndIsGivenUp() {
        for kind in AdmissionKind.allCases {
            let costly = CostlyCommands(kind, permits: 1, isNice: false)
            let gate = Gate()
            costly.run(.normal) { gate.pass(0) }
            gate.entered.wait()
            costly.run(.high) { gate.pass(1) }
            DispatchQueue.global().async {
                while !costly.isGivenUp.load(ordering: .relaxed) { sched_yield() }
                gate.exit.signal()
            }
            XCTAssertFalse(costly.stop(until: .now), "\(kind)")
            XCTAssertEqual(gate.begun.withLock { $0 }, [0], "\(kind)")
        }
    }

    /// The whole way through a server: a client's priority is told to the admission, and `INFO` says which it is.
    func testAServerAdmitsByThePriorityOfItsClients() throws {
        for kind in AdmissionKind.allCases {
            var options = ServerOptions()
            options.port = 0
            options.threads = 2
            options.admission = kind
            options.permits = 1
            let server = try Server.start(options)
            defer { server.stop() }
            let client = Client(port: server.port)
            client.expect("CLIENT PRIORITY high\r\nRPUSH l 2 1\r\n", "+OK\r\n:2\r\n")
            client.expect("SORT l\r\nLRANGE l 0 -1\r\n", "*2\r\n$1\r\n1\r\n$1\r\n2\r\n*2\r\n$1\r\n2\r\n$1\r\n1\r\n")
            let name = kind.rawValue
            client.expect(
                "CONFIG GET admission admission-permits\r\n",
                "*4\r\n$9\r\nadmission\r\n$\(name.utf8.count)\r\n\(name)\r\n$17\r\nadmission-permits\r\n$1\r\n1\r\n")
        }
    }
}
