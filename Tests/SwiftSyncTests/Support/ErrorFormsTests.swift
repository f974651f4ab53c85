import SwiftSync
import Testing

/// What users write about errors and bounds, as they write it: without `@testable`. That it compiles is most of it.
@Suite(.endsInTime)
struct ErrorFormsTests {
    // MARK: - Switches without a default

    private func name(_ error: WorkQueueError) -> String {
        switch error {
        case .timedOut: "timedOut"
        case .wouldDeadlock: "wouldDeadlock"
        case .cancelled: "cancelled"
        case .shutDown: "shutDown"
        case .full: "full"
        case .outOfResources: "outOfResources"
        }
    }

    private func name(_ error: OrderedQueueError) -> String {
        switch error {
        case .wouldDeadlock: "wouldDeadlock"
        case .shutDown: "shutDown"
        case .full: "full"
        case .cancelled: "cancelled"
        case .timedOut: "timedOut"
        }
    }

    private func name(_ error: ReadWriteError) -> String {
        switch error {
        case .timedOut: "timedOut"
        case .wouldDeadlock: "wouldDeadlock"
        case .cancelled: "cancelled"
        case .outOfResources: "outOfResources"
        }
    }

    private func name(_ error: SnapshotError) -> String {
        switch error {
        case .timedOut: "timedOut"
        case .wouldDeadlock: "wouldDeadlock"
        }
    }

    private func name(_ error: BlockingPriorityQueueError) -> String {
        switch error {
        case .timedOut: "timedOut"
        case .shutDown: "shutDown"
        case .cancelled: "cancelled"
        case .outOfResources: "outOfResources"
        }
    }

    private func name(_ error: PrioritySemaphoreError) -> String {
        switch error {
        case .timedOut: "timedOut"
        case .cancelled: "cancelled"
        case .full: "full"
        case .overflow: "overflow"
        case .invalidPermits: "other"
        case .outOfResources: "outOfResources"
        }
    }

    private func name(_ error: ResourcePoolError) -> String {
        switch error {
        case .timedOut: "timedOut"
        case .cancelled: "cancelled"
        case .shutDown: "shutDown"
        case .full: "full"
        case .makingTimedOut: "other"
        case .outOfResources: "outOfResources"
        }
    }

    private func name(_ error: AsyncMutexError) -> String {
        switch error {
        case .timedOut: "timedOut"
        case .cancelled: "cancelled"
        case .wouldDeadlock: "wouldDeadlock"
        case .full: "full"
        case .outOfResources: "outOfResources"
        }
    }

    private func name(_ error: PriorityMutexError) -> String {
        switch error {
        case .timedOut: "timedOut"
        case .cancelled: "cancelled"
        case .outOfResources: "outOfResources"
        }
    }

    private func name(_ error: QueueSafeValueError) -> String {
        switch error {
        case .timedOut: "timedOut"
        case .wouldDeadlock: "wouldDeadlock"
        case .cancelled: "cancelled"
        case .valueContainerDeinited: "shutDown"
        case .commandClosureDeallocated, .unexpected(error: _): "other"
        }
    }

