import SwiftSync

final class HeldPermit: Held, @unchecked Sendable {
    private let constant = PrioritySemaphore(value: 1)
    private var variable = PrioritySemaphore(value: 1)
    private let elements = [PrioritySemaphore(value: 1), PrioritySemaphore(value: 1)]
    private static let shared = PrioritySemaphore(value: 1)

    @inline(never) func ofConstant() {
        try? constant.blockingWait()
        try? constant.signal()
    }
    @inline(never) func ofVariable() {
        try? variable.blockingWait()
        try? variable.signal()
    }
    @inline(never) func ofElement(_ index: Int) {
        try? elements[index].blockingWait()
        try? elements[index].signal()
    }
    @inline(never) static func ofStatic() {
        try? shared.blockingWait()
        try? shared.signal()
    }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return {
            try? value.blockingWait()
            try? value.signal()
        }
    }
    func call() {
        try? constant.blockingWait()
        try? constant.signal()
    }
    func exchange() { variable = PrioritySemaphore(value: 1) }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = PrioritySemaphore(value: 1)
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() {
            try? value.blockingWait()
            try? value.signal()
        }
    }
}

final class HeldPermitScope: Held, @unchecked Sendable {
    private let constant = PrioritySemaphore(value: 1)
    private var variable = PrioritySemaphore(value: 1)
    private let elements = [PrioritySemaphore(value: 1), PrioritySemaphore(value: 1)]
    private static let shared = PrioritySemaphore(value: 1)

    @inline(never) func ofConstant() { try? constant.blockingWithPermit {} }
    @inline(never) func ofVariable() { try? variable.blockingWithPermit {} }
    @inline(never) func ofElement(_ index: Int) { try? elements[index].blockingWithPermit {} }
    @inline(never) static func ofStatic() { try? shared.blockingWithPermit {} }
    @inline(never) func capturing() -> @Sendable () -> Void {
        let value = constant
        return { try? value.blockingWithPermit {} }
    }
    func call() { try? constant.blockingWithPermit {} }
    func exchange() { variable = PrioritySemaphore(value: 1) }

    actor ByActor: HeldByActor {
        private let other = 0
        private let value = PrioritySemaphore(value: 1)
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() { try? value.blockingWithPermit {} }
    }
}
