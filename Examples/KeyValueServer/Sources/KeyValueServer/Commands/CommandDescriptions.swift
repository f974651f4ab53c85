/// The replies of `COMMAND`, which interactive clients use for hints.
enum CommandDescriptions {
    static func reply(to request: Request) -> Reply {
        let all = CommandTable.shared.commands
        guard request.count > 1 else { return .array(all.map(description)) }
        let subcommand = request[1]
        let names = request.dropFirst(2)
        if subcommand.hasName("count") {
            return names.isEmpty ? .integer(all.count) : .wrongArity("command|count".utf8)
        }
        if subcommand.hasName("list") {
            return names.isEmpty ? .array(all.map { .text($0.name.description) }) : .syntaxError
        }
        if subcommand.hasName("info") {
            if names.isEmpty { return .array(all.map(description)) }
            return .array(names.map { CommandTable.shared.command(named: $0).map(description) ?? .null })
        }
        if subcommand.hasName("docs") {
            let chosen = names.isEmpty ? all : names.compactMap { CommandTable.shared.command(named: $0) }
            return .map(chosen.map { (.text($0.name.description), documentation($0)) })
        }
        if subcommand.hasName("help"), names.isEmpty {
            return Configuration.help(
                "COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
                [
                    "(no subcommand)", "    Return details about all commands.",
                    "COUNT", "    Return the total number of commands.",
                    "LIST", "    Return the names of all commands.",
                    "INFO [<command-name> ...]", "    Return details about multiple commands.",
                    "DOCS [<command-name> ...]", "    Return documentation details about multiple commands.",
                ])
        }
        return Configuration.unknownSubcommand(subcommand, of: "COMMAND")
    }

    /// The ten fields of Redis 7, of which the last four are empty here: categories, tips, key specifications and
    /// subcommands.
    private static func description(_ command: Command) -> Reply {
        .array([
            .text(command.name.description),
            .integer(command.arity),
            .set(command.flags.map { .simple($0) }),
            .integer(command.keys.first),
            .integer(command.keys.last),
            .integer(command.keys.step),
            .set([]), .array([]), .array([]), .array([]),
        ])
    }

    private static func documentation(_ command: Command) -> Reply {
        .map([
            (.text("summary"), .text(command.summary.description)),
            (.text("since"), .text(command.since.description)),
            (.text("group"), .text(command.group.description)),
        ])
    }
}
