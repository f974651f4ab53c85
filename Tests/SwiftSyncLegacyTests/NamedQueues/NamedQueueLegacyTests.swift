import Dispatch
import SwiftSync
import XCTest

/// The article's enum: its cases are the labels of the queues, and say how urgent their work is.
enum Queue: String, NamedQueue {
    case database = "io.zamzam.databaseQueue"
    case transform = "io.zamzam.transformQueue"
    case network = "io.zamzam.networkQueue"

    var configuration: QueueConfiguration {
        let qos: DispatchQoS = self == .database ? .utility
            : self == .transform ? .userInitiated
            : self == .network ? .userInitiated
            : .background
        return QueueConfiguration(queueID: QueueConfig.QueueID(rawValue: rawValue), qos: qos)
    }
}

// What its first comment proposes.
extension QueueConfig.QueueID {
    static let database: QueueConfig.QueueID = "io.zamzam.databaseQueue"
    static let transform = QueueConfig.QueueID(rawValue: "io.zamzam.transformQueue")
    static let network: QueueConfig.QueueID = "io.zamzam.networkQueue"
}

extension DispatchQueue {
    @nonobjc static let database: DispatchQueue = DispatchQueue(config: QueueConfig(queueID: .database, qos: .utility))
    @nonobjc static let transform: DispatchQueue = DispatchQueue(config: QueueConfig(queueID: .transform, qos: .userInitiated))
    @nonobjc static let network: DispatchQueue = DispatchQueue(config: QueueConfig(queueID: .network, qos: .userInitiated, serial: false))
}

/// Code as readers of the article wrote it, in language mode 5.
final class NamedQueueLegacyTests: XCTestCase {
    func testEachCaseRunsItsWorkOnItsOwnQueueInOrder() {
        var rows: [Int] = []
        for row in 0..<100 {
            Queue.database.async { rows.append(row) }
        }
        Queue.transform.async {
            // Do my thread-based work
        }
        Queue.network.async {
            // Do my thread-based work
        }
        XCTAssertEqual(Queue.database.sync { rows }, Array(0..<100))
    }

    func testQueuesRunBesideEachOther() {
        let inDatabase = DispatchSemaphore(value: 0), inNetwork = DispatchSemaphore(value: 0)
        let done = expectation(description: "both")
        Queue.database.async { inDatabase.signal(); inNetwork.wait(); done.fulfill() }
        Queue.network.async { inNetwork.signal(); inDatabase.wait() }
        wait(for: [done], timeout: 10)
    }

    func testAWorkItemIsExecutedUnlessItWasCancelled() {
        var log: [String] = []
        let item = DispatchWorkItem { log.append("item") }
        let cancelled = DispatchWorkItem { log.append("cancelled") }
        cancelled.cancel()
        Queue.database.async(execute: item)
        Queue.database.async(execute: cancelled)
        XCTAssertEqual(item.wait(timeout: .now() + 10), .success)
        Queue.database.async(flags: .barrier) { log.append("barrier") }
        XCTAssertEqual(Queue.database.sync { log }, ["item", "barrier"])
    }

    func testTheOtherMethodsOfAQueueAreThere() {
        let done = expectation(description: "after")
        let start = DispatchTime.now()
        Queue.transform.asyncAfter(deadline: .now() + 0.005) {
            XCTAssertGreaterThanOrEqual(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds, 5_000_000)
            done.fulfill()
        }
        XCTAssertEqual(Queue.transform.sync { 2 + 2 }, 4)
        wait(for: [done], timeout: 10)
    }

    func testAConfigurationMakesAPlainDispatchQueue() {
        let done = expectation(description: "done")
        DispatchQueue.database.async { done.fulfill() }
        wait(for: [done], timeout: 10)
        XCTAssertEqual(DispatchQueue.database.label, Queue.database.rawValue)
        XCTAssertEqual(DispatchQueue.transform.qos.qosClass, .userInitiated)
        XCTAssertTrue(DispatchQueue.database === DispatchQueue.database)
    }
}
