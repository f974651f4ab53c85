import Dispatch

/// What the compiler, the runtime and Dispatch do, and no document promises: the library relies on such facts in this
/// file and nowhere else.
///
/// Each function says what its fact is. `RuntimeFactsTests` checks them, one test for each, so a toolchain that does it
/// otherwise fails there first.
@usableFromInline
enum RuntimeFacts {
    // MARK: - Layouts

    /// The first stored property of a structure.
    ///
    /// Fact: it stands at the address of its structure, as in C.
    @inlinable
    @inline(__always)
    static func first<Whole, First>(
        of whole: UnsafeMutablePointer<Whole>, as type: First.Type = First.self
    ) -> UnsafeMutablePointer<First> {
        UnsafeMutableRawPointer(whole).assumingMemoryBound(to: First.self)
    }

    /// The structure whose first stored property stands there.
    ///
    /// Fact: that of ``first(of:as:)``, the other way round.
    @inlinable
    @inline(__always)
    static func whole<First, Whole>(
        at first: UnsafeMutablePointer<First>, as type: Whole.Type = Whole.self
    ) -> UnsafeMutablePointer<Whole> {
        UnsafeMutableRawPointer(first).assumingMemoryBound(to: Whole.self)
    }

    /// A copy of what a structure begins with, whatever follows.
    ///
    /// Fact: the first stored properties of a structure, a generic one included, stand as those of a structure of these
    /// alone.
    @inlinable
    @inline(__always)
    static func beginning<Beginning>(of whole: UnsafeMutableRawPointer, as type: Beginning.Type) -> Beginning {
        whole.load(as: Beginning.self)
    }

    /// The type of a class as a pointer, for C.
    ///
    /// Fact: it is one word, the same at each time and never zero, and what it refers to lives for ever.
    @inlinable
    @inline(__always)
    static func pointer<Object: AnyObject>(to type: Object.Type) -> UnsafeMutableRawPointer {
        unsafeBitCast(type, to: UnsafeMutableRawPointer.self)
    }

    /// The type that ``pointer(to:)`` was called with, or one that it inherits from.
    @inline(__always)
    static func type<Object: AnyObject>(
        at pointer: UnsafeMutableRawPointer?, as type: Object.Type = Object.self
    ) -> Object.Type {
        unsafeBitCast(pointer, to: Object.Type.self)
    }

    // MARK: - Tasks and executors

    /// What tells the runtime that a job is isolated to no actor.
    ///
    /// Fact: an `UnownedSerialExecutor` is two words, and two of zero stand for no actor. A task that comes back from
    /// an actor, and whose job is run with them, goes on at once on the same thread, also where it is isolated to
    /// nothing.
    @inline(__always)
    static var noActor: UnownedSerialExecutor { unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self) }

    /// A number that is an actor's executor's alone while it exists.
    ///
    /// Fact: an `UnownedSerialExecutor` is two words, the first of which is the address of the executor's object.
    @inline(__always)
    static func identity(of executor: UnownedSerialExecutor) -> UInt {
        unsafeBitCast(executor, to: (UInt, UInt).self).0
    }

    /// A number that is a task executor's alone while it exists.
    ///
    /// Fact: an `UnownedTaskExecutor` is two words, the first of which is the address of the executor's object.
    @inline(__always)
    static func identity(of executor: UnownedTaskExecutor) -> UInt {
        unsafeBitCast(executor, to: (UInt, UInt).self).0
    }

    /// A task of whatever type: all are cancelled in one way.
    typealias AnyTask = Task<Void, Never>

    /// The calling task, to cancel it later from elsewhere. Asking for its value is not allowed.
    ///
    /// Fact: an `UnsafeCurrentTask` is what a `Task` is, one reference to a task object, whose type does not matter for
    /// cancelling.
    @inline(__always)
    static func anyTask(_ task: UnsafeCurrentTask) -> AnyTask { unsafeBitCast(task, to: AnyTask.self) }

    /// The task, to cancel it later. Asking for its value is not allowed.
    ///
    /// Fact: a `Task` is one reference to a task object, whose type does not matter for cancelling.
    @inline(__always)
    static func anyTask<Success, Failure>(_ task: Task<Success, Failure>) -> AnyTask {
        unsafeBitCast(task, to: AnyTask.self)
    }

    /// Where the value is that the calling task sees, which is of the task local's type; nil where nothing is bound.
    ///
    /// Fact: what `TaskLocal` itself calls to read knows the task local by the address of its object, and gives the
    /// address of the bound value. A child task sees it at the same address, and a `Task { }` has a copy elsewhere.
    @inline(__always)
    static func address<Value>(of local: TaskLocal<Value>) -> UnsafeMutableRawPointer? {
        taskLocalAddress(UnsafeRawPointer(Unmanaged.passUnretained(local).toOpaque()))
    }

    // MARK: - Dispatch

    /// What the object of a `DispatchQueue` wraps.
    ///
    /// Fact: it is the object's only stored property, and stands behind the two words of each Swift object. The library
    /// does without where ``QueueIdentity/wrapsAtSecondWord`` finds that it stands elsewhere.
    @inline(__always)
    static func wrapped(by queue: DispatchQueue) -> UInt {
        unsafeBitCast(queue, to: UnsafePointer<UInt>.self)[2]
    }
}

extension ManagedBuffer where Element: ~Copyable {
    /// Where the header is, as long as the buffer lives.
    ///
    /// Fact: it never moves. (The documentation promises the pointer for the length of a closure.)
    @inlinable
    @inline(__always)
    final var lastingHeader: UnsafeMutablePointer<Header> { withUnsafeMutablePointerToHeader { $0 } }

    /// Where the elements are, as long as the buffer lives.
    ///
    /// Fact: they never move. (The documentation promises the pointer for the length of a closure.)
    @inlinable
    @inline(__always)
    final var lastingElements: UnsafeMutablePointer<Element> { withUnsafeMutablePointerToElements { $0 } }
}

/// There is no other way to learn where a value is.
@_silgen_name("swift_task_localValueGet")
private func taskLocalAddress(_ key: UnsafeRawPointer) -> UnsafeMutableRawPointer?
