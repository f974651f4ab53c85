import SwiftSync

final class HeldSet: Held, @unchecked Sendable {
    private let constant = QueueSafeValue(value: 1)
    private var variable = QueueSafeValue(value: 1)
    private let elements = [QueueSafeValue(value: 1), QueueSafeValue(value: 1)]
    private static let shared = QueueSafeValue(value: 1)

    @inline(never) func ofConstant() { constant.wait.lowestPriority.set { $0 &+= 1 } }
    @inline(never) func ofVariable() { variable.wait.lowestPriority.set { $0 &+= 1 } }
    @inline(never) func ofElement(_ index: Int) { elements[index].wait.lowestPriority.set { $0 &+= 1 } }
    @inline(never) static func ofStatic() { shared.wait.lowestPriority.set { $0 &+= 1 } }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { value.wait.lowestPriority.set { $0 &+= 1 } }
    }
    func call() { constant.wait.lowestPriority.set { $0 &+= 1 } }
    func exchange() { variable = QueueSafeValue(value: 1) }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = QueueSafeValue(value: 1)
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { value.wait.lowestPriority.set { $0 &+= 1 } }
    }
}

final class HeldReplacement: Held, @unchecked Sendable {
    private let constant = QueueSafeValue(value: 1)
    private var variable = QueueSafeValue(value: 1)
    private let elements = [QueueSafeValue(value: 1), QueueSafeValue(value: 1)]
    private static let shared = QueueSafeValue(value: 1)

    @inline(never) func ofConstant() { constant.wait.lowestPriority.set(newValue: 1) }
    @inline(never) func ofVariable() { variable.wait.lowestPriority.set(newValue: 1) }
    @inline(never) func ofElement(_ index: Int) { elements[index].wait.lowestPriority.set(newValue: 1) }
    @inline(never) static func ofStatic() { shared.wait.lowestPriority.set(newValue: 1) }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { value.wait.lowestPriority.set(newValue: 1) }
    }
    func call() { constant.wait.lowestPriority.set(newValue: 1) }
    func exchange() { variable = QueueSafeValue(value: 1) }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = QueueSafeValue(value: 1)
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { value.wait.lowestPriority.set(newValue: 1) }
    }
}

final class HeldGet: Held, @unchecked Sendable {
    private let constant = QueueSafeValue(value: 1)
    private var variable = QueueSafeValue(value: 1)
    private let elements = [QueueSafeValue(value: 1), QueueSafeValue(value: 1)]
    private static let shared = QueueSafeValue(value: 1)

    @inline(never) func ofConstant() { check(constant.wait.lowestPriority.get()) }
    @inline(never) func ofVariable() { check(variable.wait.lowestPriority.get()) }
    @inline(never) func ofElement(_ index: Int) { check(elements[index].wait.lowestPriority.get()) }
    @inline(never) static func ofStatic() { check(shared.wait.lowestPriority.get()) }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { check(value.wait.lowestPriority.get()) }
    }
    func call() { check(constant.wait.lowestPriority.get()) }
    func exchange() { variable = QueueSafeValue(value: 1) }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = QueueSafeValue(value: 1)
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { check(value.wait.lowestPriority.get()) }
    }
}

final class HeldMap: Held, @unchecked Sendable {
    private let constant = QueueSafeValue(value: 1)
    private var variable = QueueSafeValue(value: 1)
    private let elements = [QueueSafeValue(value: 1), QueueSafeValue(value: 1)]
    private static let shared = QueueSafeValue(value: 1)

    @inline(never) func ofConstant() { check(constant.wait.lowestPriority.map { $0 }) }
    @inline(never) func ofVariable() { check(variable.wait.lowestPriority.map { $0 }) }
    @inline(never) func ofElement(_ index: Int) { check(elements[index].wait.lowestPriority.map { $0 }) }
    @inline(never) static func ofStatic() { check(shared.wait.lowestPriority.map { $0 }) }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { check(value.wait.lowestPriority.map { $0 }) }
    }
    func call() { check(constant.wait.lowestPriority.map { $0 }) }
    func exchange() { variable = QueueSafeValue(value: 1) }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = QueueSafeValue(value: 1)
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { check(value.wait.lowestPriority.map { $0 }) }
    }
}

/// Uses what was read, which takes two or three instructions. Otherwise it would not be read.
@inline(__always)
private func check(_ result: Result<Int, QueueSafeValueError>) {
    guard case .success(1) = result else { preconditionFailure() }
}
