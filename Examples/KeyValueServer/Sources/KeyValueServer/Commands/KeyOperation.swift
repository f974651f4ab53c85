/// What a command does to one key, with its arguments already checked and read.
///
/// Everything that needs no access to the data is done before one of these is made, so that `apply` is all that runs
/// while a shard is held.
enum KeyOperation: Sendable {
    case get
    /// What `MGET` asks for each key: nothing where the value is no string.
    case getIfString
    case set([UInt8], SetOptions)
    case delete
    case exists
    case add(Int)
    case append([UInt8])
    case length
    case expire(at: Milliseconds, ExpireCondition)
    case timeLeft(unit: TimeUnit)
    case persist
    case type
    case push([[UInt8]], ListEnd)
    /// Without a count, one element and not an array of them.
    case pop(ListEnd, count: Int?)
    case listLength
    case range(ListRange)

    /// Whether the data stays as it is: the entry of the key is all that the answer depends on.
    var onlyReads: Bool {
        switch self {
        case .get, .getIfString, .exists, .length, .timeLeft, .type, .listLength, .range: true
        case .set, .delete, .add, .append, .expire, .persist, .push, .pop: false
        }
    }

    /// The answer of an operation that only reads, from the entry of its key, which is alive, or from none.
    func answer(from entry: Shard.Entry?, now: Milliseconds) -> Reply {
        switch self {
        case .get:
            guard let entry else { return .null }
            return entry.value.bytes.map { .bulk($0) } ?? .wrongType
        case .getIfString:
            return entry?.value.bytes.map { .bulk($0) } ?? .null
        case .exists:
            return .integer(entry == nil ? 0 : 1)
        case .length:
            guard let entry else { return .integer(0) }
            return entry.value.bytes.map { .integer($0.count) } ?? .wrongType
        case .timeLeft(let unit):
            guard let entry else { return .integer(-2) }
            return .integer(entry.canExpire ? unit.rounded(entry.deadline - now) : -1)
        case .type:
            return .simple(entry?.value.kind.name ?? "none")
        case .listLength:
            guard let entry else { return .integer(0) }
            return entry.value.list.map { .integer($0.count) } ?? .wrongType
        case .range(let range):
            guard let entry else { return .array([]) }
            return entry.value.list.map { range.reply(from: $0) } ?? .wrongType
        case .set, .delete, .add, .append, .expire, .persist, .push, .pop:
            preconditionFailure("this operation writes")
        }
    }

    func apply(to shard: inout Shard, _ key: Key, now: Milliseconds) -> Reply {
        switch self {
        case .get, .getIfString, .exists, .length, .timeLeft, .type, .listLength, .range:
            return answer(from: shard.entry(key, now: now), now: now)
        case .set(let value, let options):
            return options.apply(value, to: &shard, key, now: now)
        case .delete:
            guard shard.entry(key, now: now) != nil else { return .integer(0) }
            shard.remove(key)
            return .integer(1)
        case .add(let amount):
            return KeyOperation.add(amount, to: &shard, key, now: now)
        case .append(let tail):
            return KeyOperation.append(tail, to: &shard, key, now: now)
        case .expire(let deadline, let condition):
            guard let entry = shard.entry(key, now: now), condition.allows(deadline, insteadOf: entry) else {
                return .integer(0)
            }
            if deadline <= now {
                shard.remove(key)
            } else {
                shard.store(key, entry.value, deadline: deadline)
            }
            return .integer(1)
        case .persist:
            guard let entry = shard.entry(key, now: now), entry.canExpire else { return .integer(0) }
            shard.store(key, entry.value)
            return .integer(1)
        case .push(let elements, let end):
            return end.push(elements, to: &shard, key, now: now)
        case .pop(let end, let count):
            return end.pop(count, from: &shard, key, now: now)
        }
    }

