import Dispatch
import Foundation
import NIOConcurrencyHelpers
import NIOPosix

// The peers at the call sites. `CallSites` has those of this library, and `Mutex`.

final class HeldNIOBox: Held, @unchecked Sendable {
    private let constant = NIOLockedValueBox(0)
    private var variable = NIOLockedValueBox(0)
    private let elements = [NIOLockedValueBox(0), NIOLockedValueBox(0)]
    private static let shared = NIOLockedValueBox(0)

    @inline(never) func ofConstant() { constant.withLockedValue { $0 &+= 1 } }
    @inline(never) func ofVariable() { variable.withLockedValue { $0 &+= 1 } }
    @inline(never) func ofElement(_ index: Int) { elements[index].withLockedValue { $0 &+= 1 } }
    @inline(never) static func ofStatic() { shared.withLockedValue { $0 &+= 1 } }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { value.withLockedValue { $0 &+= 1 } }
    }
    func call() { constant.withLockedValue { $0 &+= 1 } }
    func exchange() { variable = NIOLockedValueBox(0) }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = NIOLockedValueBox(0)
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { value.withLockedValue { $0 &+= 1 } }
    }
}

final class HeldLock: Held, @unchecked Sendable {
    private let constant = NSLock()
    private var variable = NSLock()
    private let elements = [NSLock(), NSLock()]
    private static let shared = NSLock()

    @inline(never) func ofConstant() { constant.withLock {} }
    @inline(never) func ofVariable() { variable.withLock {} }
    @inline(never) func ofElement(_ index: Int) { elements[index].withLock {} }
    @inline(never) static func ofStatic() { shared.withLock {} }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { value.withLock {} }
    }
    func call() { constant.withLock {} }
    func exchange() { variable = NSLock() }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = NSLock()
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { value.withLock {} }
    }
}

final class HeldRecursiveLock: Held, @unchecked Sendable {
    private let constant = NSRecursiveLock()
    private var variable = NSRecursiveLock()
    private let elements = [NSRecursiveLock(), NSRecursiveLock()]
    private static let shared = NSRecursiveLock()

    @inline(never) func ofConstant() { constant.withLock {} }
    @inline(never) func ofVariable() { variable.withLock {} }
    @inline(never) func ofElement(_ index: Int) { elements[index].withLock {} }
    @inline(never) static func ofStatic() { shared.withLock {} }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { value.withLock {} }
    }
    func call() { constant.withLock {} }
    func exchange() { variable = NSRecursiveLock() }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = NSRecursiveLock()
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { value.withLock {} }
    }
}

final class HeldPthreadRead: Held, @unchecked Sendable {
    private let constant = PthreadReadLock()
    private var variable = PthreadReadLock()
    private let elements = [PthreadReadLock(), PthreadReadLock()]
    private static let shared = PthreadReadLock()

    @inline(never) func ofConstant() { precondition(constant.read { Number.one.value } == 1) }
    @inline(never) func ofVariable() { precondition(variable.read { Number.one.value } == 1) }
    @inline(never) func ofElement(_ index: Int) { precondition(elements[index].read { Number.one.value } == 1) }
    @inline(never) static func ofStatic() { precondition(shared.read { Number.one.value } == 1) }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { precondition(value.read { Number.one.value } == 1) }
    }
    func call() { precondition(constant.read { Number.one.value } == 1) }
    func exchange() { variable = PthreadReadLock() }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = PthreadReadLock()
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { precondition(value.read { Number.one.value } == 1) }
    }
}

final class HeldThreadSpecific: Held, @unchecked Sendable {
    private let constant = ThreadSpecificVariable(value: Number())
    private var variable = ThreadSpecificVariable(value: Number())
    private let elements = [ThreadSpecificVariable(value: Number()), ThreadSpecificVariable(value: Number())]
    private static let shared = ThreadSpecificVariable(value: Number())

    @inline(never) func ofConstant() { precondition(constant.currentValue?.value == 1) }
    @inline(never) func ofVariable() { precondition(variable.currentValue?.value == 1) }
    @inline(never) func ofElement(_ index: Int) { precondition(elements[index].currentValue?.value == 1) }
    @inline(never) static func ofStatic() { precondition(shared.currentValue?.value == 1) }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { precondition(value.currentValue?.value == 1) }
    }
    func call() { precondition(constant.currentValue?.value == 1) }
    func exchange() { variable = ThreadSpecificVariable(value: Number()) }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = ThreadSpecificVariable(value: Number())
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { precondition(value.currentValue?.value == 1) }
    }
}

/// What a Swift program writes around pthread's lock.
private final class PthreadReadLock: @unchecked Sendable {
    private let lock: UnsafeMutablePointer<pthread_rwlock_t>

    init() {
        lock = .allocate(capacity: 1)
        pthread_rwlock_init(lock, nil)
    }

    deinit {
        pthread_rwlock_destroy(lock)
        lock.deallocate()
    }

    @inline(__always) func read<R>(_ body: () -> R) -> R {
        pthread_rwlock_rdlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        return body()
    }
}

final class HeldDispatchSemaphore: Held, @unchecked Sendable {
    private let constant = DispatchSemaphore(value: 1)
    private var variable = DispatchSemaphore(value: 1)
    private let elements = [DispatchSemaphore(value: 1), DispatchSemaphore(value: 1)]
    private static let shared = DispatchSemaphore(value: 1)

    @inline(never) func ofConstant() {
        constant.wait()
        constant.signal()
    }
    @inline(never) func ofVariable() {
        variable.wait()
        variable.signal()
    }
    @inline(never) func ofElement(_ index: Int) {
        elements[index].wait()
        elements[index].signal()
    }
    @inline(never) static func ofStatic() {
        shared.wait()
        shared.signal()
    }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return {
            value.wait()
            value.signal()
        }
    }
    func call() {
        constant.wait()
        constant.signal()
    }
    func exchange() { variable = DispatchSemaphore(value: 1) }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = DispatchSemaphore(value: 1)
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() {
            value.wait()
            value.signal()
        }
    }
}
