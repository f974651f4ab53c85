/// A command that reads one value and whose time grows with it.
///
/// The value is looked up at once and shared with the store. What takes long happens when the command is admitted, off
/// the event loops and with no shard held, on the value as it was.
struct CostlyCommand: Sendable {
    enum Reading: Sendable {
        case range(ListRange)
        case sort(SortOptions)
    }

    var key: Key
    var reading: Reading

    /// What the value is worth: an answer that needs no work, or a list to work on.
    func find(in value: Value?) -> Found {
        guard let value else { return .answer(.array([])) }
        return value.list.map { .list($0) } ?? .answer(.wrongType)
    }

    enum Found: Sendable {
        case answer(Reply)
        case list(Value.List)
    }

    /// The work itself.
    func answer(from list: Value.List) -> Reply {
        switch reading {
        case .range(let range): range.reply(from: list)
        case .sort(let options): options.reply(from: list)
        }
    }
}