    private static func add(_ amount: Int, to shard: inout Shard, _ key: Key, now: Milliseconds) -> Reply {
        let entry = shard.entry(key, now: now)
        if let entry, entry.value.kind != .string { return .wrongType }
        guard let value = entry.map({ Decimal.parse($0.value.bytes ?? []) }) ?? 0 else { return .notAnInteger }
        let (sum, overflowed) = value.addingReportingOverflow(amount)
        if overflowed { return .overflow }
        shard.store(key, Decimal.text(sum), deadline: entry?.deadline ?? .max)
        return .integer(sum)
    }

    private static func append(_ tail: [UInt8], to shard: inout Shard, _ key: Key, now: Milliseconds) -> Reply {
        // Only the length is taken out here: a second reference to the value would make the append copy it.
        guard let length = shard.entry(key, now: now).map({ $0.value.bytes?.count }) else {
            shard.store(key, tail)
            return .integer(tail.count)
        }
        guard let length else { return .wrongType }
        guard length + tail.count <= RequestLimits().bulkLength else { return .tooLong }
        let newLength = shard.update(key) { value in
            value.changeBytes { bytes in
                bytes.append(contentsOf: tail)
                return bytes.count
            }
        }
        return .integer(newLength.flatMap { $0 } ?? 0)
    }
}

/// The unit in which a command gives or asks for a time.
enum TimeUnit: Int, Sendable {
    case milliseconds = 1
    case seconds = 1000

    /// A time left, rounded to the nearest unit as Redis does.
    func rounded(_ time: Milliseconds) -> Int {
        self == .seconds ? (time + 500) / 1000 : time
    }

    /// The point in time that lies `amount` units behind `now`, or nil if that can't be represented.
    func deadline(_ amount: Int, after now: Milliseconds) -> Milliseconds? {
        let (span, tooLong) = amount.multipliedReportingOverflow(by: rawValue)
        let (deadline, tooLate) = now.addingReportingOverflow(span)
        return tooLong || tooLate || deadline == .max ? nil : deadline
    }
}

/// The options of `SET`, and of the commands that are special cases of it.
struct SetOptions: Sendable {
    enum Condition: Sendable {
        case always
        case ifAbsent
        case ifPresent
    }

    enum Expiry: Sendable {
        case none
        case keep
        case at(Milliseconds)
    }

    var condition = Condition.always
    var expiry = Expiry.none
    var returnsOld = false

    func apply(_ value: [UInt8], to shard: inout Shard, _ key: Key, now: Milliseconds) -> Reply {
        var old: Shard.Entry?
        var deadline = Milliseconds.max
        var needsOld = returnsOld
        if case .always = condition {} else { needsOld = true }
        if case .keep = expiry { needsOld = true }
        if needsOld { old = shard.entry(key, now: now) }
        let refused =
            switch condition {
            case .always: false
            case .ifAbsent: old != nil
            case .ifPresent: old == nil
            }
        if returnsOld, let old, old.value.kind != .string { return .wrongType }
        let oldReply = old?.value.bytes.map { Reply.bulk($0) } ?? .null
        if refused { return returnsOld ? oldReply : .null }
        switch expiry {
        case .none: break
        case .keep: deadline = old?.deadline ?? .max
        case .at(let time): deadline = time
        }
        shard.store(key, value, deadline: deadline)
        return returnsOld ? oldReply : .ok
    }
}

/// The options of `EXPIRE`: when a new deadline may replace the old one. No deadline counts as an endless one.
struct ExpireCondition: OptionSet, Sendable {
    let rawValue: UInt8

    static let ifNone = ExpireCondition(rawValue: 1)
    static let ifAny = ExpireCondition(rawValue: 2)
    static let ifLater = ExpireCondition(rawValue: 4)
    static let ifEarlier = ExpireCondition(rawValue: 8)

    func allows(_ deadline: Milliseconds, insteadOf entry: Shard.Entry) -> Bool {
        if contains(.ifNone), entry.canExpire { return false }
        if contains(.ifAny), !entry.canExpire { return false }
        if contains(.ifLater), !entry.canExpire || deadline <= entry.deadline { return false }
        if contains(.ifEarlier), entry.canExpire, deadline >= entry.deadline { return false }
        return true
    }
}
