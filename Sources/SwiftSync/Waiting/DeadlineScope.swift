import CSyncKernel
import Synchronization

/// A part of a task that is cancelled when a deadline passes. It is a child task, since only a whole task can be
/// cancelled, and the rest of the caller's must not be.
///
/// The canceller and the end of the task synchronize in one word:
///
/// | state | set by | meaning |
/// |---|---|---|
/// | RUNS | the initializer | the task may be cancelled |
/// | CANCELS | a worker, from RUNS, after the deadline | the worker uses the task, which must not end |
/// | ENDED | the task, from RUNS, after its body | the task ends, and no other code may use it |
///
/// A task that finds CANCELS waits until the worker is done. Both steps acquire and release, so what the task wrote
/// before RUNS is seen by the worker. Cancelling calls users' code, so a worker does it: the timers' thread must not
/// block.
@safe
final class DeadlineScope: @unchecked Sendable {
    private enum State: UInt8, AtomicRepresentable { case runs, cancels, ended }

    @safe private struct Memory {
        @safe var timer = unsafe csk_timer_t()
        /// The pool item by which a worker is called.
        @safe var item = unsafe csk_pool_item_t()
        /// The reference that the called function holds.
        @safe var scope: Unmanaged<DeadlineScope>?
    }

    private let state = Atomic(State.runs)
    @safe private let memory: UnsafeMutablePointer<Memory>
    /// Written before the timer starts. The party that decides the word clears it.
    @safe private var task: UnsafeCurrentTask?
    private let cancelled = TaskWait()

    /// For tests, which check it after the end of the task.
    var holdsTask: Bool { unsafe task != nil }

    private init() {
        memory = .allocate(capacity: 1)
        unsafe memory.initialize(to: Memory())
    }

    deinit { unsafe memory.deallocate() }

    /// Runs `body` in a child task, where its caller runs.
    static func run(until deadline: Int64, isolation: isolated (any Actor)?, _ body: () async -> Void) async {
        let scope = DeadlineScope(), parent = OrderedActivation(cancelledAt: deadline)
        // The caller waits until the child has ended, so at no time do both use what `body` captures.
        nonisolated(unsafe) let body = body
        async let part: Void = {
            await parent.run(isolation: nil) { await unsafe scope.run(until: deadline, isolation: isolation, body) }
        }()
        await part
    }

    private func run(until deadline: Int64, isolation: isolated (any Actor)?, _ body: () async -> Void) async {
        let isTimed = start(deadline)
        await body()
        await end(isTimed)
    }

    /// If the system has no thread for timers, the task is not cancelled; its waits still end in time, or report the
    /// failure.
    private func start(_ deadline: Int64) -> Bool {
        if deadline <= csk_now() {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return false
        }
        testStep("DeadlineScope: is timed", self)
        unsafe withUnsafeCurrentTask { unsafe task = $0 }
        let reference = unsafe Unmanaged.passRetained(self)
        unsafe memory.pointee.scope = reference
        let status = unsafe csk_timer_start(memory.pointer(to: \.timer), deadline, Self.passed, memory)
        if status != 0 { unsafe reference.release() }
        return status == 0
    }

    private func end(_ isTimed: Bool) async {
        if isTimed {
            if unsafe csk_timer_cancel(memory.pointer(to: \.timer)) == 0 {
                unsafe Unmanaged.passUnretained(self).release()
            } else if !state.compareExchange(
                expected: .runs, desired: .ended, ordering: .acquiringAndReleasing
            ).exchanged {
                _ = await cancelled.wait(isCancellable: false)
                return
            }
        }
        forgetTask()
    }

    private static let passed: csk_timer_function_t = { _, context in
        let item = unsafe context!.assumingMemoryBound(to: Memory.self).pointer(to: \.item)!
        unsafe item.pointee.level = UInt32(CSK_POOL_URGENT)
        if unsafe csk_pool_post(item, cancel) != 0 { unsafe cancel(item) }
    }

    private static let cancel: csk_pool_function_t = { item in
        let memory = unsafe Layout.whole(of: item!, at: \Memory.item)
        let scope = unsafe memory.pointee.scope!.takeRetainedValue()
        scope.cancelTask()
    }

    private func cancelTask() {
        testStep("DeadlineScope: is to cancel", self)
        guard state.compareExchange(expected: .runs, desired: .cancels, ordering: .acquiringAndReleasing).exchanged
        else { return }
        testStep("DeadlineScope: cancels", self)
        cancelAndForgetTask()
        cancelled.resolve(0)
    }

    // The task's memory may be its parent's, which reuses it once the task has ended. So the reference to it ends
    // before that, not with this object. These are calls, so that no copy of the reference lasts longer.

    @inline(never)
    private func cancelAndForgetTask() {
        unsafe task!.cancel()
        task = nil
    }

    @inline(never)
    private func forgetTask() { task = nil }
}

extension RequestDeadline {
    /// Runs `body` as a part of the task that is cancelled when the deadline passes.
    static func within<R: ~Copyable, Failure: Error>(
        _ deadline: Int64, isolation: isolated (any Actor)?, _ body: () async throws(Failure) -> R
    ) async throws(Failure) -> R {
        // An enclosing part that is cancelled first takes this one along. A task that was merely started inside of one
        // has its deadline, but is not cancelled by it.
        let deadline = min(deadline, nearest)
        if OrderedActivation.isCancelled(at: deadline) { return try await body() }
        var result: Result<R, Failure>?
        await $nearest.withValue(
            deadline,
            operation: {
                // A closure that captures the isolation has it. Otherwise it would leave the caller's actor.
                _ = isolation
                await DeadlineScope.run(until: deadline, isolation: isolation) {
                    _ = isolation
                    do throws(Failure) {
                        result = .success(try await body())
                    } catch {
                        result = .failure(error)
                    }
                }
            }, isolation: isolation)
        return try result.take()!.get()
    }
}
