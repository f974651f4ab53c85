import Glibc
import SwiftSync

/// A closure that the library runs on a thread of its own traps. The runtime's handler has to come: it prints where.
enum CrashFaults {
    private static let snapshot = Snapshot(Retired())

    static func run(_ place: String) {
        let queue = WorkQueue(name: "crashing")
        let coordinator = ReadWriteCoordinator()
        switch place {
        case "async": queue.async { trap(#line) }
        case "delayed": queue.async(after: .milliseconds(1)) { trap(#line) }
        case "write": coordinator.enqueueWrite { trap(#line) }
        case "deinit": snapshot.store(Retired())
        default: fail("usage: faults crash async | delayed | write | deinit")
        }
        while true { pause() }
    }

    private final class Retired: Sendable {
        deinit {
            trap(#line)
        }
    }

    private static func trap(_ line: Int) {
        print("the trap is at line \(line)")
        fflush(nil)
        fatalError("on purpose")
    }
}
