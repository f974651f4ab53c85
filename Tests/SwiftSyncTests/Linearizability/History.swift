import Dispatch
import Glibc
import Synchronization

/// One call: what it was and what it gave, and between which two moments it took effect.
struct Call<Operation: Sendable>: Sendable {
    let operation: Operation
    let begin: UInt64
    let end: UInt64
}

/// What several threads did to one object.
struct History<Operation: Sendable>: Sendable {
    private(set) var calls: [Call<Operation>] = []

    static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

    /// Runs `body`, which returns what it did.
    mutating func record(_ body: () -> Operation) {
        let begin = Self.now
        let operation = body()
        calls.append(Call(operation: operation, begin: begin, end: Self.now))
    }

    mutating func record(_ operation: Operation, begin: UInt64, end: UInt64) {
        calls.append(Call(operation: operation, begin: begin, end: end))
    }

    mutating func append(contentsOf other: History) { calls += other.calls }
}

/// An object as if only one call were made at a time.
protocol SequentialModel: Hashable {
    associatedtype Operation: Sendable
    /// Makes the call; false when it can't have given what it gave.
    mutating func perform(_ operation: Operation) -> Bool
}

/// Which calls have no place in the order yet, and what the others led to.
private struct SearchState<Model: SequentialModel>: Hashable {
    let open: UInt64
    let model: Model
}

extension History {
    /// Whether some order of the calls, in which none comes before one that had ended when it began, is possible for
    /// `model`.
    ///
    /// Source: Wing and Gong, "Testing and verifying concurrent objects" (1993); states that were reached by the same
    /// set of calls are not gone on from twice (Lowe, 2017). At most 64 calls.
    func isLinearizable<Model: SequentialModel>(_ model: Model) -> Bool where Model.Operation == Operation {
        mustHold(calls.count <= 64)
        var seen: Set<SearchState<Model>> = []
        let all: UInt64 = calls.count == 64 ? .max : (1 << UInt64(calls.count)) - 1
        var pending = [SearchState(open: all, model: model)]
        while let state = pending.popLast() {
            if state.open == 0 { return true }
            guard seen.insert(state).inserted else { continue }
            let open = calls.indices.filter { state.open >> UInt64($0) & 1 == 1 }
            guard let firstEnd = open.map({ calls[$0].end }).min() else { continue }
            for index in open where calls[index].begin <= firstEnd {
                var next = state.model
                if next.perform(calls[index].operation) {
                    pending.append(SearchState(open: state.open & ~(1 << UInt64(index)), model: next))
                }
            }
        }
        return false
    }
}

/// Histories of real threads.
enum Histories {
    /// What `threads` threads record that begin at the same moment.
    static func of<Operation>(
        threads: Int, _ body: @escaping @Sendable (Int, inout History<Operation>) -> Void
    ) -> History<Operation> {
        let arrived = Atomic(0)
        let whole = Shared(History<Operation>())
        Threads.run(threads) { index in
            arrived.add(1, ordering: .sequentiallyConsistent)
            while arrived.load(ordering: .sequentiallyConsistent) < threads { sched_yield() }
            var own = History<Operation>()
            body(index, &own)
            whole.access { $0.append(contentsOf: own) }
        }
        return whole.value
    }
}
