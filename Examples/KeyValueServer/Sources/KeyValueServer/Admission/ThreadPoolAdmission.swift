import NIOPosix

/// A pool with a thread for each permit, first in, first out.
struct ThreadPoolAdmission: Admission {
    private let pool: NIOThreadPool

    init(permits: Int) {
        pool = NIOThreadPool(numberOfThreads: permits)
        pool.start()
    }

    func run(_ priority: ClientPriority, _ body: @escaping @Sendable () -> Void) {
        pool.submit { _ in body() }
    }

    func stop() { try? pool.syncShutdownGracefully() }
}
