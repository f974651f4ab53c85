import CSyncKernel
import Dispatch
import Glibc
import Synchronization
import Testing

@testable import SwiftSync

/// Each fact that the library relies on and no document promises: one that fails here no longer holds for this
/// toolchain.
@Suite(.endsInTime)
struct RuntimeFactsTests {
    // MARK: - Layouts

    private struct Whole<Last> {
        let first: UInt32
        let second: any Sendable.Type
        var last: Last
    }

    private struct Beginning {
        let first: UInt32
        let second: any Sendable.Type
    }

    private func checkBeginning<Last>(_ last: Last) {
        let whole = UnsafeMutablePointer<Whole<Last>>.allocate(capacity: 1)
        whole.initialize(to: Whole(first: 7, second: String.self, last: last))
        let first: UnsafeMutablePointer<UInt32> = Layout.first(of: whole)
        #expect(first.pointee == 7)
        first.pointee = 8
        #expect(whole.pointee.first == 8)
        let last = whole.pointer(to: \.last)!
        #expect(Layout.whole(of: last, at: \Whole<Last>.last) == whole)
        let beginning = RuntimeFacts.beginning(of: whole, as: Beginning.self)
        #expect(beginning.first == 8)
        #expect(ObjectIdentifier(beginning.second) == ObjectIdentifier(String.self))
        whole.deinitialize(count: 1)
        whole.deallocate()
    }

    @Test
    func whatIsCheckedAtTheFirstUseHolds() { RuntimeFacts.areChecked }

    @Test
    func theFirstPropertiesOfAStructureStandAtItsAddressWhateverFollows() {
        checkBeginning(UInt8(1))
        checkBeginning("text")
        checkBeginning([1, 2, 3] as Any)
        checkBeginning(SIMD16<Float>(repeating: 1))
        checkBeginning(Tracked(Shared(0)) as Tracked?)
        checkBeginning(())
    }

    private final class Holder: @unchecked Sendable {
        let before = "before"
        @exclusivity(unchecked) var numbers = (1, 2, 3)
        var address: UnsafeMutablePointer<(Int, Int, Int)> { RuntimeFacts.lastingAddress(of: &numbers) }
    }

    @Test
    func aStoredPropertyOfAnObjectStaysWhereItIs() {
        let holder = Holder(), address = holder.address
        address.pointee.1 = 20
        holder.numbers.2 = 30
        #expect(holder.numbers == (1, 20, 30))
        #expect(address.pointee == (1, 20, 30))
        #expect(holder.address == address)
        withExtendedLifetime([holder]) { #expect($0[0].address == address) }
    }

    private final class Buffer: ManagedBuffer<Int, String> {
        deinit { _ = withUnsafeMutablePointerToElements { $0.deinitialize(count: 1) } }
    }

    @Test
    func theHeaderAndTheElementsOfABufferStayWhereTheyAre() {
        let buffer = Buffer.create(minimumCapacity: 1) { _ in 1 }
        let header = buffer.withUnsafeMutablePointerToHeader { $0 }
        let elements = buffer.withUnsafeMutablePointerToElements { $0 }
        elements.initialize(to: "one")
        // Through another reference.
        var others = [buffer]
        others += others
        others[1].header = 2
        header.pointee += 1
        elements.pointee += ", two"
        #expect(buffer.header == 3)
        #expect(buffer.withUnsafeMutablePointerToElements { $0.pointee } == "one, two")
        #expect(others[1].withUnsafeMutablePointerToHeader { $0 } == header)
        #expect(others[1].withUnsafeMutablePointerToElements { $0 } == elements)
        withExtendedLifetime(buffer) {}
    }

    private class Base { class var name: String { "base" } }
    private final class Derived<T>: Base { override class var name: String { "derived of \(T.self)" } }

    @Test
    func theTypeOfAClassIsAWordThatFindsTheClassAgain() {
        let types: [Base.Type] = [Base.self, Derived<Int>.self, Derived<[String]>.self]
        let pointers = types.map { RuntimeFacts.pointer(to: $0) }
        #expect(Set(pointers).count == types.count)
        #expect(types.map { RuntimeFacts.pointer(to: $0) } == pointers)
        let names = pointers.map { RuntimeFacts.type(at: $0, as: Base.self).name }
        #expect(names == ["base", "derived of Int", "derived of Array<String>"])
    }

    @Test
    func anInstantOfTheSuspendingClockIsTheTimeOfTheKernelsClock() {
        for _ in 0..<1000 {
            let earliest = csk_now(), instant = SuspendingClock.now, latest = csk_now()
            let time = RuntimeFacts.time(of: instant)
            #expect(time >= .nanoseconds(earliest) && time <= .nanoseconds(latest))
            #expect(RuntimeFacts.time(of: instant + .seconds(7)) == time + .seconds(7))
        }
    }

    @Test
    func anInstantOfTheContinuousClockIsTheTimeThatItShows() {
        for span in [Duration.seconds(7), .nanoseconds(-1), .seconds(Int64.max)] {
            let now = ContinuousClock.now
            #expect(RuntimeFacts.time(of: now + span) - RuntimeFacts.time(of: now) == span)
        }
    }

    // MARK: - Tasks and executors

    /// An executor that keeps a job until it is asked for it.
    private final class Parking: SerialExecutor {
        private let parked = Shared<UnownedJob?>(nil)

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            parked.access { $0 = job }
        }

        func take() -> UnownedJob? { parked.access { $0.take() } }
    }

