/// How much a connection matters, as its client has told: `CLIENT PRIORITY`. It counts where commands are admitted.
public enum ClientPriority: String, CaseIterable, Sendable {
    case low
    case normal
    case high
}

/// `CLIENT`.
enum ClientCommand {
    static func reply(to request: Request, _ session: inout Session) -> Reply {
        let subcommand = request[1]
        if subcommand.hasName("priority") {
            guard request.count == 3 else { return .wrongArity("client|priority".utf8) }
            let text = String(decoding: request[2].map(\.lowercasedLetter), as: UTF8.self)
            guard let priority = ClientPriority(rawValue: text) else {
                let names = ClientPriority.allCases.map(\.rawValue).joined(separator: ", ")
                return .failure("ERR CLIENT PRIORITY must be one of the following: \(names)")
            }
            session.priority = priority
            return .ok
        }
        if subcommand.hasName("help"), request.count == 2 {
            return Configuration.help(
                "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
                ["PRIORITY low|normal|high", "    Set the priority at which costly commands are admitted."])
        }
        return Configuration.unknownSubcommand(subcommand, of: "CLIENT")
    }
}
