/// The task for which a child task runs a part, and which waits until that has ended: so what the one holds, the other
/// must not wait for.
@safe
final class ActingTask: Sendable {
    @TaskLocal static var current: ActingTask?

    private let task = RuntimeFacts.addressOfTask()
    private let outer = ActingTask.current

    /// Whether the calling task acts for the task at that address, at first or second hand.
    static func isActing(for address: UInt) -> Bool {
        var acting = current
        while let next = acting {
            if next.task == address { return true }
            acting = next.outer
        }
        return false
    }
}
