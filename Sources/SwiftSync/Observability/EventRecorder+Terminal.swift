import CSyncKernel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension EventRecorder {
    /// Replays the events in a terminal. It reads commands until `quit` or the end of the input, and writes what
    /// ``EventReplay`` answers.
    ///
    /// It blocks while it waits for input, and as `output` does. Events that are recorded meanwhile are not shown.
    ///
    /// - Parameters:
    ///   - input: a file descriptor from which lines are read. The default is the standard input.
    ///   - output: gets the text, with its line ends. The default prints it.
    public func replayInteractively(input: Int32 = STDIN_FILENO, output: (String) -> Void = EventRecorder.printAtOnce) {
        var replay = EventReplay(of: self), lines = InputLines(descriptor: input)
        func show(_ lines: [String]) {
            for line in lines { output(line + "\n") }
        }
        output("\(name): \(events.count) events; help lists the commands\n")
        while !replay.isOver {
            let pause = replay.pause
            if pause == nil { output("> ") }
            switch lines.next(within: pause) {
            case .line(let line): show(replay.handle(line))
            case .nothingYet: show(replay.advance())
            case .end: return output("\n")
            }
        }
    }

    /// Prints text that does not end a line, so that it is seen at once.
    @usableFromInline
    static func printAtOnce(_ text: String) {
        print(text, terminator: "")
        fflush(nil)
    }
}

/// Reads lines from a file descriptor, and waits for them until a deadline.
private struct InputLines {
    enum Found { case line(String), nothingYet, end }

    let descriptor: Int32
    private var bytes: [UInt8] = []
    private var isAtEnd = false

    init(descriptor: Int32) {
        self.descriptor = descriptor
        // poll would wait for a negative descriptor for ever.
        isAtEnd = descriptor < 0
    }

    /// A nil `pause` waits without a limit.
    mutating func next(within pause: Duration?) -> Found {
        let deadline = Deadline.after(timeout: pause)
        while true {
            if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                defer { bytes.removeFirst(end + 1) }
                return .line(String(decoding: bytes[..<end], as: UTF8.self))
            }
            if isAtEnd {
                // A last line without a line end counts.
                defer { bytes = [] }
                return bytes.isEmpty ? .end : .line(String(decoding: bytes, as: UTF8.self))
            }
            guard waitForInput(until: pause == nil ? nil : deadline) else { return .nothingYet }
            read()
        }
    }

    /// Returns false when the deadline has passed.
    private func waitForInput(until deadline: Int64?) -> Bool {
        while true {
            var milliseconds: Int32 = -1
            if let deadline {
                let left = deadline == Deadline.passed ? 0 : deadline - csk_now()
                milliseconds = Int32(clamping: (max(left, 0) + 999_999) / 1_000_000)
            }
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let count = unsafe poll(&request, 1, milliseconds)
            // An error is found by reading.
            if count > 0 || (count < 0 && errno != EINTR) { return true }
            if count == 0 { return false }
        }
    }

    private mutating func read() {
        let count = unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4096) { buffer in
            let count = unsafe readBytes(descriptor, buffer.baseAddress, buffer.count)
            if count > 0 { unsafe bytes.append(contentsOf: buffer[..<count]) }
            return count
        }
        if count == 0 || (count < 0 && errno != EINTR) { isAtEnd = true }
    }
}

/// The C library's function, which has the name of a method above.
private func readBytes(_ descriptor: Int32, _ place: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    unsafe read(descriptor, place, count)
}
