import CSyncKernel
import Testing

@testable import SwiftSync

/// What each status of the kernel becomes: one mapping for all types.
@Suite(.endsInTime)
struct ErrorStatusTests {
    @Test
    func aStatusMeansOneReasonAndEachTypesOwnCase() {
        let table:
            [(
                status: Int32, SyncErrorReason, WorkQueueError, OrderedQueueError, ReadWriteError, SnapshotError?,
                BlockingPriorityQueueError
            )] = [
                (ETIMEDOUT, .timedOut, .timedOut, .timedOut, .timedOut, .timedOut, .timedOut),
                (EBUSY, .timedOut, .full, .timedOut, .timedOut, .timedOut, .timedOut),
                (
                    EDEADLK, .wouldDeadlock, .wouldDeadlock, .wouldDeadlock, .wouldDeadlock, .wouldDeadlock,
                    .outOfResources
                ),
                (ECANCELED, .cancelled, .cancelled, .cancelled, .cancelled, nil, .cancelled),
                (ESHUTDOWN, .shutDown, .shutDown, .shutDown, .outOfResources, nil, .shutDown),
                // The system gave no thread. A task that waits in an ordered queue then has no timer.
                (EAGAIN, .outOfResources, .outOfResources, .timedOut, .outOfResources, nil, .outOfResources),
                (ENOMEM, .outOfResources, .outOfResources, .timedOut, .outOfResources, nil, .outOfResources),
                (EINVAL, .other, .outOfResources, .timedOut, .outOfResources, nil, .outOfResources),
            ]
        for (status, reason, work, ordered, readWrite, snapshot, blocking) in table {
            #expect(SyncErrorReason(status: status) == reason)
            #expect(WorkQueueError(status: status) == work)
            #expect(OrderedQueueError(status: status) == ordered)
            #expect(ReadWriteError(status: status) == readWrite)
            #expect(SnapshotError(SyncErrorReason(status: status)) == snapshot)
            #expect(BlockingPriorityQueueError(status: status) == blocking)
        }
        #expect(OrderedQueueError(status: 0) == nil)
    }

    @Test
    func aStatusOfAValuesGateIsItsErrorOrStandsInside() {
        #expect(QueueSafeValueError(status: ETIMEDOUT) == .timedOut)
        #expect(QueueSafeValueError(status: EDEADLK) == .wouldDeadlock)
        #expect(QueueSafeValueError(status: ECANCELED) == .cancelled)
        #expect(QueueSafeValueError(status: ESHUTDOWN) == .valueContainerDeinited)
        for status in [EAGAIN, ENOMEM, EINVAL] {
            let error = QueueSafeValueError(status: status)
            guard case .unexpected(let inner) = error else {
                Issue.record(error)
                continue
            }
            #expect("\(inner)" == String(cString: csk_status_text(status)))
            #expect(error.reason == (status == EINVAL ? .other : .outOfResources))
        }
    }
}
