import CSyncKernel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Holds the handler of ``SyncDiagnostics`` and calls it.
///
/// A pthread mutex guards the slot. It is held only to read or exchange the handler, and to count refusals, and nothing
/// is allocated or freed under it. A handler runs outside the mutex, and a replaced handler is released outside it. A
/// thread-specific mark records that this thread is inside a handler, and so ends a recursion.
///
/// In a child of `fork` the mutex may belong to a thread that does not exist there, which may have been counting a
/// refusal. So the child resets the process's slot, and keeps the handler that was set: that is one word, changed by
/// one store.
@safe
final class HandlerSlot: @unchecked Sendable {
    typealias Handler = @Sendable (SyncDiagnostics.Report) -> Void

    private final class Kept: Sendable {
        let handler: Handler
        init(_ handler: @escaping Handler) { self.handler = handler }
    }

    static let shared: HandlerSlot = {
        let slot = HandlerSlot()
        unsafe ofProcess = Unmanaged.passUnretained(slot)
        pthread_atfork(nil, nil) { unsafe HandlerSlot.ofProcess?._withUnsafeGuaranteedRef { $0.beginInChild() } }
        return slot
    }()
    /// The process's slot. ``shared`` may be under initialization when another thread forks: the child would wait for
    /// it.
    private nonisolated(unsafe) static var ofProcess: Unmanaged<HandlerSlot>?

    @safe private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var kept: Kept?
    private var refusals = RefusalLines()
    private let insideHandler: pthread_key_t
    private let now: @Sendable () -> Int64
    private let write: @Sendable (String) -> Void

    /// - Parameters:
    ///   - now: the monotonic clock, in nanoseconds.
    ///   - write: takes a line without its line end.
    init(
        now: @escaping @Sendable () -> Int64 = csk_now,
        write: @escaping @Sendable (String) -> Void = HandlerSlot.writeLine
    ) {
        self.now = now
        self.write = write
        mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        var key = pthread_key_t()
        let status = unsafe pthread_key_create(&key, nil)
        guard status == 0 else { fatalError("SyncDiagnostics: this process has no thread-specific key left") }
        insideHandler = key
    }

    private func beginInChild() {
        unsafe pthread_mutex_init(mutex, nil)
        refusals.forgetAll()
    }

    func replace(with handler: Handler?) {
        let new = handler.map(Kept.init)
        unsafe pthread_mutex_lock(mutex)
        let old = kept
        kept = new
        unsafe pthread_mutex_unlock(mutex)
        withExtendedLifetime(old) {}
    }

    /// `make` is called only for a report that a handler or the error stream gets.
    func deliver(_ kind: SyncDiagnostics.Report.Kind, subject: String, _ make: () -> SyncDiagnostics.Report) {
        guard unsafe pthread_getspecific(insideHandler) == nil, let handler = current() else {
            switch refusalLine(kind, subject) {
            case .none: return
            case .first: return write("\(make())")
            case .again(let count): return write("\(make()) (\(count) since the last line)")
            }
        }
        unsafe pthread_setspecific(insideHandler, UnsafeRawPointer(mutex))
        handler(make())
        pthread_setspecific(insideHandler, nil)
    }

    private func refusalLine(_ kind: SyncDiagnostics.Report.Kind, _ subject: String) -> RefusalLines.Line {
        guard kind == .refusedWhenFull || kind == .refusedAfterShutdown else { return .first }
        let origin = RefusalLines.Origin(kind, subject), now = now()
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        testStep("HandlerSlot: counts", self)
        return refusals.line(for: origin, now: now)
    }

    private func current() -> Handler? {
        unsafe pthread_mutex_lock(mutex)
        let found = kept
        unsafe pthread_mutex_unlock(mutex)
        return found?.handler
    }

    /// Writes one line by one write, so that lines of several threads or processes do not mix.
    @Sendable
    static func writeLine(_ text: String) {
        var line = "SwiftSync: \(text)\n"
        line.withUTF8 { bytes in
            unsafe csk_write_error(bytes.baseAddress, bytes.count)
        }
    }
}