    private actor Visited {
        private let executor: Parking
        private var visits = 0

        init(_ executor: Parking) { self.executor = executor }

        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        func visit() { visits += 1 }
    }

    @Test
    func aTaskThatIsResumedForNoActorGoesOnAtOnceOnTheSameThread() async {
        #expect(MemoryLayout<UnownedSerialExecutor>.size == 2 * MemoryLayout<UInt>.size)
        let parking = Parking(), visited = Visited(parking), thread = Shared<pthread_t?>(nil)
        Task.detached {
            await visited.visit()
            thread.access { $0 = pthread_self() }
        }
        var job: UnownedJob?
        await waitUntil {
            job = parking.take()
            return job != nil
        }
        #expect(thread.value == nil)
        job?.runSynchronously(on: RuntimeFacts.noActor)
        #expect(thread.value == pthread_self())
    }

    private actor Plain {}

    private final class Direct: TaskExecutor {
        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    private func address(of object: AnyObject) -> UInt { UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque()) }

    @Test
    func theFirstWordOfAnExecutorIsTheAddressOfItsObject() async {
        let plain = Plain(), queue = WorkQueue(name: "identity"), direct = Direct(), other = Direct()
        #expect(RuntimeFacts.identity(of: plain.unownedExecutor) == address(of: plain))
        #expect(RuntimeFacts.identity(of: queue.asUnownedSerialExecutor()) == address(of: queue))
        #expect(RuntimeFacts.identity(of: queue.asUnownedTaskExecutor()) == address(of: queue))
        #expect(RuntimeFacts.identity(of: other.asUnownedTaskExecutor()) == address(of: other))
        let preferred = await Task(executorPreference: direct) {
            withUnsafeCurrentTask { $0?.unownedTaskExecutor.map(RuntimeFacts.identity(of:)) }
        }.value
        #expect(preferred == address(of: direct))
    }

    @Test
    func theCallingTaskIsCancelledFromElsewhere() async throws {
        let handle = Shared<RuntimeFacts.AnyTask?>(nil)
        let task = Task<Int, any Error> {
            withUnsafeCurrentTask { current in handle.access { $0 = RuntimeFacts.anyTask(current!) } }
            await waitUntil { Task.isCancelled }
            return 7
        }
        await waitUntil { handle.value != nil }
        handle.value?.cancel()
        #expect(try await task.value == 7)
        #expect(handle.value?.isCancelled == true)
    }

    @Test
    func aTaskHasOneNumberThatNoOtherHasMeanwhile() async throws {
        let mine = RuntimeFacts.addressOfTask()
        #expect(mine != 0)
        async let child = RuntimeFacts.addressOfTask()
        let other = Task.detached {
            let before = RuntimeFacts.addressOfTask()
            await Task.yield()
            return (before, RuntimeFacts.addressOfTask())
        }
        let (before, after) = await other.value, ofChild = await child
        #expect(before == after && Set([mine, ofChild, before]).count == 3)
        #expect(RuntimeFacts.addressOfTask() == mine)
    }

