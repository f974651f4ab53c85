import CBenchSupport

/// One call on a value that an object holds in several forms. Each form is written out for each value, as a program
/// writes it: in generic code the compiler makes a call of each function of C. The functions are not inlined into the
/// loop around them, so that each turn begins with the object, as a request of a program does. Functions that come to
/// the same instructions would be made one, with a jump to it in the others; so some objects have one field more.
protocol Held: Callable {
    associatedtype ByActor: HeldByActor
    init()
    func ofConstant()
    func ofVariable()
    func ofElement(_ index: Int)
    static func ofStatic()
    func capturing() -> @Sendable () -> Void
}

/// What is called through a protocol.
protocol Callable: AnyObject, Sendable {
    func call()
}

protocol HeldByActor: Actor {
    init()
    func call()
}

/// Lets the thread that measures go on as an actor, without a task: nobody else calls the actor.
final class OnTheSpot: SerialExecutor {
    static let shared = OnTheSpot()
    func enqueue(_ job: consuming ExecutorJob) {
        unsafe UnownedJob(job).runSynchronously(on: asUnownedSerialExecutor())
    }
    func checkIsolated() {}
}

/// The empty call. What it does is no instruction, but keeps the optimizer from leaving the call out. Through a
/// protocol nothing is left out, and there it would be a call of its own.
final class HeldNothing: Held, @unchecked Sendable {
    // As often as makes each different: what is equal becomes one function, and a jump to it.
    @inline(never) func ofConstant() { bench_nothing() }
    @inline(never) func ofVariable() {
        bench_nothing(); bench_nothing()
    }
    @inline(never) func ofElement(_ index: Int) {
        bench_nothing(); bench_nothing(); bench_nothing()
    }
    @inline(never) static func ofStatic() {
        bench_nothing(); bench_nothing(); bench_nothing(); bench_nothing()
    }
    @inline(never) func capturing() -> @Sendable () -> Void {
        {
            bench_nothing(); bench_nothing(); bench_nothing(); bench_nothing(); bench_nothing()
        }
    }
    func call() {}

    actor ByActor: HeldByActor {
        nonisolated var unownedExecutor: UnownedSerialExecutor { OnTheSpot.shared.asUnownedSerialExecutor() }
        @inline(never) func call() {
            bench_nothing(); bench_nothing(); bench_nothing(); bench_nothing(); bench_nothing(); bench_nothing()
        }
    }
}
