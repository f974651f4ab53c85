extension Command {
    static let administration: [Command] = [
        other("ping", -1, ["fast"], "Answers, with the argument if there is one.", "connection", since: "1.0.0") {
            request, _ in
            guard request.count <= 2 else { return .reply(.wrongArity("ping".utf8)) }
            return .reply(request.count == 2 ? .bulk(request[1]) : .pong)
        },
        other("echo", 2, ["fast"], "Returns its argument.", "connection", since: "1.0.0") { request, _ in
            .reply(.bulk(request[1]))
        },
        other("hello", -1, ["noscript", "fast"], "Chooses the protocol version.", "connection", since: "6.0.0") {
            request, session in
            Hello.plan(request, &session)
        },
        other("quit", -1, ["noscript", "fast"], "Closes the connection.", "connection", since: "1.0.0") { _, _ in
            .close(.ok)
        },
        other(
            "client", -2, ["admin", "noscript", "loading", "stale"], "Sets what a connection is.", "connection",
            since: "2.4.0"
        ) {
            request, session in
            .reply(ClientCommand.reply(to: request, &session))
        },
        other("command", -1, ["loading", "stale"], "Describes the commands.", "server", since: "2.8.13") {
            request, _ in
            .reply(CommandDescriptions.reply(to: request))
        },
        other("config", -2, ["admin", "noscript"], "Reads and changes the configuration.", "server", since: "2.0.0") {
            request, session in
            .reply(Configuration.reply(to: request, session.server))
        },
        other("dbsize", 1, ["readonly", "fast"], "Counts the keys.", "server", since: "1.0.0") { _, _ in .count },
        other("flushall", -1, ["write"], "Removes all keys.", "server", since: "1.0.0") { request, _ in
            let isPlain = request.count == 1
            let hasMode = request.count == 2 && (request[1].hasName("sync") || request[1].hasName("async"))
            return isPlain || hasMode ? .slow(.flush) : .reply(.syntaxError)
        },
        other(
            "debug", -2, ["admin", "noscript", "loading", "stale"], "Helps to try the server.", "server", since: "1.0.0"
        ) { request, _ in
            guard request.count == 3, request[1].hasName("sleep") else {
                return .reply(Configuration.unknownSubcommand(request[1], of: "DEBUG"))
            }
            guard let seconds = Double(String(decoding: request[2], as: UTF8.self)), seconds.isFinite else {
                return .reply(.notAFloat)
            }
            return .slow(.sleep(seconds: seconds))
        },
        other("info", -1, ["loading", "stale"], "Reports on the server.", "server", since: "1.0.0") { request, _ in
            .info(sections: Array(request.dropFirst()))
        },
    ]

    private static func other(
        _ name: StaticString, _ arity: Int, _ flags: [StaticString], _ summary: StaticString, _ group: StaticString,
        since: StaticString, plan: @escaping @Sendable (borrowing Request, inout Session) -> Work
    ) -> Command {
        Command(
            name: name, arity: arity, flags: flags, keys: (0, 0, 0), summary: summary, group: group, since: since,
            plan: plan)
    }
}

enum Hello {
    /// `HELLO [version [AUTH user password] [SETNAME name]]`. Nothing is changed unless all of it is right.
    static func plan(_ request: Request, _ session: inout Session) -> Work {
        var version = session.version
        var name = session.name
        if request.count > 1 {
            guard let number = Decimal.parse(request[1]) else {
                return .reply(.failure("ERR Protocol version is not an integer or out of range"))
            }
            guard let known = ProtocolVersion(rawValue: number) else {
                return .reply(.failure("NOPROTO unsupported protocol version"))
            }
            version = known
        }
        var index = 2
        while index < request.count {
            if request[index].hasName("auth"), index + 2 < request.count {
                // There are no passwords, so the default user is let in with any.
                guard request[index + 1] == Array("default".utf8) else {
                    return .reply(.failure("WRONGPASS invalid username-password pair or user is disabled."))
                }
                index += 3
            } else if request[index].hasName("setname"), index + 1 < request.count {
                name = request[index + 1]
                guard name.allSatisfy({ $0 >= UInt8(ascii: "!") && $0 <= UInt8(ascii: "~") }) else {
                    let message = "ERR Client names cannot contain spaces, newlines or special characters."
                    return .reply(.failure(message))
                }
                index += 2
            } else {
                let option = request[index].textPrefix(request[index].count)
                return .reply(.error(Array("ERR Syntax error in HELLO option '".utf8) + option + Array("'".utf8)))
            }
        }
        session.version = version
        session.name = name
        return .reply(
            .map([
                (.text("server"), .text(ServerFacts.name)),
                (.text("version"), .text(ServerFacts.version)),
                (.text("proto"), .integer(version.rawValue)),
                (.text("id"), .integer(session.id)),
                (.text("mode"), .text("standalone")),
                (.text("role"), .text("master")),
                (.text("modules"), .array([])),
            ]))
    }
}
