import Glibc

/// `faults allocations` or `faults clock`; see there. Ends with 0 if all is as it should be.
@main
struct Faults {
    static func main() {
        switch CommandLine.arguments.dropFirst().first {
        case "allocations": AllocationFaults.run()
        case "clock": ClockFaults.run()
        default: fail("usage: faults allocations | clock")
        }
    }
}

/// Says what is wrong and ends the process at once, whatever its other threads do.
func fail(_ message: String) -> Never {
    var line = "faults: \(message)\n"
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    _exit(1)
}
