import SwiftSync
import XCTest

/// The type of a queue's recorder by its short name, in language mode 5.
final class RecorderLegacyTests: XCTestCase {
    private struct Step: TaskQueue.Task {
        let tag: String
        func execute(queueLock: QueueLock) { queueLock.release() }
    }

    /// What users write who keep a queue's recorder, or make one.
    private class Log {
        let recorder: Recorder
        init(_ recorder: Recorder) { self.recorder = recorder }

        var lines: [String] {
            var lines: [String] = []
            recorder.reply { lines.append($0) }
            return lines
        }
    }

    func testARecorderIsKeptByItsShortName() {
        let queue = TaskQueue.getQueue(identifier: "RecorderLegacyTests")
        let log = Log(queue.recorder)
        queue.push(task: Step(tag: "one"))
        XCTAssertEqual(
            log.lines.map { String($0.dropFirst("13:49:20: ".count)) },
            ["Task one pushed to queue", "Task one started - accuired lock", "Task one finished - released lock"])
        let kinds: [Recorder.Event.Kind] = log.recorder.events.map { $0.kind }
        XCTAssertEqual(kinds, [.pushed, .started, .finished])
    }

    func testARecorderIsMadeByItsShortName() {
        let recorder = Recorder(name: "log")
        let same: EventRecorder = recorder
        XCTAssertTrue(same === recorder)
        XCTAssertTrue(Log(recorder).lines.isEmpty)
    }
}
