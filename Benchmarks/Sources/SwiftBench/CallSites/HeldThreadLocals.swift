import SwiftSync

final class HeldThreadLocal: Held, @unchecked Sendable {
    private let constant = ThreadLocalValue<Int>(key: "held number") { _ in 1 }
    private var variable = ThreadLocalValue<Int>(key: "held number") { _ in 1 }
    private let elements = [
        ThreadLocalValue<Int>(key: "held number") { _ in 1 }, ThreadLocalValue<Int>(key: "held number") { _ in 1 },
    ]
    private static let shared = ThreadLocalValue<Int>(key: "held number") { _ in 1 }

    @inline(never) func ofConstant() { precondition(constant.value() == 1) }
    @inline(never) func ofVariable() { precondition(variable.value() == 1) }
    @inline(never) func ofElement(_ index: Int) { precondition(elements[index].value() == 1) }
    @inline(never) static func ofStatic() { precondition(shared.value() == 1) }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { precondition(value.value() == 1) }
    }
    func call() { precondition(constant.value() == 1) }
    func exchange() { variable = ThreadLocalValue<Int>(key: "held number") { _ in 1 } }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = ThreadLocalValue<Int>(key: "held number") { _ in 1 }
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { precondition(value.value() == 1) }
    }
}

final class HeldThreadLocalReference: Held, @unchecked Sendable {
    private let constant = ThreadLocalValue<Number>(key: "held reference") { _ in Number() }
    private var variable = ThreadLocalValue<Number>(key: "held reference") { _ in Number() }
    private let elements = [
        ThreadLocalValue<Number>(key: "held reference") { _ in Number() },
        ThreadLocalValue<Number>(key: "held reference") { _ in Number() },
    ]
    private static let shared = ThreadLocalValue<Number>(key: "held reference") { _ in Number() }

    @inline(never) func ofConstant() { precondition(constant.value()?.value == 1) }
    @inline(never) func ofVariable() { precondition(variable.value()?.value == 1) }
    @inline(never) func ofElement(_ index: Int) { precondition(elements[index].value()?.value == 1) }
    @inline(never) static func ofStatic() { precondition(shared.value()?.value == 1) }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { precondition(value.value()?.value == 1) }
    }
    func call() { precondition(constant.value()?.value == 1) }
    func exchange() { variable = ThreadLocalValue<Number>(key: "held reference") { _ in Number() } }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = ThreadLocalValue<Number>(key: "held reference") { _ in Number() }
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { precondition(value.value()?.value == 1) }
    }
}
