import CFaults
import SwiftSync

/// The system gives the library no thread for its timers: a timed wait says so, nothing is lost, and nobody hangs.
enum ThreadFaults {
    static func run() {
        let ended = PrioritySemaphore(value: 0)
        Task {
            await aTimedWaitSaysSo()
            try ended.signal()
        }
        try! ended.blockingWait()
    }

    private static func aTimedWaitSaysSo() async {
        // Without a limit for making no timer runs before.
        let pool = ResourcePool(maximum: 1, makeTimeout: nil, make: { 1 })
        let entered = PrioritySemaphore(value: 0), leave = PrioritySemaphore(value: 0)
        let holder = Task {
            try await pool.withResource { _ in
                try entered.signal()
                try await leave.wait()
            }
        }
        await need("the holder's resource") { try await entered.wait() }
        fault_refuse_threads(true)
        do {
            try await pool.withResource(timeout: .seconds(600)) { _ in }
            fail("a resource was had beside the one that holds all")
        } catch ResourcePoolError.outOfResources {
        } catch { fail("a timed wait without a timer ended with \(error)") }
        let report = await pool.shutdown(timeout: .seconds(600))
        if report.holders.count != 1 || pool.waitingCount != 0 {
            fail("a timed shutdown without a timer reports \(report), \(pool.waitingCount) wait")
        }
        fault_refuse_threads(false)
        await need("the holder's end") {
            try leave.signal()
            try await holder.value
        }
        if await !pool.shutdown().isComplete { fail("the pool did not shut down") }
        print("no thread for timers: the waits said so, and nothing was lost")
    }

    private static func need(_ what: String, _ step: () async throws -> Void) async {
        do { try await step() } catch { fail("\(what): \(error)") }
    }
}
