import Dispatch
import Glibc

/// The number behind an option of the command line.
private func option(_ name: String) -> Int? {
    guard let at = CommandLine.arguments.firstIndex(of: name), at + 1 < CommandLine.arguments.count else { return nil }
    return Int(CommandLine.arguments[at + 1])
}

// The first and the last probe, how long things may take to end, and after how many failures it stops.
if let number = option("--first") { first = number }
if let number = option("--last") { last = number }
if let seconds = option("--wait") { patience = .seconds(seconds) }
if let number = option("--failures") { mostFailures = number }

// A thread of its own: the main thread serves the main queue.
nonisolated(unsafe) var thread = pthread_t()
pthread_create(
    &thread, nil,
    { _ in
        probeAll()
        put("end \(failures)\n")
        exit(failures == 0 ? 0 : 1)
    }, nil)
dispatchMain()
