extension Command {
    static let lists: [Command] = [
        list("lpush", -3, ["write", "denyoom", "fast"], "Adds elements before the first.") { request, _ in
            .key(Key(request[1]), .push(Array(request.dropFirst(2)), .front))
        },
        list("rpush", -3, ["write", "denyoom", "fast"], "Adds elements behind the last.") { request, _ in
            .key(Key(request[1]), .push(Array(request.dropFirst(2)), .back))
        },
        list("lpop", -2, ["write", "fast"], "Takes the first elements out.") { request, _ in
            PopArguments.plan(request, "lpop", .front)
        },
        list("rpop", -2, ["write", "fast"], "Takes the last elements out.") { request, _ in
            PopArguments.plan(request, "rpop", .back)
        },
        list("lrange", 4, ["readonly"], "Returns a part of a list.") { request, _ in
            guard let first = Decimal.parse(request[2]), let last = Decimal.parse(request[3]) else {
                return .reply(.notAnInteger)
            }
            let key = Key(request[1]), range = ListRange(first: first, last: last)
            // What is surely short is not worth a change of threads.
            return range.isShort(128)
                ? .key(key, .range(range)) : .costly(CostlyCommand(key: key, reading: .range(range)))
        },
        list("llen", 2, ["readonly", "fast"], "Returns the length of a list.") { request, _ in
            .key(Key(request[1]), .listLength)
        },
    ]

    private static func list(
        _ name: StaticString, _ arity: Int, _ flags: [StaticString], _ summary: StaticString,
        plan: @escaping @Sendable (borrowing Request, inout Session) -> Work
    ) -> Command {
        Command(
            name: name, arity: arity, flags: flags, keys: (1, 1, 1), summary: summary, group: "list", since: "1.0.0",
            plan: plan)
    }
}

enum PopArguments {
    static func plan(_ request: Request, _ name: StaticString, _ end: ListEnd) -> Work {
        guard request.count <= 3 else { return .reply(.wrongArity(name.withUTF8Buffer { Array($0) })) }
        guard request.count == 3 else { return .key(Key(request[1]), .pop(end, count: nil)) }
        guard let count = Decimal.parse(request[2]), count >= 0 else {
            return .reply(.failure("ERR value is out of range, must be positive"))
        }
        return .key(Key(request[1]), .pop(end, count: count))
    }
}
