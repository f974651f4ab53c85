#if DEBUG || SWIFTSYNC_TEST_STEPS
import Synchronization
#endif

/// A place between two instructions. A test may stop the thread that reaches it, and let others go first.
///
/// A call names the place: its type, and what is about to happen. In release builds it is nothing, and no name is left
/// in the binary, which `scripts/test-steps` checks. In debug builds, and in the optimized build of the tests, which
/// `scripts/test-swift` makes with `SWIFTSYNC_TEST_STEPS`, it costs one load when no test listens.
///
/// - Parameters:
///   - name: the name by which tests know the step.
///   - subject: the object that the step is about. It is for tests of what other threads do: a worker, a timer, a
///     granter.
@inlinable @inline(__always)
func testStep(_ name: StaticString, _ subject: @autoclosure () -> AnyObject? = nil) {
    #if DEBUG || SWIFTSYNC_TEST_STEPS
    if TestSteps.isListening { TestSteps.reach(name, subject()) }
    #endif
}

#if DEBUG || SWIFTSYNC_TEST_STEPS
/// The listeners at the steps.
@usableFromInline
enum TestSteps {
    /// A listener is called on the thread that has reached a step. It may block there.
    typealias Listener = @Sendable (_ name: String, _ subject: AnyObject?) -> Void

    private final class Listeners: Sendable {
        let all: [Int: Listener]
        init(_ all: [Int: Listener]) { self.all = all }
    }

    /// The address of `Listeners`, or 0. It is replaced as a whole, and never freed. So a thread that passes by takes
    /// no lock, not even one of the language's.
    private static let listeners = Atomic<UInt>(0)
    private static let lastID = Atomic(0)

    @usableFromInline
    static var isListening: Bool { listeners.load(ordering: .acquiring) != 0 }

    @usableFromInline
    static func reach(_ name: StaticString, _ subject: AnyObject?) {
        let name = name.description
        current(listeners.load(ordering: .acquiring)).values.forEach { $0(name, subject) }
    }

    /// Calls `listener` for each step that any thread reaches, until the listener is removed by the number that is
    /// returned.
    static func add(_ listener: @escaping Listener) -> Int {
        let id = lastID.add(1, ordering: .relaxed).newValue
        replace { $0[id] = listener }
        return id
    }

    static func remove(_ id: Int) {
        replace { $0[id] = nil }
    }

    private static func current(_ address: UInt) -> [Int: Listener] {
        unsafe UnsafeRawPointer(bitPattern: address).map {
            unsafe Unmanaged<Listeners>.fromOpaque($0).takeUnretainedValue().all
        }
            ?? [:]
    }

    private static func replace(_ change: (inout [Int: Listener]) -> Void) {
        var old = listeners.load(ordering: .acquiring)
        while true {
            var all = current(old)
            change(&all)
            let new = unsafe all.isEmpty ? nil : Unmanaged.passRetained(Listeners(all))
            let (stored, found) = unsafe listeners.compareExchange(
                expected: old, desired: new.map { unsafe UInt(bitPattern: $0.toOpaque()) } ?? 0,
                ordering: .acquiringAndReleasing)
            if stored { return }
            unsafe new?.release()
            old = found
        }
    }
}
#endif
