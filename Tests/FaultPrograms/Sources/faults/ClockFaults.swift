import Glibc
import SwiftSync

/// The wall clock is set ahead or back by an hour while every kind of timed wait is under way, and nobody is early or
/// late for it.
///
/// To be run with libfaketime: the program steps its own clock by the file that `FAKETIME_TIMESTAMP_FILE` names.
enum ClockFaults {
    /// Time to set the clock while all wait; and what a busy machine may need, far less than the step.
    private static let span = Duration.seconds(1), limit = TimeLimit.after(span)
    private static let latest = Duration.seconds(31)

    /// A wait, and whether it timed out.
    private struct TimedWait: Sendable {
        let name: String
        let timesOut: @Sendable () -> Bool
    }

    static func run() {
        step(to: 0)
        aWaitByTheWallClockGoesWrong()
        let waits = makeWaits()
        for hours in [1, -1] { stepDuring(waits, hours: hours) }
        print(
            "\(waits.count) kinds of timed waits, the clock set ahead and back by an hour meanwhile: "
                + "none was early or late")
    }

    private static func makeWaits() -> [TimedWait] {
        let mutex = PriorityMutex(0)
        let section = CriticalSection()
        let value = QueueSafeValue(value: 0)
        let empty = BlockingPriorityQueue<Int>()
        let full = BlockingPriorityQueue<Int>(capacity: 1)
        full.push(1)
        hold { inside in mutex.withLock { _ in inside() } }
        hold { inside in section.execute(inside) }
        hold { inside in value.wait.lowestPriority.set { _ in inside() } }
        return [
            TimedWait(name: "PriorityMutex") { mutex.withLock(priority: .normal, timeout: limit) { _ in } == nil },
            TimedWait(name: "CriticalSection.execute") { !section.execute(timeout: span) {} },
            TimedWait(name: "executeWithTimeout") { !section.executeWithTimeout(1) {} },
            TimedWait(name: "wait(timeout:)") {
                value.wait(timeout: limit).lowestPriority.get() == .failure(.timedOut)
            },
            TimedWait(name: "async") {
                let results = BlockingPriorityQueue<Result<Int, QueueSafeValueError>>()
                value.async(performIn: .global(), timeout: limit).lowestPriority.get { results.push($0) }
                return results.pop() == .failure(.timedOut)
            },
            TimedWait(name: "suspending") {
                let results = BlockingPriorityQueue<Result<Int, QueueSafeValueError>>()
                Task.detached { results.tryPush(await value.suspending(timeout: limit).get()) }
                return results.pop() == .failure(.timedOut)
            },
            TimedWait(name: "pop(timeout:)") {
                do throws(BlockingPriorityQueueError) { return try empty.pop(timeout: limit) == nil } catch {
                    return error == .timedOut
                }
            },
            TimedWait(name: "push(timeout:)") {
                do throws(BlockingPriorityQueueError) { try full.push(2, timeout: limit) } catch {
                    return error == .timedOut
                }
                return false
            },
        ]
    }

    /// Everybody waits; then the clock is set, and nobody has ended by then.
    private static func stepDuring(_ waits: [TimedWait], hours: Int) {
        step(to: 0)
        let wallBegan = time(nil)
        let begun = PriorityMutex(0), ended = PriorityMutex(0)
        let threads = waits.map { wait in
            Thread {
                let began = ContinuousClock.now
                begun.withLock { $0 += 1 }
                let timedOut = wait.timesOut()
                let took = ContinuousClock.now - began
                ended.withLock { $0 += 1 }
                guard timedOut else { fail("\(wait.name) did not time out") }
                guard took >= span && took < latest else { fail("\(wait.name) with a step of \(hours) h took \(took)") }
            }
        }
        while begun.withLock({ $0 }) < waits.count { sched_yield() }
        step(to: hours)
        let wallTook = time(nil) - wallBegan
        guard ended.withLock({ $0 }) == 0 else { fail("a wait had ended before the clock was set") }
        guard abs(wallTook - hours * 3600) <= 2 else { fail("the wall clock went \(wallTook) s instead of \(hours) h") }
        threads.forEach { $0.join() }
    }

    /// What the others would do, did they wait by the wall clock: shows that a step is felt.
    private static func aWaitByTheWallClockGoesWrong() {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
        var deadline = timespec()
        clock_gettime(CLOCK_REALTIME, &deadline)
        deadline.tv_sec += 60
        step(to: 1)
        let began = ContinuousClock.now
        pthread_mutex_lock(mutex)
        let status = pthread_cond_timedwait(condition, mutex, &deadline)
        let took = ContinuousClock.now - began
        guard status == ETIMEDOUT && took < .seconds(30) else {
            fail("a wait by the wall clock was not early: \(took)")
        }
        pthread_mutex_unlock(mutex)
        pthread_mutex_destroy(mutex)
        pthread_cond_destroy(condition)
        mutex.deallocate()
        condition.deallocate()
    }

    /// Runs a closure that holds something, on a thread of its own, for the rest of the process.
    private static func hold(_ body: @escaping @Sendable (() -> Void) -> Void) {
        let entered = BlockingPriorityQueue<Int>()
        Thread {
            body {
                entered.push(1)
                while true { pause() }
            }
        }.detach()
        _ = entered.pop()
    }

    private static func step(to hours: Int) {
        guard let path = getenv("FAKETIME_TIMESTAMP_FILE").map({ String(cString: $0) }),
            let file = fopen(path + ".new", "w")
        else {
            fail("run this with libfaketime and FAKETIME_TIMESTAMP_FILE")
        }
        fputs("\(hours < 0 ? "-" : "+")\(abs(hours) * 3600)\n", file)
        fclose(file)
        // At once: whoever asks for the time reads the file.
        guard rename(path + ".new", path) == 0 else { fail("the file with the time can't be replaced") }
    }
}
