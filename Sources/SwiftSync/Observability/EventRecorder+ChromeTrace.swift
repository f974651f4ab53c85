#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension EventRecorder {
    /// Returns the events as JSON in the Chrome trace format, which ui.perfetto.dev and `chrome://tracing` open.
    ///
    /// Each task is a span from its push to its end. Inside it a span with the task's tag begins at its start, so the
    /// part before is how long the task waited. The queue's depth is a counter. Each thread shows its events as
    /// instants. Tasks that still run have no end. It takes O(events) time and memory, about 500 bytes an event.
    ///
    /// ```swift
    /// try queue.recorder.chromeTrace().write(to: file, atomically: true, encoding: .utf8)
    /// ```
    public func chromeTrace() -> String {
        Self.chromeTrace(of: [self])
    }

    /// Puts the events of several queues into one trace, on one time scale.
    public static func chromeTrace(of recorders: [EventRecorder]) -> String {
        var trace = ChromeTrace()
        for (index, recorder) in recorders.enumerated() { trace.add(recorder.events, of: recorder.name, index: index) }
        return trace.json()
    }
}

/// Builds the JSON text. The format is described in "Trace Event Format", Google, 2016.
struct ChromeTrace {
    private let process = getpid()
    private var entries: [String] = []
    private var threads: Set<Int32> = []

    mutating func add(_ events: [EventRecorder.Event], of label: String, index: Int) {
        let queue = Self.quoted(label)
        var phases: [UInt64: Phase] = [:]
        for event in events {
            threads.insert(event.thread)
            let name = Self.quoted(event.tag), id = #"{"local":"\#(index).\#(event.id)"}"#
            func span(_ phase: String, _ span: String) {
                let arguments = #"{"tag":\#(name),"id":\#(event.id)}"#
                entries.append(entry(phase, span, event, #""cat":\#(queue),"id2":\#(id),"args":\#(arguments)"#))
            }
            // An item that began before the kept events has no beginning here, so it gets no end either.
            switch event.kind {
            case .pushed:
                span("b", queue)
                phases[event.id] = .waiting
            case .started:
                if phases[event.id] == nil { span("b", queue) }
                span("b", name)
                phases[event.id] = .running
            case .finished, .cancelled, .dropped:
                if phases[event.id] == .running { span("e", name) }
                if phases.removeValue(forKey: event.id) != nil { span("e", queue) }
            }
            entries.append(
                entry(
                    "i", Self.quoted("\(event.kind) \(event.tag)"), event,
                    #""cat":\#(queue),"s":"t","args":{"id":\#(event.id)}"#))
            entries.append(
                entry("C", Self.quoted("\(label) depth"), event, #""id":"\#(index)","args":{"depth":\#(event.depth)}"#))
        }
    }

    private enum Phase { case waiting, running }

    func json() -> String {
        let names =
            [metadata("process_name", process, Self.quoted(Self.processName))]
            + threads.sorted().map { metadata("thread_name", $0, Self.quoted(Self.name(ofThread: $0))) }
        return #"{"displayTimeUnit":"ns","traceEvents":["# + "\n" + (names + entries).joined(separator: ",\n")
            + "\n]}\n"
    }

    private func entry(_ phase: String, _ name: String, _ event: EventRecorder.Event, _ rest: String) -> String {
        #"{"ph":"\#(phase)","name":\#(name),"pid":\#(process),"tid":\#(event.thread),"#
            + #""ts":\#(Self.microseconds(event.nanoseconds)),\#(rest)}"#
    }

    private func metadata(_ name: String, _ thread: Int32, _ value: String) -> String {
        #"{"ph":"M","name":"\#(name)","pid":\#(process),"tid":\#(thread),"args":{"name":\#(value)}}"#
    }

    /// Writes three digits after the point, so that no nanosecond is lost in a binary fraction.
    private static func microseconds(_ nanoseconds: Int64) -> String {
        "\(nanoseconds / 1000).\((nanoseconds % 1000).padded(to: 3))"
    }

    private static var processName: String {
        CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "process"
    }

    /// Returns the name that the thread has now, or its number if it has ended.
    private static func name(ofThread thread: Int32) -> String {
        let descriptor = unsafe open("/proc/self/task/\(thread)/comm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "thread \(thread)" }
        defer { close(descriptor) }
        return unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { buffer in
            let count = unsafe read(descriptor, buffer.baseAddress, buffer.count)
            guard count > 1 else { return "thread \(thread)" }
            return unsafe String(decoding: buffer[..<(count - 1)], as: UTF8.self)
        }
    }

    /// Returns a JSON string with its quotes.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{0}"..<" ": quoted += "\\u" + scalar.value.padded(to: 4, radix: 16)
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
