import SwiftSync

final class HeldPermit: Held, @unchecked Sendable {
    private let constant = PrioritySemaphore(value: 1)
    private var variable = PrioritySemaphore(value: 1)
    private let elements = [PrioritySemaphore(value: 1), PrioritySemaphore(value: 1)]
    private static let shared = PrioritySemaphore(value: 1)

    @inline(never) func ofConstant() {
        try? constant.wait()
        try? constant.signal()
    }
    @inline(never) func ofVariable() {
        try? variable.wait()
        try? variable.signal()
    }
    @inline(never) func ofElement(_ index: Int) {
        try? elements[index].wait()
        try? elements[index].signal()
    }
    @inline(never) static func ofStatic() {
        try? shared.wait()
        try? shared.signal()
    }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return {
            try? value.wait()
            try? value.signal()
        }
    }
    func call() {
        try? constant.wait()
        try? constant.signal()
    }
    func exchange() { variable = PrioritySemaphore(value: 1) }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = PrioritySemaphore(value: 1)
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() {
            try? value.wait()
            try? value.signal()
        }
    }
}

final class HeldPermitScope: Held, @unchecked Sendable {
    private let constant = PrioritySemaphore(value: 1)
    private var variable = PrioritySemaphore(value: 1)
    private let elements = [PrioritySemaphore(value: 1), PrioritySemaphore(value: 1)]
    private static let shared = PrioritySemaphore(value: 1)

    @inline(never) func ofConstant() { try? constant.withPermit {} }
    @inline(never) func ofVariable() { try? variable.withPermit {} }
    @inline(never) func ofElement(_ index: Int) { try? elements[index].withPermit {} }
    @inline(never) static func ofStatic() { try? shared.withPermit {} }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { try? value.withPermit {} }
    }
    func call() { try? constant.withPermit {} }
    func exchange() { variable = PrioritySemaphore(value: 1) }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = PrioritySemaphore(value: 1)
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { try? value.withPermit {} }
    }
}
