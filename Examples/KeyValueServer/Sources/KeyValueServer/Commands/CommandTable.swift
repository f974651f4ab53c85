/// One command: its name, what `COMMAND` says of it, and how a request for it is read.
struct Command: Sendable {
    let name: StaticString
    /// How many words a request has, its name included. Negative: at least so many.
    let arity: Int
    let flags: [StaticString]
    /// Positions of the first and last key and the distance between two; all zero without keys.
    let keys: (first: Int, last: Int, step: Int)
    let summary: StaticString
    let group: StaticString
    /// The first release of Redis with this command.
    let since: StaticString
    let plan: @Sendable (borrowing Request, inout Session) -> Work

    func accepts(wordCount: Int) -> Bool {
        arity >= 0 ? wordCount == arity : wordCount >= -arity
    }
}

/// All commands, found by their names in constant time and without an allocation.
///
/// No name is longer than eight bytes, so that a name in lower case is one machine word.
struct CommandTable: Sendable {
    static let shared = CommandTable(Command.strings + Command.lists + Command.generic + Command.administration)

    let commands: [Command]
    private let byName: [UInt64: Command]

    private init(_ commands: [Command]) {
        self.commands = commands
        byName = Dictionary(
            uniqueKeysWithValues: commands.map { command in
                guard let word = command.name.withUTF8Buffer({ CommandTable.word($0) }) else {
                    preconditionFailure("the name \(command.name) does not fit into one word")
                }
                return (word, command)
            })
    }

    func command(named name: [UInt8]) -> Command? {
        CommandTable.word(name).flatMap { byName[$0] }
    }

    /// Reads a request, or finds what is wrong with it.
    func plan(_ request: Request, _ session: inout Session) -> Work {
        session.command = "unknown command"
        guard let command = command(named: request[0]) else {
            // Web pages can make browsers send these to any port; what follows them must not be carried out.
            if request[0].hasName("post") || request[0].hasName("host:") { return .close(nil) }
            return .reply(CommandTable.unknown(request))
        }
        session.command = command.name
        guard command.accepts(wordCount: request.count) else {
            return .reply(.wrongArity(command.name.withUTF8Buffer { Array($0) }))
        }
        return command.plan(request, &session)
    }

    private static func word(_ name: some Collection<UInt8>) -> UInt64? {
        guard name.count <= 8 else { return nil }
        var word: UInt64 = 0
        for byte in name { word = word << 8 | UInt64(byte.lowercasedLetter) }
        return word
    }

    /// Repeats the request in the message, up to 128 bytes of the name and about as many of the arguments.
    private static func unknown(_ request: Request) -> Reply {
        var arguments: [UInt8] = []
        for argument in request.dropFirst() where arguments.count < 128 {
            arguments += [UInt8(ascii: "'")] + argument.textPrefix(128 - arguments.count) + Array("' ".utf8)
        }
        return .error(
            Array("ERR unknown command '".utf8) + request[0].textPrefix(128)
                + Array("', with args beginning with: ".utf8) + arguments)
    }
}

extension UInt8 {
    var lowercasedLetter: UInt8 {
        self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
    }
}

extension [UInt8] {
    /// Whether this is `name`, which is in lower case, in any case.
    func hasName(_ name: StaticString) -> Bool {
        count == name.utf8CodeUnitCount
            && name.withUTF8Buffer { zip(self, $0).allSatisfy { $0.lowercasedLetter == $1 } }
    }

    /// Up to `length` bytes and not beyond a zero byte: what C's formatted output would show.
    func textPrefix(_ length: Int) -> ArraySlice<UInt8> {
        prefix(length).prefix { $0 != 0 }
    }
}
