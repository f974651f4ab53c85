import Foundation

/// Costly commands are operations with a priority, of which so many run at once.
struct OperationAdmission: Admission {
    private let queue: OperationQueue

    init(permits: Int) {
        queue = OperationQueue()
        queue.maxConcurrentOperationCount = permits
    }

    func run(_ priority: ClientPriority, _ body: @escaping @Sendable () -> Void) {
        let operation = BlockOperation(block: body)
        operation.queuePriority =
            switch priority {
            case .low: .low
            case .normal: .normal
            case .high: .high
            }
        queue.addOperation(operation)
    }
}
