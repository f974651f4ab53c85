public import CSyncKernel

extension ReadWriteLock where Value: ~Copyable {
    /// The type of ``ReadWriteLock/suspending``: sections that a task enters by suspending instead of blocking its
    /// thread.
    ///
    /// ```swift
    /// let routes = ReadWriteLock(["/": "index"])
    /// let page = try await routes.suspending.withReadLock { $0["/"] }
    /// try await routes.suspending.withWriteLock(timeout: .milliseconds(5)) { $0["/about"] = "about" }
    /// ```
    ///
    /// Tasks and threads wait in one order of arrival. Readers wait behind a waiting writer too. A section that can
    /// enter at once runs where the task runs, and costs no suspension and no allocation. One that has to wait runs on
    /// a worker of the library. So it begins in its turn even if every thread of the task's executor is busy waiting
    /// for the lock. The code that runs there is still the task, with its task-local values and its priority, but
    /// isolated to no actor: that is why the closures are `@Sendable`.
    @frozen
    public struct Suspending: @unchecked Sendable {
        @usableFromInline
        let box: ReadWriteBox<Value>

        @inlinable
        init(_ box: ReadWriteBox<Value>) {
            self.box = box
        }

        /// Runs `body` with the value, together with other readers, and returns what it returns.
        ///
        /// It suspends the task while it waits, and blocks no thread. A timeout of zero or less tries once, and no
        /// timeout is early. It throws ``ReadWriteError/timedOut``; ``ReadWriteError/cancelled`` where the task is
        /// cancelled before its turn, or was before the call; or ``ReadWriteError/outOfResources``. `body` has not run
        /// then. Once it runs, nothing ends it but its own code. What `body` throws is rethrown.
        @inlinable
        public func withReadLock<Result: Sendable>(
            timeout: TimeLimit = .never,
            _ body: @Sendable (borrowing Value) throws -> Result
        ) async throws -> Result {
            guard try enters({ unsafe box.withLock({ unsafe csk_rwlock_tryrdlock($0) }) }) else {
                return try await readInTurn(timeout, body)
            }
            defer { unsafe box.withLock { unsafe csk_rwlock_unlock($0) } }
            return try body(box.value.pointee)
        }

        /// Runs `body` with exclusive access to the value, and returns what it returns.
        ///
        /// It suspends the task while it waits, and blocks no thread. It throws as the reading form does. With reader
        /// bias, trying takes some 10 us; and a write whose turn has come, but which still waits for biased readers,
        /// can time out but no longer be cancelled.
        @inlinable
        public func withWriteLock<Result: Sendable>(
            timeout: TimeLimit = .never, _ body: @Sendable (inout Value) throws -> Result
        ) async throws -> Result {
            guard try enters({ unsafe box.withLock({ unsafe csk_rwlock_trywrlock($0) }) }) else {
                return try await writeInTurn(timeout, body)
            }
            defer { unsafe box.withLock { unsafe csk_rwlock_unlock($0) } }
            return try body(&box.value.pointee)
        }

        @inlinable
        func enters(_ trying: () -> Int32) throws(ReadWriteError) -> Bool {
            if Task.isCancelledByOthers { throw .cancelled }
            return trying() == 0
        }

        @concurrent
        @usableFromInline
        func readInTurn<Result: Sendable>(
            _ limit: TimeLimit, _ body: @Sendable (borrowing Value) throws -> Result
        ) async throws -> Result {
            try await SuspendedSection.run(box, write: false, deadline: deadline(limit)) { try body(box.value.pointee) }
        }

        @concurrent
        @usableFromInline
        func writeInTurn<Result: Sendable>(
            _ limit: TimeLimit, _ body: @Sendable (inout Value) throws -> Result
        ) async throws -> Result {
            try await SuspendedSection.run(box, write: true, deadline: deadline(limit)) { try body(&box.value.pointee) }
        }

        /// The deadline of a wait that follows a try. A wait that only tries has tried. It must not be queued, where it
        /// would block later waiters.
        private func deadline(_ limit: TimeLimit) throws(ReadWriteError) -> Int64 {
            let deadline = limit.deadline()
            if deadline == Deadline.passed { throw .timedOut }
            return deadline
        }
    }

    /// Sections that a task enters by suspending instead of blocking its thread.
    ///
    /// The name is `suspending`, as for every object of this library that also has blocking forms. An `async` overload
    /// of ``withReadLock(_:)`` would be chosen by the compiler in every async function, and would demand an `await`
    /// there; but the form that blocks is right in async functions too, where sections are short and contention is
    /// rare.
    @inlinable
    public var suspending: Suspending { Suspending(box) }
}
