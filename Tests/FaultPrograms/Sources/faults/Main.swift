import Glibc

/// `faults allocations`, `faults threads`, `faults clock` or `faults crash PLACE`; see there. Ends with 0 if all is as
/// it should be; a crash by its signal.
@main
struct Faults {
    static func main() {
        switch CommandLine.arguments.dropFirst().first {
        case "allocations": AllocationFaults.run()
        case "threads": ThreadFaults.run()
        case "clock": ClockFaults.run()
        case "crash": CrashFaults.run(CommandLine.arguments.dropFirst(2).first ?? "")
        default: fail("usage: faults allocations | threads | clock | crash PLACE")
        }
    }
}

/// Says what is wrong and ends the process at once, whatever its other threads do.
func fail(_ message: String) -> Never {
    var line = "faults: \(message)\n"
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    _exit(1)
}
