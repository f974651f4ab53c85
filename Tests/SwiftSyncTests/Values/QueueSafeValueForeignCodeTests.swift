import Dispatch
import Testing

@testable import SwiftSync

/// Code of users, destruction included, runs outside of the section and of everything of ours that others wait for.
@Suite(.endsInTime)
struct QueueSafeValueForeignCodeTests {
    private final class AtEnd: Sendable {
        private let action: @Sendable () -> Void
        init(_ action: @escaping @Sendable () -> Void) { self.action = action }
        deinit { action() }
    }

    @Test
    func aClosingValueWhoseEndSendsTwoCommandsToOneQueueLosesNone() async {
        for _ in 0..<50 {
            let first = QueueSafeValue(value: 0), second = QueueSafeValue(value: 0),
                queue = DispatchQueue(label: "serial")
            var dying: QueueSafeValue<AtEnd>? = QueueSafeValue(
                value: AtEnd {
                    first.async(performIn: queue).lowestPriority.set { $0 += 1 }
                    second.async(performIn: queue).lowestPriority.set { $0 += 1 }
                })
            let go = DispatchSemaphore(value: 0)
            dying!.async(performIn: queue).lowestPriority.get { _ in go.wait() }
            dying = nil
            go.signal()
            await waitUntil {
                first.wait.lowestPriority.get() == .success(1) && second.wait.lowestPriority.get() == .success(1)
            }
        }
    }

    @Test
    func aClosingValueWhoseEndWaitsEnds() async {
        for onQueue in [true, false] {
            let other = QueueSafeValue(value: 0), queue = DispatchQueue(label: "serial"), ended = Flag()
            let granted = DispatchQueue(label: "another")
            var dying: QueueSafeValue<AtEnd>? = QueueSafeValue(
                value: AtEnd {
                    // What is granted here is dispatched before this thread comes back from anywhere.
                    let seen = DispatchSemaphore(value: 0)
                    other.async(performIn: granted).lowestPriority.set {
                        $0 += 1
                    } completion: { _ in
                        seen.signal()
                    }
                    seen.wait()
                    ended.raise()
                })
            let go = DispatchSemaphore(value: 0)
            if onQueue {
                dying!.async(performIn: queue).lowestPriority.get { _ in go.wait() }
            } else {
                let command = dying!.wait.lowestPriority, inside = Flag()
                onThread {
                    command.get { _ in
                        inside.raise(); go.wait()
                    }
                }
                await waitUntil { inside.isRaised }
            }
            dying = nil
            go.signal()
            await waitUntil { ended.isRaised }
        }
    }

    @Test
    func doneLeavesOnTheThreadThatCallsItWhateverTheQueueDoes() async {
        let value = QueueSafeValue(value: 0), queue = DispatchQueue(label: "serial"), order = Shared([String]())
        let completion = Shared<CommandCompletionClosure?>(nil)
        value.async(performIn: queue).lowestPriority.set(
            manualCompletion: { current, done in
                current = 1
                completion.access { $0 = done }
            },
            completion: { result in
                order.append("completion \((try? result.get()) ?? -1)")
            })
        await waitUntil { completion.value != nil }
        let waits = Flag()
        queue.async {
            waits.raise()
            value.wait.lowestPriority.set { $0 = 2 }
            order.append("queue")
        }
        await waitUntil { waits.isRaised && value.waitingCount == 1 }
        completion.value!()
        await waitUntil { order.value.count == 2 }
        // Reported is what it was when it was left.
        #expect(order.value == ["queue", "completion 1"])
    }

    @Test
    func suspendingSetReleasesTheOldValueOutsideTheSection() async {
        let seen = Shared<Bool?>(nil)
        let value = QueueSafeValue<AtEnd?>(value: nil)
        await value.suspending.set(
            newValue: AtEnd { [command = value.wait(timeout: .zero).lowestPriority] in
                let result = command.map { $0 == nil }
                seen.access { $0 = (try? result.get()) }
            })
        await value.suspending.set(newValue: nil)
        #expect(seen.value == true)
    }

    @Test
    func aCommandsClosureIsReleasedOutsideTheSection() async {
        let value = QueueSafeValue(value: 0), queue = DispatchQueue(label: "serial"),
            results = Shared([Result<Int, QueueSafeValueError>]())
        let command = value.wait.lowestPriority, release = await hold(value), count = 20
        for _ in 0..<count {
            let end = AtEnd { results.append(command.get()) }
            value.async(performIn: queue).lowestPriority.set { [end] current in
                current += 1
                withExtendedLifetime(end) {}
            }
        }
        release()
        await waitUntil { results.value.count == count }
        #expect(results.value.allSatisfy { if case .success = $0 { true } else { false } })
    }
}
