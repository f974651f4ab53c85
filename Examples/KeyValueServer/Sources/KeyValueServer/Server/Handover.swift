import Synchronization

/// Takes a value from one thread to another as the only reference to it, so that it can go on being changed in place.
final class Handover<Value: Sendable>: Sendable {
    private let place: Mutex<Value?>

    init(_ value: consuming Value) { place = Mutex(value) }

    func put(_ value: consuming Value) {
        let value = value
        place.withLock { $0 = value }
    }

    func take() -> Value {
        guard let value = place.withLock({ $0.take() }) else { preconditionFailure("nothing was handed over") }
        return value
    }
}
