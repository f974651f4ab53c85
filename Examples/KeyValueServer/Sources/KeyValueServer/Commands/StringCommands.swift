extension Command {
    static let strings: [Command] = [
        string("get", 2, ["readonly", "fast"], "Returns the string value of a key.", since: "1.0.0") { request, _ in
            .key(Key(request[1]), .get)
        },
        string("set", -3, ["write", "denyoom"], "Sets the string value of a key.", since: "1.0.0") { request, session in
            switch SetArguments.read(request, now: session.now) {
            case .success(let options): .key(Key(request[1]), .set(request[2], options))
            case .failure(let problem): .reply(problem.reply)
            }
        },
        string("getset", 3, ["write", "denyoom", "fast"], "Sets a value and returns the old one.", since: "1.0.0") {
            request, _ in
            .key(Key(request[1]), .set(request[2], SetOptions(returnsOld: true)))
        },
        string("mget", -2, ["readonly", "fast"], "Returns the values of several keys.", since: "1.0.0", lastKey: -1) {
            request, _ in
            .keys(request.dropFirst().map { KeyStep($0, .getIfString) }, .list)
        },
        string(
            "mset", -3, ["write", "denyoom"], "Sets the values of several keys.", since: "1.0.1", lastKey: -1, step: 2
        ) { request, _ in
            guard request.count % 2 == 1 else { return .reply(.wrongArity("mset".utf8)) }
            let steps = stride(from: 1, to: request.count, by: 2).map {
                KeyStep(request[$0], .set(request[$0 + 1], SetOptions()))
            }
            return .keys(steps, .ok)
        },
        string("incr", 2, ["write", "denyoom", "fast"], "Adds one to an integer.", since: "1.0.0") { request, _ in
            .key(Key(request[1]), .add(1))
        },
        string("decr", 2, ["write", "denyoom", "fast"], "Takes one from an integer.", since: "1.0.0") { request, _ in
            .key(Key(request[1]), .add(-1))
        },
        string("incrby", 3, ["write", "denyoom", "fast"], "Adds to an integer.", since: "1.0.0") { request, _ in
            guard let amount = Decimal.parse(request[2]) else { return .reply(.notAnInteger) }
            return .key(Key(request[1]), .add(amount))
        },
        string("decrby", 3, ["write", "denyoom", "fast"], "Takes from an integer.", since: "1.0.0") { request, _ in
            guard let amount = Decimal.parse(request[2]) else { return .reply(.notAnInteger) }
            guard amount != .min else { return .reply(.failure("ERR decrement would overflow")) }
            return .key(Key(request[1]), .add(-amount))
        },
        string("append", 3, ["write", "denyoom", "fast"], "Adds to the end of a string.", since: "2.0.0") {
            request, _ in
            .key(Key(request[1]), .append(request[2]))
        },
        string("strlen", 2, ["readonly", "fast"], "Returns the length of a string.", since: "2.2.0") { request, _ in
            .key(Key(request[1]), .length)
        },
    ]

    private static func string(
        _ name: StaticString, _ arity: Int, _ flags: [StaticString], _ summary: StaticString, since: StaticString,
        lastKey: Int = 1, step: Int = 1, plan: @escaping @Sendable (borrowing Request, inout Session) -> Work
    ) -> Command {
        Command(
            name: name, arity: arity, flags: flags, keys: (1, lastKey, step), summary: summary, group: "string",
            since: since, plan: plan)
    }
}

/// A reason to answer with an error before any data was looked at.
struct ArgumentProblem: Error {
    var reply: Reply

    static let syntax = ArgumentProblem(reply: .syntaxError)
    static let notAnInteger = ArgumentProblem(reply: .notAnInteger)
}

enum SetArguments {
    /// Reads what follows the value in a `SET`.
    static func read(_ request: Request, now: Milliseconds) -> Result<SetOptions, ArgumentProblem> {
        var options = SetOptions()
        var time: (amount: [UInt8], unit: TimeUnit)?
        var keeps = false
        var index = 3
        while index < request.count {
            let word = request[index]
            if word.hasName("nx"), options.condition != .ifPresent {
                options.condition = .ifAbsent
            } else if word.hasName("xx"), options.condition != .ifAbsent {
                options.condition = .ifPresent
            } else if word.hasName("get") {
                options.returnsOld = true
            } else if word.hasName("keepttl"), time == nil {
                keeps = true
            } else if word.hasName("ex") || word.hasName("px"), !keeps, time == nil, index + 1 < request.count {
                index += 1
                time = (request[index], word.hasName("ex") ? .seconds : .milliseconds)
            } else {
                return .failure(.syntax)
            }
            index += 1
        }
        if keeps { options.expiry = .keep }
        if let time {
            guard let amount = Decimal.parse(time.amount) else { return .failure(.notAnInteger) }
            guard amount > 0, let deadline = time.unit.deadline(amount, after: now) else {
                return .failure(ArgumentProblem(reply: .invalidExpiry(in: "set")))
            }
            options.expiry = .at(deadline)
        }
        return .success(options)
    }
}
