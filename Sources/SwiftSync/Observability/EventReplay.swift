/// Goes through events step by step, by commands. It takes lines of input, and gives lines of output.
///
/// ``EventRecorder/replayInteractively(input:output:)`` drives one in a terminal. A program with another user interface
/// drives it with three members:
///
/// ```swift
/// var replay = EventReplay(of: queue.recorder)
/// for line in replay.handle("tag page 1") { print(line) }    // only events of tasks whose tag contains "page 1"
/// for line in replay.handle("step 2") { print(line) }        // the next two of them
/// for line in replay.handle("play") { print(line) }
/// while replay.pause != nil {                                // would wait that long between two events
///     for line in replay.advance() { print(line) }
/// }
/// ```
///
/// `help` lists the commands. A replay is a plain value: nothing here blocks.
public struct EventReplay: Sendable {
    typealias Event = EventRecorder.Event

    /// True once `quit` was entered.
    public private(set) var isOver = false

    private let events: [EventRecorder.Event]
    private let clock: WallClock
    /// Events before this one were shown or skipped.
    private var position = 0
    private var tag = ""
    private var speed = 1.0
    private var isPlaying = false
    /// The time of the event that was shown last.
    private var shown: Int64?

    /// Replays the events that the recorder has now. It is O(events).
    public init(of recorder: EventRecorder) {
        self.init(recorder.events, clock: WallClock())
    }

    init(_ events: [EventRecorder.Event], clock: WallClock) {
        self.events = events
        self.clock = clock
    }

    /// The time to wait before ``advance()`` while events are played: the time between the events, divided by the
    /// speed. It is nil when none are played.
    public var pause: Duration? {
        guard isPlaying, let next = next(from: position) else { return nil }
        guard let shown else { return .zero }
        // A pause is never longer than a day.
        return .nanoseconds(Int64(min(Double(events[next].nanoseconds - shown) / speed, 86_400e9)))
    }

    /// Returns the line of the next event, while events are played. Otherwise it returns no line.
    public mutating func advance() -> [String] {
        guard isPlaying else { return [] }
        let line = step()
        if line != nil, next(from: position) != nil { return [line!] }
        isPlaying = false
        return (line.map { [$0] } ?? []) + [Self.end]
    }

    /// Executes the command in `line`, and returns the lines to show. Any line stops playing, even an empty one.
    public mutating func handle(_ line: String) -> [String] {
        let wasPlaying = isPlaying
        isPlaying = false
        let words = line.split(maxSplits: 1, omittingEmptySubsequences: true, whereSeparator: \.isWhitespace).map(
            String.init)
        let argument = words.count > 1 ? words[1].trimmed : nil
        switch words.first {
        case nil: return wasPlaying ? ["stopped"] : steps(1)
        case "s", "step": return withCount(argument) { $0.steps($1) }
        case "b", "back": return withCount(argument) { $0.back($1) }
        case "g", "go": return go(argument)
        case "p", "play": return play()
        case "t", "tag": return filter(argument ?? "")
        case "x", "speed": return setSpeed(argument)
        case "w", "where": return whereabouts()
        case "h", "help", "?": return Self.help
        case "q", "quit":
            isOver = true
            return []
        case let unknown?: return ["there is no command '\(unknown)'; help lists them"]
        }
    }

    // MARK: Commands

    private static let end = "that was the last event"

    private static let help = [
        "step [n]    the next event, or the next n; an empty line is one step",
        "back [n]    one event back, or n, and shows it again",
        "go n        to event n, without showing those between",
        "play        shows event after event as time passed between them, until a line is entered",
        "speed x     plays x times as fast",
        "tag text    only events whose tag contains text; without text all again",
        "where       what runs and what waits now",
        "quit        leaves",
    ]

    private mutating func steps(_ count: Int) -> [String] {
        var lines: [String] = []
        while lines.count < count {
            guard let line = step() else { return lines + [Self.end] }
            lines.append(line)
        }
        return lines
    }

    private mutating func back(_ count: Int) -> [String] {
        // The event shown last is the one before the position. The event before that one is to be shown.
        var index = position, left = count + 1
        while left > 0, let previous = events[..<index].lastIndex(where: matches) {
            index = previous
            left -= 1
        }
        position = index
        shown = nil
        return steps(1)
    }

    private mutating func go(_ argument: String?) -> [String] {
        guard let argument, let number = Int(argument), (1...max(events.count, 1)).contains(number) else {
            return ["go needs a number from 1 to \(events.count)"]
        }
        position = number - 1
        shown = nil
        return steps(1)
    }

    private mutating func play() -> [String] {
        guard next(from: position) != nil else { return [Self.end] }
        isPlaying = true
        return []
    }

    private mutating func filter(_ text: String) -> [String] {
        tag = text
        let count = events.lazy.filter(matches).count
        return [text.isEmpty ? "all \(count) events" : "\(count) of \(events.count) events"]
    }

    private mutating func setSpeed(_ argument: String?) -> [String] {
        guard let argument, let value = Double(argument), value > 0, value.isFinite else {
            return ["speed needs a number above 0"]
        }
        speed = value
        return ["\(value) times as fast"]
    }

    /// Counts over all events, whatever the filter shows.
    private func whereabouts() -> [String] {
        var waiting: [UInt64: String] = [:], running: [UInt64: String] = [:]
        for event in events[..<position] {
            switch event.kind {
            case .pushed: waiting[event.id] = event.tag
            case .started:
                waiting[event.id] = nil
                running[event.id] = event.tag
            case .finished, .cancelled, .dropped:
                waiting[event.id] = nil
                running[event.id] = nil
            }
        }
        let names = running.sorted { $0.key < $1.key }.map(\.value)
        let first = waiting.min { $0.key < $1.key }.map { ", \($0.value) first" } ?? ""
        return [
            "after event \(position) of \(events.count)",
            "running: \(names.isEmpty ? "nothing" : names.joined(separator: ", "))",
            "waiting: \(waiting.count)\(first)",
        ]
    }

    private mutating func withCount(_ argument: String?, _ body: (inout EventReplay, Int) -> [String]) -> [String] {
        guard let argument else { return body(&self, 1) }
        guard let count = Int(argument), count > 0 else { return ["'\(argument)' is no number of events"] }
        return body(&self, min(count, events.count + 1))
    }

    // MARK: Events

    private mutating func step() -> String? {
        guard let index = next(from: position) else { return nil }
        let event = events[index], microseconds = (event.nanoseconds - (shown ?? event.nanoseconds)) / 1000
        let since = "+\(microseconds / 1_000_000).\((microseconds % 1_000_000).padded(to: 6)) s"
        position = index + 1
        shown = event.nanoseconds
        return
            "\(index + 1)  \(clock.time(event.nanoseconds))  \(since)  thread \(event.thread)  depth \(event.depth)  "
            + event.text
    }

    private func next(from position: Int) -> Int? {
        events[position...].firstIndex(where: matches)
    }

    private func matches(_ event: EventRecorder.Event) -> Bool {
        tag.isEmpty || event.tag.contains(tag)
    }
}

extension BinaryInteger {
    /// Digits in base ten or another, with zeros in front: `7.padded(to: 2)` is `07`. It is for numbers from zero up.
    func padded(to count: Int, radix: Int = 10) -> String {
        let digits = String(self, radix: radix)
        return String(repeating: "0", count: max(count - digits.count, 0)) + digits
    }
}

extension String {
    fileprivate var trimmed: String {
        var text = drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