    @Test
    func eachCaseHasTheReasonThatItsNameSays() {
        for error in WorkQueueError.allCases { #expect("\(error.reason)" == name(error)) }
        for error in OrderedQueueError.allCases { #expect("\(error.reason)" == name(error)) }
        for error in ReadWriteError.allCases { #expect("\(error.reason)" == name(error)) }
        for error in SnapshotError.allCases { #expect("\(error.reason)" == name(error)) }
        for error in BlockingPriorityQueueError.allCases { #expect("\(error.reason)" == name(error)) }
        for error in PrioritySemaphoreError.allCases { #expect("\(error.reason)" == name(error)) }
        for error in ResourcePoolError.allCases { #expect("\(error.reason)" == name(error)) }
        for error in AsyncMutexError.allCases { #expect("\(error.reason)" == name(error)) }
        for error in PriorityMutexError.allCases { #expect("\(error.reason)" == name(error)) }
        let errors = [
            QueueSafeValueError.timedOut, .wouldDeadlock, .cancelled, .valueContainerDeinited,
            .commandClosureDeallocated, .unexpected(error: CancellationError()),
        ]
        for error in errors { #expect("\(error.reason)" == name(error)) }
        #expect(QueueSafeValueError.unexpected(error: SnapshotError.timedOut).reason == .timedOut)
    }

    // MARK: - Catches

    private let full = BlockingPriorityQueue<Int>(capacity: 1)

    @Test
    func aTypedErrorIsCaughtByItsCase() throws {
        #expect(full.tryPush(1))
        do {
            try full.push(2, timeout: .zero)
            Issue.record("pushed")
        } catch .timedOut {
        } catch .shutDown {
            Issue.record("closed")
        }
        do throws(BlockingPriorityQueueError) {
            try full.push(2, timeout: .zero)
        } catch {
            #expect(name(error) == "timedOut")
        }
        let result = Result { () throws(BlockingPriorityQueueError) in try full.push(2, timeout: .zero) }
        if case .failure(.timedOut) = result {} else { Issue.record("\(result)") }
    }

    @Test
    func anErrorIsCaughtByItsTypeAndCase() async {
        let queue = WorkQueue(name: "closed"), ordered = FIFOQueue()
        queue.shutdown()
        ordered.shutdown()
        do { try await queue.run(timeout: .never) {} } catch WorkQueueError.shutDown {} catch { Issue.record(error) }
        do { try await queue.run(timeout: .never) {} } catch let error as WorkQueueError {
            #expect(error == .shutDown)
        } catch { Issue.record(error) }
        do { try await queue.run(timeout: .never) {} } catch { #expect(error as? WorkQueueError == .shutDown) }
        do { try await ordered.enqueueAndWait { () async throws in } } catch OrderedQueueError.shutDown {} catch {
            Issue.record(error)
        }
        do { try await ordered.enqueueWaitingForRoom {} } catch .shutDown {} catch { Issue.record(error) }
    }

    /// Which object failed can be told by the type.
    @Test
    func theTypesAreDifferent() {
        let errors: [any Error] = [
            WorkQueueError.timedOut, OrderedQueueError.timedOut, ReadWriteError.timedOut, SnapshotError.timedOut,
            BlockingPriorityQueueError.timedOut, QueueSafeValueError.timedOut,
        ]
        #expect(errors.filter { $0 is WorkQueueError }.count == 1)
        #expect(errors.filter { $0 is OrderedQueueError }.count == 1)
        #expect(errors.filter { $0 is ReadWriteError }.count == 1)
        #expect(errors.filter { $0 is SnapshotError }.count == 1)
        #expect(errors.filter { $0 is BlockingPriorityQueueError }.count == 1)
        #expect(errors.filter { $0 is QueueSafeValueError }.count == 1)
        #expect(errors.allSatisfy { "\($0)" == "timedOut" })
    }

    // MARK: - Reasons

    private func status(of error: any Error) -> Int {
        switch error {
        case SyncErrorReason.full, SyncErrorReason.shutDown: 503
        case SyncErrorReason.timedOut: 504
        case SyncErrorReason.cancelled, is CancellationError: 499
        default: 500
        }
    }

    @Test
    func aReasonMatchesTheErrorsOfAllTypes() {
        let timedOut: [any Error] = [
            WorkQueueError.timedOut, OrderedQueueError.timedOut, ReadWriteError.timedOut, SnapshotError.timedOut,
            BlockingPriorityQueueError.timedOut, QueueSafeValueError.timedOut,
        ]
        #expect(timedOut.allSatisfy { status(of: $0) == 504 })
        let unavailable: [any Error] = [
            WorkQueueError.full, OrderedQueueError.full, WorkQueueError.shutDown, OrderedQueueError.shutDown,
            BlockingPriorityQueueError.shutDown, QueueSafeValueError.valueContainerDeinited,
        ]
        #expect(unavailable.allSatisfy { status(of: $0) == 503 })
        #expect(status(of: ReadWriteError.cancelled) == 499 && status(of: CancellationError()) == 499)
        struct Foreign: Error {}
        #expect(status(of: ReadWriteError.outOfResources) == 500 && status(of: Foreign()) == 500)
    }

    @Test
    func aReasonIsCaught() {
        let lock = ReadWriteCoordinator(), routes = Snapshot(1), errors = Shared([SyncErrorReason]())
        lock.blockingWrite {
            do { try lock.read(timeout: .never) {} } catch SyncErrorReason.wouldDeadlock {
                errors.append(.wouldDeadlock)
            } catch {}
        }
        routes.update { _ in
            do { try routes.update(timeout: .zero) { _ in } } catch let error as any SyncError {
                errors.append(error.reason)
            } catch {}
        }
        do { _ = try full.pop(timeout: .zero) } catch SyncErrorReason.timedOut {
            errors.append(.timedOut)
        } catch .shutDown {} catch {}
        #expect(errors.value == [.wouldDeadlock, .wouldDeadlock, .timedOut])
    }

    /// Not even `.other`, which is the reason of errors of this library that have no better one.
    @Test
    func noReasonMatchesAnErrorOfAnotherLibrary() {
        struct Foreign: Error {}
        let reasons: [SyncErrorReason] = [
            .timedOut, .wouldDeadlock, .cancelled, .shutDown, .full, .outOfResources, .overflow, .other,
        ]
        for reason in reasons { #expect(!(reason ~= Foreign()) && !(reason ~= CancellationError()), "\(reason)") }
    }

    // MARK: - Bounds

    private func name(_ policy: OverflowPolicy) -> String {
        switch policy {
        case .wait: "wait"
        case .refuse: "refuse"
        case .dropOldest: "dropOldest"
        }
    }

    @Test
    func bothKindsOfQueueTakeOnePolicy() {
        for policy in [OverflowPolicy.refuse, .dropOldest] {
            let queue = WorkQueue(name: name(policy), capacity: 1, whenFull: policy), ran = Shared([Int]())
            queue.suspend()
            let accepted = [1, 2].filter { number in queue.async { ran.append(number) } }
            queue.resume()
            queue.sync {}
            #expect(accepted == (policy == .refuse ? [1] : [1, 2]) && ran.value == (policy == .refuse ? [1] : [2]))
            _ = FIFOQueue(capacity: 1, whenFull: policy)
        }
    }

    /// A bound may come from a configuration: then it is an `Int?`, and nil is no bound, whatever the policy says.
    @Test
    func withoutACapacityWorkQueuesTakeAllAndKeepPriorities() throws {
        let capacity: Int? = nil
        for policy in [OverflowPolicy.wait, .refuse, .dropOldest] {
            let queues = [
                WorkQueue(name: "none", capacity: capacity, whenFull: policy),
                WorkQueue(name: "none", priority: .low, capacity: capacity, whenFull: policy),
                ConcurrentWorkQueue(name: "none", width: 2, capacity: capacity, whenFull: policy),
                ConcurrentWorkQueue(name: "none", priority: .normal, capacity: capacity, whenFull: policy),
            ]
            for queue in queues {
                queue.suspend()
                #expect((0..<1000).filter { _ in queue.async {} }.count == 1000, "\(policy)")
                #expect(queue.waitingCount == 1000 && queue.beyondBoundCount == 0)
                queue.resume()
            }
            let serial = queues[0], order = Shared([Int]())
            serial.suspend()
            serial.async(priority: .low) { order.append(2) }
            serial.async(priority: .high) { order.append(1) }
            serial.resume()
            try serial.sync(priority: .lowest, timeout: .never) {}
            #expect(order.value == [1, 2], "\(policy)")
        }
        let some: Int? = 1, bounded = WorkQueue(name: "one", capacity: some, whenFull: .refuse)
        bounded.suspend()
        #expect(bounded.async {} && !bounded.async {})
        bounded.resume()
    }
}
