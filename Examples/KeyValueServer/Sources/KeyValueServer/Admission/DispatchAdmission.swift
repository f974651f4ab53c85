import Dispatch

/// A serial queue waits for a `DispatchSemaphore`, so that no more than one thread is blocked, and hands what it admits
/// to a concurrent queue. Both are first in, first out.
struct DispatchAdmission: Admission {
    private let permits: DispatchSemaphore
    private let waiting = DispatchQueue(label: "admission")
    private let work = DispatchQueue(label: "admitted", attributes: .concurrent)

    init(permits: Int) { self.permits = DispatchSemaphore(value: permits) }

    func run(_ priority: ClientPriority, _ body: @escaping @Sendable () -> Void) {
        waiting.async {
            permits.wait()
            work.async {
                body()
                permits.signal()
            }
        }
    }
}