    @Test
    func aTaskIsRaisedByItsAddress() async {
        let address = Shared(UInt(0))
        let task = Task.detached(priority: .background) {
            let first = Task.currentPriority
            address.access { $0 = RuntimeFacts.addressOfTask() }
            await untilRaised()
            return first
        }
        await waitUntil { address.value != 0 }
        RuntimeFacts.escalate(taskAt: address.value, to: .high)
        let first = await task.value
        #expect(first == .background)
    }

    @Test
    func theNameOfATaskStaysWhereItIsAsLongAsTheTask() async {
        let task = Task.detached(name: "a long name for a task, beyond what a string holds in itself") {
            let before = UInt(bitPattern: RuntimeFacts.nameOfTask())
            await Task.yield()
            let after = RuntimeFacts.nameOfTask()
            return (before == UInt(bitPattern: after), after.map { String(cString: $0) } == Task.name)
        }
        #expect(await task.value == (true, true))
        let unnamed = Task.detached { RuntimeFacts.nameOfTask() == nil }
        #expect(await unnamed.value)
    }

    @TaskLocal private static var number: [Int]?

    @Test
    func aTaskLocalValueIsWhereItWasBoundAlsoForChildrenAndElsewhereForOtherTasks() async {
        func look() -> (address: UInt, value: [Int]?)? {
            RuntimeFacts.address(of: Self.$number).map {
                (UInt(bitPattern: $0), $0.assumingMemoryBound(to: [Int]?.self).pointee)
            }
        }
        #expect(look() == nil)
        await Self.$number.withValue([1]) {
            let bound = look()
            #expect(bound?.value == [1])
            async let child = look()
            let (ofChild, ofOther) = (await child, await Task { look() }.value)
            #expect(ofChild?.address == bound?.address && ofChild?.value == [1])
            #expect(ofOther != nil && ofOther?.address != bound?.address && ofOther?.value == [1])
            Self.$number.withValue([2]) {
                #expect(look()?.value == [2] && look()?.address != bound?.address)
            }
            #expect(look()?.address == bound?.address)
        }
        #expect(look() == nil)
        #expect(await Task.detached { look() == nil }.value)
    }

    // MARK: - Dispatch

    @Test
    func aDispatchQueuesObjectWrapsOneThingWhichIsTheSameForTheSameQueue() {
        let queue = DispatchQueue(label: "facts"), other = DispatchQueue(label: "facts")
        #expect(RuntimeFacts.wrapped(by: queue) != 0)
        #expect(RuntimeFacts.wrapped(by: queue) != RuntimeFacts.wrapped(by: other))
        #expect(RuntimeFacts.wrapped(by: .global(qos: .utility)) == RuntimeFacts.wrapped(by: .global(qos: .utility)))
        #expect(RuntimeFacts.wrapped(by: .global(qos: .utility)) != RuntimeFacts.wrapped(by: .global(qos: .background)))
        #expect(QueueIdentity.wrapsAtSecondWord)
    }

    @Test
    func aFunctionRunsOnTheQueueThatAnObjectWraps() async {
        let key = DispatchSpecificKey<Int>(), queue = DispatchQueue(label: "facts"), onQueue = Shared([Bool]())
        queue.setSpecific(key: key, value: 1)
        final class Context: Sendable {
            let run: @Sendable () -> Void
            init(_ run: @escaping @Sendable () -> Void) { self.run = run }
        }
        queue.async { onQueue.append(true) }
        let context = Context { onQueue.append(DispatchQueue.getSpecific(key: key) == 1) }
        RuntimeFacts.async(onWrapped: RuntimeFacts.wrapped(by: queue), Unmanaged.passRetained(context).toOpaque()) {
            Unmanaged<Context>.fromOpaque($0!).takeRetainedValue().run()
        }
        await waitUntil { onQueue.value.count == 2 }
        #expect(onQueue.value == [true, true])
    }
}
