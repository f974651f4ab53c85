/// What `CONFIG SET` can change while the server runs.
///
/// Small and without references, so that a command copies the one it works by out of the server's `Snapshot`, without a
/// lock.
struct Settings: Equatable, Sendable {
    /// A command on data that takes longer, in microseconds, is counted and logged. Zero: each; negative: none.
    var slowThreshold = 10_000
    var logLevel = LogLevel.notice
    /// How many connections there may be; further ones are turned away.
    var maximumClients = 10_000
    /// After how many keys `KEYS` ends. Zero: never.
    var maximumKeys = 0
}

/// How much is logged; each level also means those behind it.
enum LogLevel: Int, CaseIterable, Comparable, Sendable {
    /// Each command's name.
    case debug
    /// Connections.
    case verbose
    /// Slow commands and changes of the configuration.
    case notice
    /// Clients that are turned away.
    case warning

    var name: String { "\(self)" }

    static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}

/// One of the settings, by its name.
struct Setting: Sendable {
    let name: String
    let value: @Sendable (Settings) -> String
    /// Reads a value into the settings, or says what is wrong with it.
    let set: @Sendable (inout Settings, [UInt8]) -> String?

    static let all = [
        number("keys-max-results", 0...Int.max, \.maximumKeys),
        Setting(name: "loglevel", value: { $0.logLevel.name }) { settings, text in
            guard let level = LogLevel.allCases.first(where: { Array($0.name.utf8) == text.map(\.lowercasedLetter) })
            else {
                return "argument(s) must be one of the following: "
                    + LogLevel.allCases.map(\.name).joined(separator: ", ")
            }
            settings.logLevel = level
            return nil
        },
        number("maxclients", 1...Int(UInt32.max), \.maximumClients),
        number("slowlog-log-slower-than", -1...Int.max, \.slowThreshold),
    ]

    private static func number(
        _ name: String, _ range: ClosedRange<Int>, _ path: any WritableKeyPath<Settings, Int> & Sendable
    ) -> Setting {
        Setting(name: name, value: { "\($0[keyPath: path])" }) { settings, text in
            guard let number = Decimal.parse(text) else { return "argument couldn't be parsed into an integer" }
            guard range.contains(number) else {
                return "argument must be between \(range.lowerBound) and \(range.upperBound) inclusive"
            }
            settings[keyPath: path] = number
            return nil
        }
    }
}
