import NIOCore
import Synchronization

/// Costly commands hold a permit of a semaphore for tasks that serves in order of arrival. All but the order is as in
/// `PriorityAdmission`.
struct ArrivalAdmission: Admission {
    private let permits: AsyncSemaphore

    init(permits: Int) { self.permits = AsyncSemaphore(value: permits) }

    func run(_ priority: ClientPriority, _ body: @escaping @Sendable () -> Void) {
        let call = StartingCall()
        defer { call.end() }
        Task.immediate(priority: .medium) {
            await permits.wait()
            defer { permits.signal() }
            await call.leave()
            body()
        }
    }
}

/// A counting semaphore of continuations, as many programs have one.
private final class AsyncSemaphore: Sendable {
    private struct State {
        var free: Int
        var waiting = CircularBuffer<CheckedContinuation<Void, Never>>()
    }

    private let state: Mutex<State>

    init(value: Int) { state = Mutex(State(free: value)) }

    func wait() async {
        await withCheckedContinuation(isolation: nil) { continuation in
            let hasPermit = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if hasPermit { continuation.resume() }
        }
    }

    func signal() {
        let next = state.withLock { state in
            let next = state.waiting.popFirst()
            if next == nil { state.free += 1 }
            return next
        }
        next?.resume()
    }
}
