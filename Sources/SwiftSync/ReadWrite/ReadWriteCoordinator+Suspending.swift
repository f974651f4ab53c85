import CSyncKernel

extension ReadWriteCoordinator {
    /// The type of ``ReadWriteCoordinator/suspending``: sections that a task enters by suspending instead of blocking
    /// its thread.
    ///
    /// ```swift
    /// let count = try await coordinator.suspending.read(timeout: .milliseconds(5)) { names.count }
    /// try await coordinator.suspending.write { names.removeAll() }
    /// ```
    ///
    /// They are in one order of arrival with the reads and writes of threads. A section runs on a worker, so it begins
    /// when its turn comes even if every thread of the task's executor is busy waiting. The code that runs there is
    /// still the task, with its task-local values and its priority. Cancelling the task takes a section that has not
    /// begun out of the queue, and so does the deadline of `withDeadline`.
    public struct Suspending: @unchecked Sendable {
        let box: ReadWriteBox<Void>

        /// Runs `body` together with other reads, and returns what it returns.
        ///
        /// - Throws: ``ReadWriteError/timedOut``, ``ReadWriteError/cancelled`` or ``ReadWriteError/outOfResources``, in
        ///   which case `body` has not run; and what `body` throws.
        public func read<R: Sendable>(
            timeout: TimeLimit = .never, _ body: @escaping @Sendable () throws -> R
        ) async throws -> R {
            try await SuspendedSection.run(box, write: false, deadline: timeout.deadline(), body)
        }

        /// Runs `body` alone, and returns what it returns.
        ///
        /// - Throws: ``ReadWriteError/timedOut``, ``ReadWriteError/cancelled`` or ``ReadWriteError/outOfResources``, in
        ///   which case `body` has not run; and what `body` throws.
        @discardableResult
        public func write<R: Sendable>(
            timeout: TimeLimit = .never, _ body: @escaping @Sendable () throws -> R
        ) async throws -> R {
            try await SuspendedSection.run(box, write: true, deadline: timeout.deadline(), body)
        }

        /// Waits until everything that was submitted before has run.
        ///
        /// - Throws: ``ReadWriteError/timedOut``, ``ReadWriteError/cancelled`` or ``ReadWriteError/outOfResources``.
        public func drain(timeout: TimeLimit = .never) async throws {
            try await write(timeout: timeout) {}
        }
    }
}
