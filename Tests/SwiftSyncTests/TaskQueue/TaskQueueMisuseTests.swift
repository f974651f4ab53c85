import Testing

@testable import SwiftSync

// These set the handler of the process, so they run one at a time with others that do.
extension HandlerSettingTests {
    /// What a lock does when it is released twice, or never.
    @Suite(.serialized, .endsInTime)
    struct TaskQueueMisuseTests {
        /// The kinds that queues of the name "misuse" report while `body` runs.
        private func reports(_ body: (TaskQueue) -> Void) -> [SyncDiagnostics.Report.Kind] {
            let kinds = Shared<[SyncDiagnostics.Report.Kind]>([])
            SyncDiagnostics.setHandler { if $0.subject == "TaskQueue misuse" { kinds.append($0.kind) } }
            defer { SyncDiagnostics.setHandler(nil) }
            body(TaskQueue(identifier: "misuse"))
            return kinds.value
        }

        @Test func aSecondReleaseDoesNothingAndIsReported() {
            let order = Shared<[Int]>([]), second = Shared<QueueLock?>(nil)
            let kinds = reports { queue in
                let first = Shared<QueueLock?>(nil)
                queue.push { lock in first.access { $0 = lock } }
                queue.push { lock in
                    order.append(2)
                    second.access { $0 = lock }
                }
                queue.push { lock in
                    order.append(3)
                    lock.release()
                }
                let lock = first.access { $0.take() }
                lock?.release()
                // The second task has the queue now: this must not end it.
                lock?.release()
                Thread { lock?.release() }.join()
                #expect(order.value == [2] && !queue.isIdle)
                second.access { $0.take() }?.release()
                #expect(order.value == [2, 3] && queue.isIdle)
            }
            #expect(kinds == [.releasedTwice, .releasedTwice])
        }

        @Test func aSecondReleaseInsideExecuteIsReportedToo() {
            let kinds = reports { queue in
                queue.push { lock in
                    lock.release()
                    lock.release()
                }
                #expect(queue.isIdle)
            }
            #expect(kinds == [.releasedTwice])
        }

        @Test func aLockThatNobodyHasEndsItsTaskAndIsReported() {
            let ran = Shared<[Int]>([])
            let kinds = reports { queue in
                queue.push { _ in ran.append(1) }
                #expect(queue.isIdle)
                let kept = Shared<QueueLock?>(nil)
                queue.push { lock in kept.access { $0 = lock } }
                for number in 2...3 { queue.push { _ in ran.append(number) } }
                #expect(ran.value == [1])
                kept.access { $0 = nil }
                #expect(ran.value == [1, 2, 3] && queue.isIdle)
                #expect(queue.recorder.events.filter { $0.kind == .dropped }.count == 4)
            }
            #expect(kinds == Array(repeating: .lockDropped, count: 4))
        }

        @Test func aLockIsDroppedOnAnotherThread() {
            let kept = Shared<QueueLock?>(nil), runner = Shared<UInt>(0), dropper = Shared<UInt>(0)
            let kinds = reports { queue in
                queue.push { lock in kept.access { $0 = lock } }
                queue.push { lock in
                    runner.access { $0 = Threads.current }
                    lock.release()
                }
                Thread {
                    dropper.access { $0 = Threads.current }
                    kept.access { $0.take() }.map { _ in }
                }.join()
                #expect(queue.isIdle)
            }
            #expect(kinds == [.lockDropped])
            #expect(runner.value == dropper.value && runner.value != 0)
        }

        @Test func manyDroppedLocksNeedNoStack() {
            let count = Shared()
            let kinds = reports { queue in
                let release = queue.hold()
                for _ in 0..<100_000 { queue.push { _ in count.increment() } }
                release()
                #expect(queue.isIdle)
            }
            #expect(count.value == 100_000 && kinds.count == 100_000)
        }

        @Test func aHandlerMayUseTheQueue() {
            let ran = Flag(), queue = TaskQueue(identifier: "misuse")
            SyncDiagnostics.setHandler { report in
                guard report.subject == "TaskQueue misuse" else { return }
                queue.push { lock in
                    ran.raise()
                    lock.release()
                }
            }
            defer { SyncDiagnostics.setHandler(nil) }
            queue.push { lock in
                lock.release()
                lock.release()
            }
            #expect(ran.isRaised && queue.isIdle)
        }
    }
}
