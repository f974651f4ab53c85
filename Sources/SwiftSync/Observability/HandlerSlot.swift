import Glibc

/// Holds the handler of ``SyncDiagnostics`` and calls it.
///
/// A pthread mutex guards the slot, and is held for reading or exchanging the closure only: a handler runs, and a replaced one is
/// released, outside. A thread-specific mark says that this thread is inside a handler, which ends a recursion.
final class HandlerSlot: @unchecked Sendable {
    typealias Handler = @Sendable (SyncDiagnostics.Report) -> Void

    static let shared = HandlerSlot()

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var handler: Handler?
    private let insideHandler: pthread_key_t

    private init() {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        var key = pthread_key_t()
        let status = pthread_key_create(&key, nil)
        guard status == 0 else { fatalError("SyncDiagnostics: this process has no thread-specific key left") }
        insideHandler = key
    }

    func replace(with new: Handler?) {
        pthread_mutex_lock(mutex)
        let old = handler
        handler = new
        pthread_mutex_unlock(mutex)
        withExtendedLifetime(old) {}
    }

    func deliver(_ report: SyncDiagnostics.Report) {
        guard pthread_getspecific(insideHandler) == nil, let handler = current() else {
            return Self.writeLine(report)
        }
        pthread_setspecific(insideHandler, UnsafeRawPointer(mutex))
        handler(report)
        pthread_setspecific(insideHandler, nil)
    }

    private func current() -> Handler? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return handler
    }

    /// One write of one line, so that lines of several threads or processes do not mix.
    private static func writeLine(_ report: SyncDiagnostics.Report) {
        var line = "SwiftSync: \(report)\n"
        line.withUTF8 { bytes in
            while write(STDERR_FILENO, bytes.baseAddress, bytes.count) < 0 && errno == EINTR {}
        }
    }
}
