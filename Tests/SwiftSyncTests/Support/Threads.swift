import CSyncKernel
import Glibc

/// A thread of the operating system that runs one closure.
struct Thread: Sendable {
    private let handle: UInt

    init(_ body: @escaping @Sendable () -> Void) {
        var handle = pthread_t()
        let status = pthread_create(
            &handle, nil,
            { context in
                Unmanaged<Body>.fromOpaque(context!).takeRetainedValue().run()
                return nil
            },
            Unmanaged.passRetained(Body(run: body)).toOpaque())
        mustHold(status == 0, "the system refused a thread: \(status)")
        self.handle = UInt(handle)
    }

    /// Waits for the end of the thread. Each thread must be joined once.
    func join() {
        pthread_join(pthread_t(handle), nil)
    }

    /// Lets the thread end by itself, instead of joining it.
    func detach() {
        pthread_detach(pthread_t(handle))
    }

    private final class Body {
        let run: @Sendable () -> Void
        init(run: @escaping @Sendable () -> Void) { self.run = run }
    }
}

enum Threads {
    /// Runs `body(0)` to `body(count - 1)` on threads of their own and waits for them.
    static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let threads = (0..<count).map { index in Thread { body(index) } }
        threads.forEach { $0.join() }
    }

    /// Identifies the calling thread. glibc declares `pthread_self` as constant, so optimized code may take the thread
    /// from before an `await` for that after it.
    static var current: UInt { UInt(csk_self()) }
}
