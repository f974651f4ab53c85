import CCosts

/// Something that is counted. Its loop calls one function, which is not inlined.
struct Operation {
    let name: String
    var before: () -> Void = {}
    let loop: (Int) -> Void
    var after: () -> Void = {}

    init(_ name: String, loop: @escaping (Int) -> Void) {
        self.name = name
        self.loop = loop
    }

    /// One call of `body` each time. `before` and `after` are not counted.
    static func of(
        _ name: String, before: @escaping () -> Void = {}, after: @escaping () -> Void = {},
        _ body: @escaping () -> Void
    ) -> Operation {
        let kept = Kept(body)
        var operation = Operation(name) { for _ in 0..<$0 { kept.body() } }
        operation.before = before
        operation.after = after
        return operation
    }

    /// Counts the second time, when what is made once is there.
    func count() {
        let turns = Int(COSTS_TURNS)
        before()
        loop(turns)
        after()
        before()
        unsafe name.withCString { name in
            costs_begin()
            loop(turns)
            unsafe costs_end(name)
        }
        after()
    }
}

/// Hides from the optimizer which closure a loop calls.
private final class Kept {
    let body: () -> Void
    @inline(never) init(_ body: @escaping () -> Void) { self.body = body }
}
