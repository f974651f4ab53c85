import SwiftSync
import XCTest

private let lock = ReadWriteCoordinator()
private var shared = 0

/// A property whose getter reads, as the samples have it.
private var globalCount: Int {
	get {
		var count: Int?
		lock.read {
			count = shared
		}
		return count!
	}
}

/// Code as users of CleanroomConcurrency wrote it, in language mode 5.
final class ReadWriteCoordinatorLegacyTests: XCTestCase {
    private final class Resource {
        var lines = [String]()
    }

    func testReadingAndWriting() {
        let lock = ReadWriteCoordinator()
        let resource = Resource()
        var read = [String]()

        lock.enqueueWrite {
            resource.lines.append("written")
        }
        lock.read {
            read = resource.lines
        }
        XCTAssertEqual(read, ["written"])
    }

    func testEnqueueWriteCanBePassedOnAsAFunction() {
        let lock = ReadWriteCoordinator()
        let resource = Resource()
        let enqueue = lock.enqueueWrite(_:)

        _ = enqueue { resource.lines.append("written") }
        XCTAssertEqual(lock.read { resource.lines }, ["written"])
    }

    func testAPropertyGetterSeesTheWritesBeforeIt() {
        for number in 1...100 {
            lock.enqueueWrite {
                shared = number
            }
            XCTAssertEqual(globalCount, number)
        }
    }

    func testWritesCaptureMutableVariables() {
        let lock = ReadWriteCoordinator(queueLabel: "legacy")
        var count = 0
        let add: () -> Void = { count += 1 }
        for _ in 0..<10 { lock.enqueueWrite(add) }
        lock.enqueueWrite { count += 1 }
        XCTAssertEqual(lock.read { count }, 11)
    }

    func testReadsReturnAndThrowAndWritesMayBlockTheCaller() throws {
        struct Failure: Error {}
        let lock = ReadWriteCoordinator()
        var state = [1: "one"]
        lock.blockingWrite { state[2] = "two" }
        XCTAssertEqual(lock.read { state[2] }, "two")
        XCTAssertThrowsError(try lock.read { throw Failure() })
        XCTAssertThrowsError(try lock.blockingWrite { throw Failure() })
    }

    func testAWriteRunsAsynchronouslyAndAReadSubmittedBeforeItRunsBeforeIt() {
        let lock = ReadWriteCoordinator()
        var state = "before", seen = ""
        lock.read {
            lock.enqueueWrite { state = "after" }    // Waits for this read, and yet returns at once.
            seen = state
        }
        XCTAssertEqual(seen, "before")
        XCTAssertEqual(lock.read { state }, "after")
    }

    func testReadsRunConcurrently() {
        let lock = ReadWriteCoordinator(), first = expectation(description: "first"), second = expectation(description: "second")
        let inFirst = DispatchSemaphore(value: 0), inSecond = DispatchSemaphore(value: 0)
        DispatchQueue.global().async { lock.read { inFirst.signal(); inSecond.wait() }; first.fulfill() }
        Thread { lock.read { inSecond.signal(); inFirst.wait() }; second.fulfill() }.start()
        wait(for: [first, second], timeout: 10)
    }
}
