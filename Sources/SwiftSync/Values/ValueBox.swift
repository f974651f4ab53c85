public import CSyncKernel
import Dispatch

/// A status of the kernel for which no better error exists.
struct KernelError: Error, CustomStringConvertible {
    let status: Int32
    var description: String { statusText(status) }
}

/// The gate and the value of a ``QueueSafeValue``. The value's owner closes the box, which destroys the value after the
/// last command that was accepted. A closed gate stays held for good, so no command can reach the place where the value
/// was.
///
/// The owner keeps the box alive, and after it the closing waiter, until all accepted commands have begun. The caller
/// of a command and the block of a lane keep the box while they enter or leave the gate. So does a command that can
/// time out, or that ends elsewhere.
@usableFromInline
@safe
final class ValueBox<Value>: GateBox<ValueHeader, Value> {
    @inlinable
    static func make(
        _ value: consuming sending Value, _ policy: GatePolicy, _ bypassLimit: UInt32?, graceMicroseconds: UInt32 = 0,
        _ place: csk_place_t
    ) -> ValueBox {
        let buffer = ValueBox.create(minimumCapacity: 1) { _ in ValueHeader() }
        let box = unsafe unsafeDowncast(buffer, to: ValueBox.self)
        unsafe box.place(value) {
            unsafe csk_placed_gate_t.prepare(
                Layout.first(of: $0), policy, bypassLimit, graceMicroseconds: graceMicroseconds, place)
        }
        return box
    }

    @inlinable
    deinit {
        unsafe withGate { unsafe ValueLanes.free($0) }
        unsafe place.end()
    }

    override var kind: String { "QueueSafeValue" }

    /// Refuses new commands, and destroys the value once the accepted commands have ended. The value is destroyed on
    /// the thread that ends the last command, or on a global queue if that thread is the timers' thread. It never
    /// blocks.
    @usableFromInline
    func close() {
        let status = ClosingWaiter(self).close()
        guard status == 0 else {
            fatalError("QueueSafeValue \(name): closed twice: \(statusText(status))")
        }
    }
}

/// Keeps the box alive while it waits for its last commands.
private final class ClosingWaiter<Value>: GateWaiterOwner, @unchecked Sendable {
    private let box: ValueBox<Value>
    @exclusivity(unchecked) private var memory = GateWaiter.Memory()

    init(_ box: ValueBox<Value>) {
        self.box = box
    }

    func close() -> Int32 { unsafe box.withGate { unsafe GateWaiter(in: &memory).close($0, owner: self) } }

    /// The value's deinit may run code of its users, which may block. The timers' thread must not block.
    var resolvingQueue: DispatchQueue? { csk_timer_is_current() ? .global() : nil }

    func gateResolved(_ status: Int32) { box.endElement() }
}
