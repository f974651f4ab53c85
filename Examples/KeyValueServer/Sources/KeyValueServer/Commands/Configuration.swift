/// `CONFIG`: the settings, and a few parameters that clients ask for and that can't be changed while the server runs.
enum Configuration {
    static func reply(to request: Request, _ server: ServerFacts) -> Reply {
        let subcommand = request[1]
        if subcommand.hasName("get") {
            guard request.count > 2 else { return .wrongArity("config|get".utf8) }
            return get(request.dropFirst(2), server)
        }
        if subcommand.hasName("set") {
            guard request.count > 3 else { return .wrongArity("config|set".utf8) }
            guard request.count % 2 == 0 else { return .syntaxError }
            return set(request.dropFirst(2), server)
        }
        if subcommand.hasName("resetstat") {
            guard request.count == 2 else { return .wrongArity("config|resetstat".utf8) }
            server.statistics.reset()
            return .ok
        }
        if subcommand.hasName("help"), request.count == 2 {
            return help(
                "CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
                [
                    "GET <pattern>", "    Return parameters matching the glob-like <pattern> and their values.",
                    "SET <directive> <value>", "    Set the configuration <directive> to <value>.",
                    "RESETSTAT", "    Reset statistics reported by the INFO command.",
                ])
        }
        return unknownSubcommand(subcommand, of: "CONFIG")
    }

    private static func immutable(_ server: ServerFacts) -> [(name: String, value: String)] {
        let limits = RequestLimits()
        return [
            ("admission", server.costly.kind.rawValue), ("admission-permits", "\(server.costly.permits)"),
            ("appendonly", "no"), ("bind", "127.0.0.1"), ("databases", "1"), ("io-threads", "\(server.threads)"),
            ("maxmemory", "0"), ("maxmemory-policy", "noeviction"), ("port", "\(server.port)"),
            ("proto-max-bulk-len", "\(limits.bulkLength)"), ("save", ""), ("shards", "\(server.shards)"),
            ("slow-commands-limit", "\(server.background.slowLimit)"),
            ("store", server.store.rawValue), ("timeout", "0"),
        ]
    }

    private static func get(_ patterns: ArraySlice<[UInt8]>, _ server: ServerFacts) -> Reply {
        let globs = patterns.map { Glob($0, ignoringCase: true) }
        let settings = server.settings.current
        let parameters = immutable(server) + Setting.all.map { ($0.name, $0.value(settings)) }
        return .map(
            parameters
                .filter { parameter in globs.contains { $0.matches(Array(parameter.name.utf8)) } }
                .sorted { $0.name < $1.name }
                .map { (.text($0.name), .text($0.value)) })
    }

    private struct Refusal: Error {
        var reply: Reply

        init(_ name: String, _ problem: String) {
            reply = .failure("ERR CONFIG SET failed (possibly related to argument '\(name)') - \(problem)")
        }

        init(unknown name: String) {
            reply = .failure("ERR Unknown option or number of arguments for CONFIG SET - '\(name)'")
        }
    }

    /// Publishes all of the changes at once, or, if one of them is wrong, none.
    private static func set(_ arguments: ArraySlice<[UInt8]>, _ server: ServerFacts) -> Reply {
        do throws(Refusal) {
            try server.settings.update { (settings) throws(Refusal) in
                try apply(arguments, to: &settings, immutable(server))
            }
        } catch {
            return error.reply
        }
        server.log(.notice, "the configuration was changed")
        return .ok
    }

    /// Setting an immutable parameter to the value it has is fine.
    private static func apply(
        _ arguments: ArraySlice<[UInt8]>, to settings: inout Settings, _ immutable: [(name: String, value: String)]
    ) throws(Refusal) {
        var seen: Set<String> = []
        for index in stride(from: arguments.startIndex, to: arguments.endIndex, by: 2) {
            let given = String(decoding: arguments[index], as: UTF8.self)
            let name = given.lowercased()
            let value = arguments[index + 1]
            if let setting = Setting.all.first(where: { $0.name == name }) {
                guard seen.insert(name).inserted else { throw Refusal(given, "duplicate parameter") }
                if let problem = setting.set(&settings, value) { throw Refusal(given, problem) }
            } else if let parameter = immutable.first(where: { $0.name == name }) {
                guard Array(parameter.value.utf8) == value else { throw Refusal(given, "can't set immutable config") }
            } else {
                throw Refusal(unknown: given)
            }
        }
    }

    static func unknownSubcommand(_ subcommand: [UInt8], of command: String) -> Reply {
        .error(
            Array("ERR unknown subcommand '".utf8) + subcommand.textPrefix(128) + Array("'. Try \(command) HELP.".utf8))
    }

    static func help(_ heading: StaticString, _ lines: [StaticString]) -> Reply {
        let lines = lines + ["HELP", "    Print this help."]
        return .array([.simple(heading)] + lines.map { .simple($0) })
    }
}
