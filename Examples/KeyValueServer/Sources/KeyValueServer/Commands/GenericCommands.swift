extension Command {
    static let generic: [Command] = [
        generic("del", -2, ["write"], "Removes keys.", since: "1.0.0", keys: (1, -1, 1)) { request, _ in
            .keys(request.dropFirst().map { KeyStep($0, .delete) }, .sum)
        },
        generic("exists", -2, ["readonly", "fast"], "Counts which keys exist.", since: "1.0.0", keys: (1, -1, 1)) {
            request, _ in
            .keys(request.dropFirst().map { KeyStep($0, .exists) }, .sum)
        },
        generic("expire", -3, ["write", "fast"], "Limits the life of a key, in seconds.", since: "1.0.0") {
            request, session in
            ExpireArguments.plan(request, "expire", .seconds, now: session.now)
        },
        generic("pexpire", -3, ["write", "fast"], "Limits the life of a key, in milliseconds.", since: "2.6.0") {
            request, session in
            ExpireArguments.plan(request, "pexpire", .milliseconds, now: session.now)
        },
        generic("ttl", 2, ["readonly", "fast"], "Returns the seconds a key has left.", since: "1.0.0") { request, _ in
            .key(Key(request[1]), .timeLeft(unit: .seconds))
        },
        generic("pttl", 2, ["readonly", "fast"], "Returns the milliseconds a key has left.", since: "2.6.0") {
            request, _ in
            .key(Key(request[1]), .timeLeft(unit: .milliseconds))
        },
        generic("persist", 2, ["write", "fast"], "Lets a key live without limit.", since: "2.2.0") { request, _ in
            .key(Key(request[1]), .persist)
        },
        generic("type", 2, ["readonly", "fast"], "Returns the type of a key's value.", since: "1.0.0") { request, _ in
            .key(Key(request[1]), .type)
        },
        generic("sort", -2, ["readonly"], "Returns the elements of a list in order.", since: "1.0.0") { request, _ in
            switch SortOptions.read(request) {
            case .success(let options): .costly(CostlyCommand(key: Key(request[1]), reading: .sort(options)))
            case .failure(let problem): .reply(problem.reply)
            }
        },
        generic(
            "keys", 2, ["readonly", "sort_for_script"], "Returns all keys like a pattern.", since: "1.0.0",
            keys: (0, 0, 0)
        ) {
            request, session in
            .slow(.keys(Glob(request[1]), limit: session.server.settings.current.maximumKeys))
        },
        generic("scan", -2, ["readonly"], "Goes through the keys step by step.", since: "2.8.0", keys: (0, 0, 0)) {
            request, _ in
            switch ScanArguments.read(request) {
            case .success(let scan): .slow(.scan(scan))
            case .failure(let problem): .reply(problem.reply)
            }
        },
    ]

    private static func generic(
        _ name: StaticString, _ arity: Int, _ flags: [StaticString], _ summary: StaticString, since: StaticString,
        keys: (first: Int, last: Int, step: Int) = (1, 1, 1),
        plan: @escaping @Sendable (borrowing Request, inout Session) -> Work
    ) -> Command {
        Command(
            name: name, arity: arity, flags: flags, keys: keys, summary: summary, group: "generic", since: since,
            plan: plan)
    }
}

enum ExpireArguments {
    static func plan(_ request: Request, _ name: String, _ unit: TimeUnit, now: Milliseconds) -> Work {
        var condition: ExpireCondition = []
        for word in request.dropFirst(3) {
            if word.hasName("nx") {
                condition.insert(.ifNone)
            } else if word.hasName("xx") {
                condition.insert(.ifAny)
            } else if word.hasName("gt") {
                condition.insert(.ifLater)
            } else if word.hasName("lt") {
                condition.insert(.ifEarlier)
            } else {
                return .reply(.error(Array("ERR Unsupported option ".utf8) + word.textPrefix(word.count)))
            }
        }
        if condition.contains(.ifNone), condition != .ifNone {
            return .reply(.failure("ERR NX and XX, GT or LT options at the same time are not compatible"))
        }
        if condition.isSuperset(of: [.ifLater, .ifEarlier]) {
            return .reply(.failure("ERR GT and LT options at the same time are not compatible"))
        }
        guard let amount = Decimal.parse(request[2]) else { return .reply(.notAnInteger) }
        guard let deadline = unit.deadline(amount, after: now) else { return .reply(.invalidExpiry(in: name)) }
        return .key(Key(request[1]), .expire(at: deadline, condition))
    }
}

enum ScanArguments {
    static func read(_ request: Request) -> Result<ScanRequest, ArgumentProblem> {
        guard let cursor = cursor(request[1]) else {
            return .failure(ArgumentProblem(reply: .failure("ERR invalid cursor")))
        }
        var scan = ScanRequest(cursor: ScanCursor(cursor))
        var index = 2
        while index < request.count {
            guard index + 1 < request.count else { return .failure(.syntax) }
            let (word, value) = (request[index], request[index + 1])
            if word.hasName("count") {
                guard let count = Decimal.parse(value) else { return .failure(.notAnInteger) }
                guard count >= 1 else { return .failure(.syntax) }
                scan.count = count
            } else if word.hasName("match") {
                scan.match = Glob(value)
            } else if word.hasName("type") {
                scan.kinds = ValueKind(named: value)
            } else {
                return .failure(.syntax)
            }
            index += 2
        }
        return .success(scan)
    }

    /// An unsigned 64-bit number as C's `strtoul` reads it, but without leading blanks: with a minus, it wraps around.
    private static func cursor(_ text: [UInt8]) -> UInt64? {
        let isNegative = text.first == UInt8(ascii: "-")
        let hasSign = isNegative || text.first == UInt8(ascii: "+")
        guard !hasSign || text.count > 1 else { return nil }
        var value: UInt64 = 0
        for byte in text.dropFirst(hasSign ? 1 : 0) {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            let (scaled, tooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, tooHigh) = scaled.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
            guard !tooLarge, !tooHigh else { return nil }
            value = sum
        }
        return isNegative ? 0 &- value : value
    }
}
