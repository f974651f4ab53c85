import Glibc
import Testing

@testable import SwiftSync

/// The replay does what its commands say; the terminal adds waiting, and nothing else.
@Suite(.endsInTime)
struct EventReplayTests {
    private typealias Kind = EventRecorder.Event.Kind

    /// One second apart, of two tasks.
    private static let events: [EventRecorder.Event] = [
        event(0, .pushed, "a"), event(1, .started, "a"), event(2, .pushed, "b"), event(3, .finished, "a"),
        event(4, .started, "b"),
        event(5, .finished, "b"),
    ]

    private static func event(_ seconds: Int64, _ kind: Kind, _ tag: String) -> EventRecorder.Event {
        .init(kind, id: tag == "a" ? 1 : 2, tag: tag, nanoseconds: seconds * 1_000_000_000, thread: 7, depth: 1)
    }

    private var replay: EventReplay { EventReplay(Self.events, clock: WallClock()) }
    private let end = "that was the last event"

    /// Numbers of the events that lines show, and other lines as they are.
    private func short(_ lines: [String]) -> [String] {
        lines.map { line in line.contains("  thread ") ? String(line.prefix { $0 != " " }) : line }
    }

    @Test func stepsShowOneEventAfterTheOther() {
        var replay = replay
        let first = replay.handle("")
        #expect(
            first.count == 1 && first[0].hasPrefix("1  ")
                && first[0].hasSuffix("  +0.000000 s  thread 7  depth 1  Task a pushed to queue"))
        #expect(replay.handle("step")[0].hasSuffix("  +1.000000 s  thread 7  depth 1  Task a started - accuired lock"))
        #expect(short(replay.handle("s 3")) == ["3", "4", "5"])
        #expect(short(replay.handle("step 2")) == ["6", end])
        #expect(replay.handle("step") == [end])
        #expect(replay.handle("step 9223372036854775807") == [end])
    }

    @Test func backShowsEventsAgain() {
        var replay = replay
        _ = replay.handle("step 4")
        #expect(short(replay.handle("back")) == ["3"])
        #expect(short(replay.handle("")) == ["4"])
        #expect(short(replay.handle("back 2")) == ["2"])
        #expect(short(replay.handle("b 100")) == ["1"])
        #expect(short(replay.handle("back")) == ["1"])
    }

    @Test func goJumps() {
        var replay = replay
        #expect(short(replay.handle("go 5")) == ["5"])
        #expect(short(replay.handle("g 1")) == ["1"])
        for wrong in ["go", "go 0", "go 7", "go -1", "go x", "go 99999999999999999999"] {
            #expect(replay.handle(wrong) == ["go needs a number from 1 to 6"])
        }
        #expect(short(replay.handle("")) == ["2"])
    }

    @Test func aTagFilters() {
        var replay = replay
        #expect(replay.handle("tag b") == ["3 of 6 events"])
        #expect(short(replay.handle("step 2")) == ["3", "5"])
        #expect(short(replay.handle("back")) == ["3"])
        #expect(replay.handle("tag nothing like it") == ["0 of 6 events"])
        #expect(replay.handle("") == [end])
        #expect(replay.handle("play") == [end])
        #expect(replay.handle("t") == ["all 6 events"])
        #expect(short(replay.handle("")) == ["4"])
    }

    @Test func aTagFilterWantsAPartOfTheTag() {
        let events = ["page 1", "page 12", "image 1"].enumerated().map { index, tag in
            EventRecorder.Event(.pushed, id: UInt64(index), tag: tag, nanoseconds: Int64(index), thread: 1, depth: 1)
        }
        var replay = EventReplay(events, clock: WallClock())
        #expect(replay.handle("tag page 1") == ["2 of 3 events"])
        #expect(replay.handle("tag 1") == ["3 of 3 events"])
    }

    @Test func playWaitsAsTimePassed() {
        var replay = replay
        #expect(replay.pause == nil && replay.advance() == [])
        #expect(replay.handle("play") == [] && replay.pause == .zero)
        #expect(short(replay.advance()) == ["1"] && replay.pause == .seconds(1))
        #expect(replay.handle("") == ["stopped"] && replay.pause == nil)
        #expect(replay.handle("speed 4") == ["4.0 times as fast"])
        _ = replay.handle("tag b")
        #expect(replay.handle("p") == [] && replay.pause == .milliseconds(500))
        #expect(short(replay.advance()) == ["3"] && replay.pause == .milliseconds(500))
        #expect(short(replay.advance()) == ["5"] && replay.pause == .milliseconds(250))
        #expect(short(replay.advance()) == ["6", end] && replay.pause == nil)
    }

    @Test func aSpeedThatIsNoneIsRefused() {
        var replay = replay
        for wrong in ["speed", "speed 0", "speed -1", "speed nan", "speed inf", "x fast"] {
            #expect(replay.handle(wrong) == ["speed needs a number above 0"])
        }
        #expect(replay.handle("speed 1e-300") == ["1e-300 times as fast"])
        _ = replay.handle("")
        _ = replay.handle("play")
        #expect(replay.pause == .seconds(86_400))
    }

    @Test func whereTellsWhatRunsAndWaits() {
        var replay = replay
        #expect(replay.handle("where") == ["after event 0 of 6", "running: nothing", "waiting: 0"])
        _ = replay.handle("step 3")
        #expect(replay.handle("w") == ["after event 3 of 6", "running: a", "waiting: 1, b first"])
        _ = replay.handle("step 3")
        #expect(replay.handle("where") == ["after event 6 of 6", "running: nothing", "waiting: 0"])
    }

    @Test func whatItDoesNotKnowItSays() {
        var replay = replay
        #expect(replay.handle("jump 3") == ["there is no command 'jump'; help lists them"])
        #expect(replay.handle("step three") == ["'three' is no number of events"])
        #expect(replay.handle("back 0") == ["'0' is no number of events"])
        let named = replay.handle("help").map { $0.prefix { $0 != " " } }
        #expect(named == ["step", "back", "go", "play", "speed", "tag", "where", "quit"])
        #expect(short(replay.handle("  step   2  ")) == ["1", "2"])
        #expect(!replay.isOver && replay.handle("quit") == [] && replay.isOver)
    }

    @Test func noEventsAreNoTrouble() {
        var replay = EventReplay([], clock: WallClock())
        for command in ["", "step 5", "play", "back"] { #expect(replay.handle(command) == [end]) }
        #expect(replay.handle("go 1") == [end])
        #expect(replay.handle("where")[0] == "after event 0 of 0")
        #expect(replay.pause == nil && replay.advance() == [])
    }

    // MARK: The terminal

    private func recorder() -> EventRecorder {
        let recorder = EventRecorder(name: "terminal")
        for tag in ["a", "b"] {
            recorder.record(.pushed, id: 1, tag: tag)
            recorder.record(.started, id: 1, tag: tag)
            recorder.record(.finished, id: 1, tag: tag)
        }
        return recorder
    }

    private func withPipe(_ body: (_ input: Int32, _ keyboard: Int32) -> Void) {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        body(ends[0], ends[1])
        close(ends[0])
    }

    private func type(_ text: String, _ keyboard: Int32) {
        #expect(write(keyboard, text, text.utf8.count) == text.utf8.count)
    }

    @Test func theTerminalReadsCommandsUntilQuit() {
        withPipe { input, keyboard in
            type("\nstep 2\nquit\nstep\n", keyboard)
            var output = ""
            recorder().replayInteractively(input: input) { output += $0 }
            let lines = output.split(separator: "\n")
            #expect(lines.first == "terminal: 6 events; help lists the commands")
            #expect(
                lines.count == 5 && lines[1].hasPrefix("> 1  ") && lines[2].hasPrefix("> 2  ")
                    && lines[3].hasPrefix("3  "))
            #expect(lines.last == "> ")
            close(keyboard)
        }
    }

    @Test func theEndOfTheInputEndsItAndALastLineCounts() {
        withPipe { input, keyboard in
            type("step 3\nwhere", keyboard)
            close(keyboard)
            var output = ""
            recorder().replayInteractively(input: input) { output += $0 }
            #expect(output.hasSuffix("> after event 3 of 6\nrunning: nothing\nwaiting: 0\n> \n"))
        }
    }

    @Test func theTerminalPlaysToTheEndAndReadsOn() {
        withPipe { input, keyboard in
            type("play\n", keyboard)
            var output = ""
            recorder().replayInteractively(input: input) { text in
                output += text
                if text.hasPrefix(end) { type("quit\n", keyboard) }
            }
            #expect(output.split(separator: "\n").filter { $0.contains("Task") }.count == 6)
            close(keyboard)
        }
    }

    @Test func aLineStopsPlaying() {
        withPipe { input, keyboard in
            let recorder = EventRecorder(name: "")
            recorder.record(.pushed, id: 1, tag: "a")
            recorder.record(.started, id: 1, tag: "a")
            type("speed 1e-300\nplay\n", keyboard)
            var output = ""
            // The second event is due in a day.
            recorder.replayInteractively(input: input) { text in
                output += text
                if text.contains("pushed to queue") { type("\nquit\n", keyboard) }
            }
            #expect(output.contains("stopped\n") && !output.contains("accuired"))
            close(keyboard)
        }
    }

    @Test func aDescriptorThatCannotBeReadEndsIt() {
        var output = ""
        for descriptor: Int32 in [-1, 1_000_000] { recorder().replayInteractively(input: descriptor) { output += $0 } }
        #expect(output == String(repeating: "terminal: 6 events; help lists the commands\n> \n", count: 2))
    }
}
