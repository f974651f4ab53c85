import Synchronization

extension TaskQueue {
    /// Returns the queue of that name. It is the same queue at every call, in the whole process. The first call makes
    /// it.
    ///
    /// Never blocks. It takes O(log(queues)), without a lock and, for a queue that exists, without an allocation.
    /// Queues live for ever: a queue that has been used takes about 1.4 KB, and up to 200 KB once it has recorded 4096
    /// events. Use a bounded number of names.
    public static func getQueue(name: String) -> TaskQueue {
        TaskQueueRegistry.shared.queue(named: name)
    }

    /// The earlier spelling of ``getQueue(name:)``: the same queue.
    public static func getQueue(identifier: String) -> TaskQueue {
        getQueue(name: identifier)
    }
}

/// All queues that have an identifier. Queues are only ever added, which makes a lock-free tree simple: one exchange
/// publishes a node, and a node never moves or goes away. Each level takes two bits of the hash.
///
/// Source: Chris Wellons, "An easy-to-implement, arena-friendly hash map" (2023), where the tree is called a hash-trie.
struct TaskQueueRegistry: ~Copyable, @unchecked Sendable {
    static let shared = TaskQueueRegistry()

    private struct Node: ~Copyable {
        let queue: TaskQueue
        let children: Children
    }

    private typealias Link = Atomic<UnsafeMutablePointer<Node>?>

    @safe
    private struct Children: ~Copyable {
        let child0 = unsafe Link(nil), child1 = unsafe Link(nil), child2 = unsafe Link(nil), child3 = unsafe Link(nil)
    }

    @safe private let root = Children()

    func queue(named identifier: String) -> TaskQueue {
        var hash = UInt64(bitPattern: Int64(identifier.hashValue))
        var made: UnsafeMutablePointer<Node>?
        func next(_ children: borrowing Children) -> UnsafeMutablePointer<Node> {
            defer { hash <<= 2 }
            return switch hash >> 62 {
            case 0: unsafe Self.follow(children.child0, identifier, &made)
            case 1: unsafe Self.follow(children.child1, identifier, &made)
            case 2: unsafe Self.follow(children.child2, identifier, &made)
            default: unsafe Self.follow(children.child3, identifier, &made)
            }
        }
        var node = unsafe next(root)
        while unsafe node.pointee.queue.identifier != identifier { unsafe node = next(node.pointee.children) }
        if let made = unsafe made, unsafe made != node {
            // Another thread has published its node first.
            unsafe made.deinitialize(count: 1)
            unsafe made.deallocate()
        }
        return unsafe node.pointee.queue
    }

    /// Returns the node that `link` leads to; a new node if it led nowhere.
    private static func follow(
        _ link: borrowing Link, _ identifier: String, _ made: inout UnsafeMutablePointer<Node>?
    ) -> UnsafeMutablePointer<Node> {
        // Acquires what the exchange below releases: the node's contents.
        if let found = unsafe link.load(ordering: .acquiring) { return unsafe found }
        let node = unsafe made ?? .allocate(capacity: 1)
        if unsafe made == nil {
            unsafe node.initialize(to: Node(queue: TaskQueue(identifier: identifier), children: Children()))
            unsafe made = node
        }
        let (exchanged, original) = unsafe link.compareExchange(
            expected: nil, desired: node, successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
        return unsafe exchanged ? node : original.unsafelyUnwrapped
    }
}
