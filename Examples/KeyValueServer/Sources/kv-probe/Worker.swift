#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A thread that computes one value. A probe blocks in system calls, which is nothing for a pool of threads.
final class Worker<Value: Sendable>: @unchecked Sendable {
    // Sendable because `result` is written by the thread and read only after joining it.
    private var result: Result<Value, any Error>?
    private let body: @Sendable () throws -> Value
    private var thread = pthread_t()

    init(_ body: @escaping @Sendable () throws -> Value) {
        self.body = body
        let me = Unmanaged.passRetained(self as AnyObject).toOpaque()
        let status = pthread_create(&thread, nil, workerMain, me)
        precondition(status == 0, "no thread could be started")
    }

    /// Waits for the thread. To be called once.
    func value() throws -> Value {
        pthread_join(thread, nil)
        guard let result else { preconditionFailure("the thread ended without a result") }
        return try result.get()
    }
}

private protocol Runnable: AnyObject {
    func run()
}

extension Worker: Runnable {
    fileprivate func run() {
        result = Result { try body() }
    }
}

private func workerMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let argument {
        let worker = Unmanaged<AnyObject>.fromOpaque(argument).takeRetainedValue()
        (worker as? any Runnable)?.run()
    }
    return nil
}
