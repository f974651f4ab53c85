/// The levels at which a semaphore counts the tasks that wait, by their task priorities; the raw value is the kernel's
/// level. A task at `.background` raises no holder, and is not counted.
enum WaiterUrgency: Int32 {
    case low, medium, high, highest

    /// A priority between two levels counts as the lower one.
    init?(_ priority: TaskPriority) {
        switch priority.rawValue {
        case ..<TaskPriority.low.rawValue: return nil
        case ..<TaskPriority.medium.rawValue: self = .low
        case ..<TaskPriority.high.rawValue: self = .medium
        case ..<WaiterUrgency.highest.priority.rawValue: self = .high
        default: self = .highest
        }
    }

    /// The lowest priority of the level.
    var priority: TaskPriority {
        switch self {
        case .low: .low
        case .medium: .medium
        case .high: .high
        case .highest: TaskPriority(rawValue: 33)
        }
    }
}
