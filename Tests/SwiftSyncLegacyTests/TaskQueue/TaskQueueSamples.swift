import Dispatch
import Foundation
import SwiftSync
import XCTest

extension Double {
    /// The sample's own function, with a shorter range: milliseconds for seconds.
    static func random0to10() -> Double { .random(in: 0...0.010) }
}

// As the samples have it; the protocol is nested here.
private typealias Task = TaskQueue.Task

private struct TestTask: Task {   // 4
    var tag: String
    func execute(queueLock: QueueLock) {    // 5
        DispatchQueue.main.asyncAfter(deadline: .now() + Double.random0to10()) {
            queueLock.release()   // 6
        }
    }
}

/// What the README of SimpleTaskQueue shows, in language mode 5.
final class TaskQueueSamples: XCTestCase {
    func testBackpressure() throws {
        // Simulating 20 rapid events that trigger random length tasks
        let queue = TaskQueue.getQueue(identifier: "TestQueue")   // 1
        _ = (1...20).map {
                queue.push(task: TestTask(tag: "RandomTask\($0)"))  // 2
        }
        print("Hi, MainThread is not blocked by tasks!!")
        XCTAssertFalse(queue.isIdle)

        let replied = expectation(description: "replied")
        let observation = queue.observe { change in
            if change == .idle { replied.fulfill() }
        }
        wait(for: [replied], timeout: 10)
        observation.end()

        // Replay events happened to the queue after sometime
        var lines: [String] = []
        queue.recorder.reply { lines.append($0) }   // 3
        // 20 pushes, of which the first starts at once, and then in turn the end of each task and the start of the next.
        var expected = ["Task RandomTask1 pushed to queue", "Task RandomTask1 started - accuired lock"]
        expected += (2...20).map { "Task RandomTask\($0) pushed to queue" }
        for number in 1...19 {
            expected += ["Task RandomTask\(number) finished - released lock", "Task RandomTask\(number + 1) started - accuired lock"]
        }
        expected.append("Task RandomTask20 finished - released lock")
        XCTAssertEqual(lines.map { String($0.dropFirst("13:49:20: ".count)) }, expected)
        let time = try NSRegularExpression(pattern: "^[0-2][0-9]:[0-5][0-9]:[0-6][0-9]: Task ")
        for line in lines {
            XCTAssertEqual(time.numberOfMatches(in: line, range: NSRange(location: 0, length: line.utf16.count)), 1, line)
        }
    }

    func testQueuesAreSingletons() {
        XCTAssertTrue(TaskQueue.getQueue(identifier: "TestQueue.a") === TaskQueue.getQueue(identifier: "TestQueue.a"))
        XCTAssertFalse(TaskQueue.getQueue(identifier: "TestQueue.a") === TaskQueue.getQueue(identifier: "TestQueue.b"))
    }

    /// "One obvious example is when using a UICollectionView": changes of the data wait until what shows them is done.
    func testChangesOfTheDataWaitForTheDisplay() {
        final class Screen {
            var data: [Int] = []
            var shown: [[Int]] = []
        }
        class Update: Task {
            let tag = "update"
            let screen: Screen
            let item: Int
            let done: XCTestExpectation
            init(_ screen: Screen, _ item: Int, _ done: XCTestExpectation) {
                self.screen = screen
                self.item = item
                self.done = done
            }
            func execute(queueLock: QueueLock) {
                screen.data.append(item)
                let before = screen.data
                DispatchQueue.main.async {
                    XCTAssertEqual(self.screen.data, before)
                    self.screen.shown.append(self.screen.data)
                    queueLock.release()
                    self.done.fulfill()
                }
            }
        }
        let queue = TaskQueue.getQueue(identifier: "TestQueue.display"), screen = Screen()
        let done = expectation(description: "shown")
        done.expectedFulfillmentCount = 3
        for item in 1...3 { queue.push(task: Update(screen, item, done)) }
        wait(for: [done], timeout: 10)
        XCTAssertEqual(screen.shown, [[1], [1, 2], [1, 2, 3]])
    }
}
