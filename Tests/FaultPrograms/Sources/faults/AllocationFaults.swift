import CFaults
import Dispatch
import Glibc
import SwiftSync

/// Each allocation of a program that uses every type fails once, in a process of its own. Swift has no way to tell a
/// caller, so its runtime stops the program, nearly always with a message; libdispatch and the concurrency runtime
/// trap, or use the null pointer. What may not happen is a hang, a wrong result, or a crash in any other place.
enum AllocationFaults {
    private static let endings = [
        "Fatal error: failed to allocate": "stopped by the Swift runtime with its message",
        // The runtime's own calls of swift_slowAlloc end in a trap, those of C++'s operator new by an exception that
        // nobody catches.
        "stopped in libswiftCore.so\n": "stopped by the Swift runtime without a message",
        "terminate called after throwing an instance of 'std::bad_alloc'":
            "stopped by an exception of the runtime's C++",
        "stopped in libdispatch.so\n": "stopped by libdispatch",
        "stopped in libswift_Concurrency.so\n": "stopped by the concurrency runtime",
    ]

    static func run() {
        var counts: [String: Int] = [:]
        var unfailed = fault_attempt(0, 30, { AllocationFaults.useEverything() })
        guard fault_exited_well(&unfailed) else { fail("without a fault: \(String(cString: fault_output(&unfailed)))") }
        for which in Int64(1)... {
            var attempt = fault_attempt(which, 30, { AllocationFaults.useEverything() })
            let output = String(cString: fault_output(&attempt))
            guard let ending = ending(&attempt, output) else {
                fail("allocation \(which) failed: wait status \(attempt.status): \(output)")
            }
            // How many there are differs from run to run by what other threads are about.
            if !attempt.failed && attempt.asked + 20 < which { break }
            if attempt.failed { counts[ending, default: 0] += 1 }
        }
        guard counts.values.reduce(0, +) >= 30 else { fail("only \(counts) allocations failed") }
        for (ending, count) in counts.sorted(by: { $0.key < $1.key }) {
            print("\(count) failed allocations: \(ending)")
        }
    }

    /// Nil where the end is none of those allowed.
    private static func ending(_ attempt: inout fault_attempt_t, _ output: String) -> String? {
        if fault_exited_well(&attempt) { return "nothing happened" }
        guard attempt.failed, fault_signal(&attempt) != 0 else { return nil }
        return endings.first { output.hasPrefix($0.key) }?.value
    }

    private static func check(_ condition: Bool, line: Int = #line) {
        if !condition { fail("wrong result at line \(line)") }
    }

    private static func useEverything() {
        useLocks()
        useValue()
        useQueues()
    }

    private static func useLocks() {
        let mutex = PriorityMutex([1])
        mutex.withLock { $0.append(2) }
        check(mutex.withLock(priority: .high, timeout: .milliseconds(1)) { $0 } == [1, 2])
        let section = CriticalSection()
        var entries = 0
        section.execute { section.execute { entries += 1 } }
        check(section.execute(timeout: 0.001) { entries += 1 } && entries == 2)
        let lock = ReadWriteLock([1])
        check(lock.withReadLock { $0 } == [1])
        check(lock.withWriteLock({ $0.append(2) }, thenRead: { value, _ in value }) == [1, 2])
        check(lock.withReadLock(timeout: .milliseconds(1)) { $0 } == [1, 2])
    }

    private static func useValue() {
        let value = QueueSafeValue(value: [0])
        check(value.wait.lowestPriority.set { $0.append(1) } == .success([0, 1]))
        let done = DispatchSemaphore(value: 0)
        value.async(performIn: .global(), timeout: .seconds(20)).highestPriority.set {
            $0.append(2)
        } completion: { result in
            check(result == .success([0, 1, 2]))
            done.signal()
        }
        check(done.wait(timeout: .now() + 20) == .success)
        Task.detached {
            check(await value.suspending.priority(.high).set { $0.append(3) } == .success([0, 1, 2, 3]))
            done.signal()
        }
        check(done.wait(timeout: .now() + 20) == .success)
        check(value.wait(timeout: .seconds(20)).highestPriority.map { $0.count } == .success(4))
    }

    private static func useQueues() {
        let commands = CommandQueue()
        let order = PriorityMutex([Int]())
        commands.append(priority: .lowest) { order.withLock { $0.append(2) } }
        commands.append(priority: .highest) { order.withLock { $0.append(1) } }
        commands.perform()
        check(commands.performNow { order.withLock { $0 } } == [1, 2])
        let elements = BlockingPriorityQueue<[Int]>(capacity: 4)
        check(elements.push([1]) && elements.push([2], priority: .high))
        check(elements.pop() == [2])
        check((try? elements.pop(timeout: .seconds(20))) == [1])
        elements.shutdown()
        check(elements.pop() == nil && elements.takeAll().isEmpty)
    }
}
