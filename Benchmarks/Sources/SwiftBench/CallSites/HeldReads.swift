import SwiftSync

// What was read is used, which takes two instructions. Otherwise it would not be read.

final class HeldRead: Held, @unchecked Sendable {
    private let constant = ReadWriteLock(1)
    private var variable = ReadWriteLock(1)
    private let elements = [ReadWriteLock(1), ReadWriteLock(1)]
    private static let shared = ReadWriteLock(1)

    @inline(never) func ofConstant() { precondition(constant.withReadLock { $0 } == 1) }
    @inline(never) func ofVariable() { precondition(variable.withReadLock { $0 } == 1) }
    @inline(never) func ofElement(_ index: Int) { precondition(elements[index].withReadLock { $0 } == 1) }
    @inline(never) static func ofStatic() { precondition(shared.withReadLock { $0 } == 1) }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { precondition(value.withReadLock { $0 } == 1) }
    }
    func call() { precondition(constant.withReadLock { $0 } == 1) }
    func exchange() { variable = ReadWriteLock(1) }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = ReadWriteLock(1)
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { precondition(value.withReadLock { $0 } == 1) }
    }
}

final class HeldBiasedRead: Held, @unchecked Sendable {
    private let other = 0
    private let constant = ReadWriteLock(1, readerBias: true)
    private var variable = ReadWriteLock(1, readerBias: true)
    private let elements = [ReadWriteLock(1, readerBias: true), ReadWriteLock(1, readerBias: true)]
    private static let shared = ReadWriteLock(1, readerBias: true)

    @inline(never) func ofConstant() { precondition(constant.withReadLock { $0 } == 1) }
    @inline(never) func ofVariable() { precondition(variable.withReadLock { $0 } == 1) }
    @inline(never) func ofElement(_ index: Int) { precondition(elements[index].withReadLock { $0 } == 1) }
    @inline(never) static func ofStatic() { precondition(shared.withReadLock { $0 } == 1) }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { precondition(value.withReadLock { $0 } == 1) }
    }
    func call() { precondition(constant.withReadLock { $0 } == 1) }
    func exchange() { variable = ReadWriteLock(1, readerBias: true) }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = ReadWriteLock(1, readerBias: true)
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { precondition(value.withReadLock { $0 } == 1) }
    }
}

final class HeldCoordinatorRead: Held, @unchecked Sendable {
    private let constant = ReadWriteCoordinator()
    private var variable = ReadWriteCoordinator()
    private let elements = [ReadWriteCoordinator(), ReadWriteCoordinator()]
    private static let shared = ReadWriteCoordinator()

    @inline(never) func ofConstant() { precondition(constant.read { Number.one.value } == 1) }
    @inline(never) func ofVariable() { precondition(variable.read { Number.one.value } == 1) }
    @inline(never) func ofElement(_ index: Int) { precondition(elements[index].read { Number.one.value } == 1) }
    @inline(never) static func ofStatic() { precondition(shared.read { Number.one.value } == 1) }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { precondition(value.read { Number.one.value } == 1) }
    }
    func call() { precondition(constant.read { Number.one.value } == 1) }
    func exchange() { variable = ReadWriteCoordinator() }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = ReadWriteCoordinator()
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { precondition(value.read { Number.one.value } == 1) }
    }
}

final class HeldSnapshot: Held, @unchecked Sendable {
    private let constant = Snapshot(1)
    private var variable = Snapshot(1)
    private let elements = [Snapshot(1), Snapshot(1)]
    private static let shared = Snapshot(1)

    @inline(never) func ofConstant() { precondition(constant.read { $0 } == 1) }
    @inline(never) func ofVariable() { precondition(variable.read { $0 } == 1) }
    @inline(never) func ofElement(_ index: Int) { precondition(elements[index].read { $0 } == 1) }
    @inline(never) static func ofStatic() { precondition(shared.read { $0 } == 1) }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { precondition(value.read { $0 } == 1) }
    }
    func call() { precondition(constant.read { $0 } == 1) }
    func exchange() { variable = Snapshot(1) }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = Snapshot(1)
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { precondition(value.read { $0 } == 1) }
    }
}

/// What a coordinator protects, and what a thread has.
final class Number: @unchecked Sendable {
    static let one = Number()
    var value = 1
}
