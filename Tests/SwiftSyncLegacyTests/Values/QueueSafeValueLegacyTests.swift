import Dispatch
import SwiftSync
import XCTest

/// Code as users of QueueSafeValue and CriticalSection wrote it, in language mode 5.
final class QueueSafeValueLegacyTests: XCTestCase {
    private final class Box<T>: @unchecked Sendable {
        var value: T?
    }

    /// Runs `body` on a queue as the samples do, and waits for what it hands out.
    private func on<T>(_ queue: DispatchQueue, _ body: @escaping (@escaping (T) -> Void) -> Void) -> T {
        let done = expectation(description: "done")
        let result = Box<T>()
        queue.async { body { value in result.value = value; done.fulfill() } }
        wait(for: [done], timeout: 10)
        return result.value!
    }

    func testGetSynchronously() {
        let queueSafeValue = QueueSafeValue(value: true)
        let first: Bool? = on(.global(qos: .utility)) { finish in
            let result = queueSafeValue.wait.lowestPriority.get()
            switch result {
            case .failure(let error): print(error); finish(nil)
            case .success(let value): finish(value)
            }
        }
        XCTAssertEqual(first, true)
        let queueSafeSyncedValue = QueueSafeSyncedValue(value: "a")
        XCTAssertEqual(queueSafeSyncedValue.lowestPriority.get(), .success("a"))
    }

    func testGetInsideACommandClosure() {
        let queueSafeValue = QueueSafeValue(value: 6)
        let value: Int = on(.global(qos: .unspecified)) { finish in
            queueSafeValue.wait.lowestPriority.get { result in
                switch result {
                case .failure(let error): print(error)
                case .success(let value): finish(value)
                }
            }
        }
        XCTAssertEqual(value, 6)
        let queueSafeSyncedValue = QueueSafeSyncedValue(value: [1, 2, 3])
        queueSafeSyncedValue.lowestPriority.get { result in XCTAssertEqual(result, .success([1, 2, 3])) }
    }

    func testGetWithManualCompletion() {
        let queueSafeValue = QueueSafeValue(value: 4.44)
        let value: Double = on(.global(qos: .unspecified)) { finish in
            queueSafeValue.wait.highestPriority.get { result, done in
                switch result {
                case .failure(let error): print(error)
                case .success(let value): finish(value)
                }
                done()  // Must always be executed (called). Can be called in another DispatchQueue.
            }
        }
        XCTAssertEqual(value, 4.44)
        let queueSafeSyncedValue = QueueSafeSyncedValue(value: 4.45)
        queueSafeSyncedValue.highestPriority.get { result, done in
            XCTAssertEqual(result, .success(4.45))
            DispatchQueue.global().async { done() }
        }
    }

    func testSetSynchronously() {
        let queueSafeValue = QueueSafeValue<Int>(value: 1)
        let updated: Result<Int, QueueSafeValueError> = on(.global(qos: .userInitiated)) { finish in
            finish(queueSafeValue.wait.lowestPriority.set(newValue: 2))
        }
        XCTAssertEqual(updated, .success(2))
        let queueSafeSyncedValue = QueueSafeSyncedValue(value: "b")
        XCTAssertEqual(queueSafeSyncedValue.lowestPriority.set(newValue: "b1"), .success("b1"))
    }

    func testSetInsideAnAccessClosure() {
        let queueSafeValue = QueueSafeValue(value: 1)
        XCTAssertEqual(queueSafeValue.wait.lowestPriority.set { $0 = 3 }, .success(3))
        let queueSafeSyncedValue = QueueSafeSyncedValue(value: ["a": 1])
        XCTAssertEqual(queueSafeSyncedValue.lowestPriority.set { $0["b"] = 2 }, .success(["a": 1, "b": 2]))
    }

    func testSetWithManualCompletion() {
        let queueSafeValue = QueueSafeValue(value: "value 1")
        let result = queueSafeValue.wait.lowestPriority.set { currentValue, done in
            currentValue = "value 2"
            done()
        }
        XCTAssertEqual(result, .success("value 2"))
        let queueSafeSyncedValue = QueueSafeSyncedValue(value: "value a")
        let synced = queueSafeSyncedValue.lowestPriority.set { currentValue, done in
            currentValue = "value b"
            DispatchQueue.global().async { done() }
        }
        XCTAssertEqual(synced, .success("value b"))
    }

    func testMap() {
        let queueSafeValue = QueueSafeValue(value: 5)
        XCTAssertEqual(queueSafeValue.wait.lowestPriority.map { "\($0)" }, .success("5"))
        let queueSafeSyncedValue = QueueSafeSyncedValue(value: "1")
        XCTAssertEqual(queueSafeSyncedValue.lowestPriority.map { Int($0) }, .success(1))
    }

    func testAsyncGet() {
        let done = expectation(description: "four results")
        done.expectedFulfillmentCount = 4
        let queueSafeValue = QueueSafeValue(value: true)
        queueSafeValue.async(performIn: .global(qos: .utility)).highestPriority.get { result in
            if result == .success(true) { done.fulfill() }
        }
        let queueSafeAsyncedValue = QueueSafeAsyncedValue(value: true, queue: .global(qos: .utility))
        queueSafeAsyncedValue.highestPriority.get { result in
            if result == .success(true) { done.fulfill() }
        }
        queueSafeValue.async(performIn: .global(qos: .utility)).highestPriority.get { result, finished in
            if result == .success(true) { done.fulfill() }
            finished()
        }
        queueSafeAsyncedValue.highestPriority.get { result, finished in
            if result == .success(true) { done.fulfill() }
            finished()
        }
        wait(for: [done], timeout: 10)
    }

    func testAsyncSet() {
        let done = expectation(description: "results")
        done.expectedFulfillmentCount = 3
        let queueSafeValue = QueueSafeValue(value: 7)
        queueSafeValue.async(performIn: .main).highestPriority.set(newValue: 8)
        queueSafeValue.async(performIn: .main).highestPriority.set(newValue: 9) { result in
            if result == .success(9) { done.fulfill() }
        }
        let other = QueueSafeValue(value: 1)
        other.async(performIn: .background).highestPriority.set { $0 = 10 }
        other.async(performIn: .background).highestPriority.set { currentValue in
            currentValue = 11
        } completion: { result in
            if result == .success(11) { done.fulfill() }
        }
        let manual = QueueSafeAsyncedValue(value: 1000.1, queue: .global(qos: .userInteractive))
        manual.highestPriority.set { currentValue, finished in
            currentValue = 1000.2
            finished()
        }
        manual.highestPriority.set { currentValue, finished in
            currentValue = 1000.3
            finished()
        } completion: { result in
            if result == .success(1000.3) { done.fulfill() }
        }
        wait(for: [done], timeout: 10)
    }

    func testCriticalSection() {
        let cs = CriticalSection()
        var executed = 0
        cs.execute {
            executed += 1
        }
        let success = cs.executeWithTimeout(1.0) {
            executed += 1
        }
        if !success {
            XCTFail("nobody holds it")
        }
        XCTAssertEqual(executed, 2)
    }
}
