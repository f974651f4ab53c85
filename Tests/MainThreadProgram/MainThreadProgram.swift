import Dispatch
import Foundation
import SwiftSync

/// Serves its main thread as the argument says, and shows what ran there: GlobalFunctionsTests runs it.
@main
struct MainThreadProgram {
    @MainActor private static var events: [String] = []

    static func main() {
        Thread.detachNewThread(giveWork)
        switch CommandLine.arguments.last {
        case "dispatchMain": dispatchMain()
        case "runLoop": RunLoop.main.run(until: Date(timeIntervalSinceNow: 10))
        default: break
        }
        fatalError("the work has not come to its end")
    }

    @MainActor private static func note(_ event: String) {
        MainActor.preconditionIsolated()
        events.append(event)
    }

    /// A precondition is left out by -Ounchecked, with the calls in its condition.
    private static func mustHold(_ condition: Bool, line: UInt = #line) {
        if !condition { fatalError("it does not hold", line: line) }
    }

    private static func giveWork() {
        let start = ContinuousClock.now
        mainThread { note("first") }
        mainThread(delay: -1) { note("now") }
        mainThread(delay: 0.002) {
            mustHold(ContinuousClock.now - start >= .milliseconds(2))
            note("delayed")
        }

        // Work whose time has come, but which the main thread has not begun, is cancelled.
        let inside = DispatchSemaphore(value: 0), leave = DispatchSemaphore(value: 0),
            timeHasCome = DispatchSemaphore(value: 0)
        mainThread(delay: 0.003) {
            inside.signal()
            leave.wait()
        }
        inside.wait()
        let late = mainThread(delay: 0.001) { fatalError("cancelled work ran") }
        async(delay: 0.002) { timeHasCome.signal() }
        timeHasCome.wait()
        mustHold(late.cancel() && !late.cancel())
        leave.signal()

        mainThread {
            note("cancelled")
            print(events.joined(separator: " "))
            exit(0)
        }
    }
}
