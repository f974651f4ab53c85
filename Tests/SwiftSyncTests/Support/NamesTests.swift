import CSyncKernel
import Dispatch
import Testing

@testable import SwiftSync

/// What objects are called: a name, or the place where they were made.
struct NamesTests {
    private actor Ledger {}

    private static let file = "SwiftSyncTests/NamesTests.swift"

    private func isHere(_ name: String, line: Int = #line) -> Bool { name == "\(Self.file):\(line)" }

    @Test func withoutANameAnObjectHasThePlaceWhereItWasMade() {
        #expect(isHere(PriorityMutex(0).name))
        #expect(isHere(AsyncMutex(0).name))
        #expect(isHere(CriticalSection().name))
        #expect(isHere(QueueSafeValue(value: 0).name))
        #expect(isHere(QueueSafeSyncedValue(value: 0).name))
        #expect(isHere(QueueSafeAsyncedValue(value: 0, queue: .global()).name))
        #expect(isHere(ReadWriteLock(0).name))
        #expect(isHere(ReadWriteCoordinator().name))
        #expect(isHere(PrioritySemaphore(value: 1).name))
        #expect(isHere(BlockingPriorityQueue<Int>().name))
        #expect(isHere(FIFOQueue().name))
        #expect(isHere(ActorQueue<Ledger>().name))
        #expect(isHere(WorkQueue().name))
        #expect(isHere(CommandQueue().name))
        #expect(isHere(ConcurrentWorkQueue().name))
        #expect(isHere(ResourcePool(maximum: 1, make: { 0 }).name))
    }

    @Test func attributesLeaveThePlaceAsItIs() {
        #expect(isHere(PriorityMutex(0, policy: .strict, bypassLimit: 3).name))
        #expect(isHere(QueueSafeValue(value: 0, policy: .strict).name))
        #expect(isHere(ReadWriteLock(0, policy: .strict, readerBias: true).name))
        #expect(isHere(PrioritySemaphore(value: 1, most: 2).name))
        #expect(isHere(BlockingPriorityQueue<Int>(capacity: 2).name))
        #expect(isHere(FIFOQueue(capacity: 2, whenFull: .wait).name))
        #expect(isHere(ActorQueue<Ledger>(capacity: 2, whenFull: .wait).name))
        #expect(isHere(WorkQueue(capacity: 2, whenFull: .wait).name))
        #expect(isHere(WorkQueue(priority: .low).name))
        #expect(isHere(ConcurrentWorkQueue(width: 2, capacity: 2, whenFull: .wait).name))
    }

    @Test func anObjectHasTheNameThatItWasGiven() {
        let names = [
            PriorityMutex(0, name: "n").name, AsyncMutex(0, name: "n").name, CriticalSection(name: "n").name,
            QueueSafeValue(value: 0, name: "n").name, QueueSafeSyncedValue(value: 0, name: "n").name,
            QueueSafeAsyncedValue(value: 0, queue: .global(), name: "n").name, ReadWriteLock(0, name: "n").name,
            ReadWriteCoordinator(name: "n").name, PrioritySemaphore(value: 1, name: "n").name,
            BlockingPriorityQueue<Int>(name: "n").name, FIFOQueue(name: "n").name, ActorQueue<Ledger>(name: "n").name,
            WorkQueue(name: "n").name, WorkQueue(name: "n", priority: .low).name, ConcurrentWorkQueue(name: "n").name,
            EventRecorder(name: "n").name, CommandQueue(name: "n").name, TaskQueue.getQueue(name: "n").name,
            ResourcePool(maximum: 1, name: "n", make: { 0 }).name,
        ]
        #expect(names == Array(repeating: "n", count: names.count))
    }

    @Test func theEarlierWordsForANameStay() {
        #expect(ReadWriteCoordinator(queueLabel: "n").name == "n")
        #expect(ReadWriteCoordinator(name: "n").queueLabel == "n")
        #expect(TaskQueue.getQueue(identifier: "n") === TaskQueue.getQueue(name: "n"))
        #expect(TaskQueue.getQueue(name: "n").identifier == "n")
    }

    @Test(arguments: [nil, ""])
    func noNameAndAnEmptyOneStandForThePlace(name: String?) {
        let (mutex, line) = (PriorityMutex(0, name: name), #line)
        #expect(mutex.name == "\(Self.file):\(line)")
        let (queue, lineOfQueue) = (WorkQueue(name: name), #line)
        #expect(queue.name == "\(Self.file):\(lineOfQueue)")
    }

    @Test func aNameStaysOnOneLine() {
        #expect(PriorityMutex(0, name: "two\nlines\u{7f}").name == "two lines ")
        #expect(PriorityMutex(0, name: "dépôt 🗄").name == "dépôt 🗄")
        #expect(PriorityMutex(0, fileID: "file", line: 0).name == "file:1")
    }

    /// It compiles, which is what it is for.
    @Test func referencesToInitializersTakeTheFormWithoutAPlace() {
        let numbers = [1, 2]
        #expect(numbers.map(QueueSafeValue.init(value:)).map(\.name).allSatisfy { $0.hasPrefix("0x") })
        #expect(numbers.map(QueueSafeSyncedValue.init(value:)).map(\.name).allSatisfy { $0.hasPrefix("0x") })
        let makeSection: () -> CriticalSection = CriticalSection.init
        let makeCoordinator: () -> ReadWriteCoordinator = ReadWriteCoordinator.init
        let makeFIFO: () -> FIFOQueue = FIFOQueue.init
        let makeOfActor: () -> ActorQueue<Ledger> = ActorQueue<Ledger>.init
        let names = [makeSection().name, makeCoordinator().name, makeFIFO().name, makeOfActor().name]
        #expect(names.allSatisfy { $0.hasPrefix("0x") })
    }

    @Test func aSnapshotHasANameOrItsPlace() {
        #expect(isHere(Snapshot(0).name))
        let named = Snapshot(0, name: "n")
        #expect(named.name == "n")
        let gate = unsafe UnsafeRawPointer(named.box.snapshot) + MemoryLayout.offset(of: \csk_snapshot_t.updating)!
        unsafe #expect(kernelName(gate, Int(CSK_OBJECT_GATE)) == "n")
        withExtendedLifetime(named) {}
    }

    /// A file whose name and line would be cut by the kernel.
    @Test func ofALongPlaceTheModuleIsLeftOut() {
        #expect(CreationPlace.label(nil, "Module/File.swift", 12) == "Module/File.swift:12")
        let long: StaticString = "AModuleWithARatherLongNameThatSomebodyMayHaveChosen/AFileOfIts.swift"
        #expect(CreationPlace.label(nil, long, 12) == "AFileOfIts.swift:12")
        #expect(CreationPlace.label("name", long, 12) == "name")
    }

    // MARK: - What the kernel finds

    private func kernelName(_ object: UnsafeRawPointer, _ kind: Int) -> String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            _ = unsafe csk_name_of(object, UInt32(kind), buffer.baseAddress, buffer.count)
            return unsafe String(cString: buffer.baseAddress!)
        }
    }

    /// Reports find names by the addresses of the kernel's objects.
    @Test func theKernelFindsTheNames() {
        let mutex = PriorityMutex(0, name: "mutex"), value = QueueSafeValue(value: "")
        let lock = ReadWriteLock(0, name: "lock"), semaphore = PrioritySemaphore(value: 1, name: "semaphore")
        let elements = BlockingPriorityQueue<Int>(name: "elements"), section = CriticalSection()
        let async = AsyncMutex(0, name: "async"), work = WorkQueue(name: "work")
        unsafe #expect(kernelName(mutex.box.gate, Int(CSK_OBJECT_GATE)) == "mutex")
        unsafe #expect(kernelName(value.box.gate, Int(CSK_OBJECT_GATE)) == value.name)
        unsafe #expect(kernelName(section.box.gate, Int(CSK_OBJECT_GATE)) == section.name)
        unsafe #expect(kernelName(lock.box.lock, Int(CSK_OBJECT_RWLOCK)) == "lock")
        unsafe #expect(kernelName(semaphore.box.semaphore, Int(CSK_OBJECT_SEM)) == "semaphore")
        unsafe #expect(kernelName(async.address, Int(CSK_OBJECT_SEM)) == "async")
        unsafe #expect(kernelName(elements.queue, Int(CSK_OBJECT_PQUEUE)) == "elements")
        unsafe #expect(kernelName(work.core.queue, Int(CSK_OBJECT_WORKQUEUE)) == "work")
        withExtendedLifetime((mutex, value, lock, semaphore, elements, section, async, work)) {}
    }

    /// The name is where the object was, behind the gate that has been closed.
    @Test func aValueHasItsNameWhileItsLastCommandsRun() {
        let done = Flag(), isInside = Flag(), mayEnd = Flag()
        var value: QueueSafeValue<Int>? = QueueSafeValue(value: 0, name: "last")
        let box = value!.box
        value!.async(performIn: .global()).lowestPriority.set { _ in
            isInside.raise()
            waitUntil { mayEnd.isRaised }
        } completion: { _ in
            done.raise()
        }
        waitUntil { isInside.isRaised }
        value = nil
        #expect(box.name == "last")
        mayEnd.raise()
        waitUntil { done.isRaised }
        #expect(box.name == "last")
    }

    // MARK: - Reports and messages

    @Test func aReportOfTheKernelShowsTheName() async {
        await #expect(processExitsWith: .success) {
            let subjects = Shared<[String]>([])
            SyncDiagnostics.setHandler { report in
                if report.kind == .longRead { subjects.access { $0.append(report.subject) } }
            }
            let routes = ReadWriteLock(0, name: "routes"), isInside = Flag()
            let reader = Thread {
                routes.withReadLock { _ in
                    isInside.raise()
                    waitUntil { !subjects.value.isEmpty }
                }
            }
            waitUntil { isInside.isRaised }
            routes.withWriteLock { _ in }
            reader.join()
            mustHold(subjects.value[0].hasPrefix("read-write lock routes at 0x"), "\(subjects.value)")
        }
    }

    @Test func aMessageShowsTheName() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let mutex = PriorityMutex(0, name: "sessions")
            mutex.withLock { _ in mutex.withLock { _ in } }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("PriorityMutex sessions: withLock was called inside a section of the same mutex"))
    }

    @Test func aTraceShowsTheNameOfTheQueue() {
        let recorder = EventRecorder(name: "recorder"), queue = WorkQueue(name: "uploads", recorder: recorder)
        queue.sync {}
        #expect(recorder.events.map(\.tag).contains("uploads"))
        #expect(recorder.chromeTrace().contains("recorder"))
    }
}
