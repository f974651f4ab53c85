import CBenchSupport

/// A group of rows, each of which is a loop that is measured as a whole: nanoseconds and allocations each time.
final class LoopGroup {
    private let results: Results
    private let rounds: Int
    private var nanoseconds = Rows([]), allocations = Rows([])

    init(results: Results, rounds: Int) {
        self.results = results
        self.rounds = rounds
    }

    /// `loop` takes how many times it goes round, and returns something that was computed, so that nothing is left out.
    /// It runs `warmUp` times first. `before` and `after` are not measured.
    func turn(
        _ subject: String, times: Int, warmUp: Int, before: @escaping () -> Void = {},
        after: @escaping () -> Void = {}, _ loop: @escaping (Int) -> Int
    ) -> Turn {
        Turn(subject: subject) { [self] in
            before()
            keep(loop(warmUp))
            let allocated = bench_allocations(), begin = bench_now_ns()
            let sum = loop(times)
            nanoseconds.add(subject, Double(bench_now_ns() - begin) / Double(times))
            allocations.add(
                subject, (Double(bench_allocations() - allocated) / Double(times)).rounded(.toNearestOrEven))
            keep(sum)
            after()
        }
    }

    func report(_ group: String, baseline: String, printsAllocations: Bool = true, _ turns: [Turn]) {
        nanoseconds = Rows(turns.map(\.subject))
        allocations = nanoseconds
        note("\(group) ")
        inRounds(rounds, turns)
        note("\n")
        results.print(group, "ns", baseline: baseline, nanoseconds.values)
        if printsAllocations { results.print(group, "allocations", baseline: "", allocations.values) }
    }
}

@inline(never) @_optimize(none)
func keep<T>(_ value: T) {}
