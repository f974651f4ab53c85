import SwiftSync
import Synchronization

/// What can't be copied stands in an object where it could be exchanged.
final class HeldMutex: Held, @unchecked Sendable {
    private let constant = Mutex(0)
    private var variable = InObject()
    private let elements = [InObject(), InObject()]
    private static let shared = Mutex(0)

    @inline(never) func ofConstant() { constant.withLock { $0 &+= 1 } }
    @inline(never) func ofVariable() { variable.mutex.withLock { $0 &+= 1 } }
    @inline(never) func ofElement(_ index: Int) { elements[index].mutex.withLock { $0 &+= 1 } }
    @inline(never) static func ofStatic() { shared.withLock { $0 &+= 1 } }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = Mutex(0)
        return { value.withLock { $0 &+= 1 } }
    }
    func call() { constant.withLock { $0 &+= 1 } }
    func exchange() { variable = InObject() }

    private final class InObject: Sendable {
        let mutex = Mutex(0)
    }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = Mutex(0)
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { value.withLock { $0 &+= 1 } }
    }
}

final class HeldPriorityMutex: Held, @unchecked Sendable {
    private let constant = PriorityMutex(0)
    private var variable = PriorityMutex(0)
    private let elements = [PriorityMutex(0), PriorityMutex(0)]
    private static let shared = PriorityMutex(0)

    @inline(never) func ofConstant() { constant.withLock { $0 &+= 1 } }
    @inline(never) func ofVariable() { variable.withLock { $0 &+= 1 } }
    @inline(never) func ofElement(_ index: Int) { elements[index].withLock { $0 &+= 1 } }
    @inline(never) static func ofStatic() { shared.withLock { $0 &+= 1 } }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { value.withLock { $0 &+= 1 } }
    }
    func call() { constant.withLock { $0 &+= 1 } }
    func exchange() { variable = PriorityMutex(0) }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = PriorityMutex(0)
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { value.withLock { $0 &+= 1 } }
    }
}

final class HeldSection: Held, @unchecked Sendable {
    private let constant = CriticalSection()
    private var variable = CriticalSection()
    private let elements = [CriticalSection(), CriticalSection()]
    private static let shared = CriticalSection()

    @inline(never) func ofConstant() { constant.execute {} }
    @inline(never) func ofVariable() { variable.execute {} }
    @inline(never) func ofElement(_ index: Int) { elements[index].execute {} }
    @inline(never) static func ofStatic() { shared.execute {} }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { value.execute {} }
    }
    func call() { constant.execute {} }
    func exchange() { variable = CriticalSection() }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = CriticalSection()
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { value.execute {} }
    }
}
