import Synchronization

/// What happened to the things that one probe made.
final class Tally: Sendable {
    /// How many things were made, how often they were used, and how many of them were found changed.
    let made = Atomic(0), used = Atomic(0), changed = Atomic(0)
    /// How many of them tell of their end, and how many ends there were.
    let counted = Atomic(0), ended = Atomic(0)

    static func add(_ counter: borrowing Atomic<Int>) { counter.add(1, ordering: .sequentiallyConsistent) }

    var text: String {
        "made \(made.now), used \(used.now), changed \(changed.now), \(ended.now) of \(counted.now) deinits"
    }
}

extension Atomic where Value == Int {
    var now: Int { load(ordering: .sequentiallyConsistent) }
}

/// What the words of a thing hold as long as it is whole.
let whole = 0x5EED_5EED_5EED_5EED

/// A thing that a probe hands over. Making it is inlined, so that the optimizer sees all of it in the probe.
protocol Thing: Sendable {
    static func make(_ tally: Tally) -> Self
    func use(_ tally: Tally)
}

/// An object that tells of its end.
final class Counted: Thing, @unchecked Sendable {
    private let first = whole
    private let tally: Tally
    private let last = whole

    @inline(__always)
    init(_ tally: Tally) {
        self.tally = tally
        Tally.add(tally.made)
        Tally.add(tally.counted)
    }

    deinit {
        if first != whole || last != whole { Tally.add(tally.changed) }
        Tally.add(tally.ended)
    }

    @inline(__always) static func make(_ tally: Tally) -> Counted { Counted(tally) }

    @inline(never)
    func use(_ tally: Tally) {
        Tally.add(tally.used)
        if first != whole || last != whole || self.tally !== tally { Tally.add(tally.changed) }
    }
}

extension Counted: Hashable {
    static func == (left: Counted, right: Counted) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// An object without a deinit, of which nothing has to be called at its end.
final class Plain: Thing, @unchecked Sendable {
    private let first = whole, second = whole, third = whole

    @inline(__always) init(_ tally: Tally) { Tally.add(tally.made) }
    @inline(__always) static func make(_ tally: Tally) -> Plain { Plain(tally) }

    @inline(__always)
    func use(_ tally: Tally) {
        Tally.add(tally.used)
        if first != whole || second != whole || third != whole { Tally.add(tally.changed) }
    }
}

/// A structure that holds objects.
struct Holder: Thing {
    private let before = whole
    private let plain: Plain
    private let counted: Counted

    @inline(__always)
    static func make(_ tally: Tally) -> Holder { Holder(plain: Plain(tally), counted: Counted(tally)) }

    @inline(__always)
    func use(_ tally: Tally) {
        if before != whole { Tally.add(tally.changed) }
        plain.use(tally)
        counted.use(tally)
    }
}

extension Array: Thing where Element: Thing {
    @inline(__always)
    static func make(_ tally: Tally) -> [Element] { [Element.make(tally), Element.make(tally)] }

    @inline(__always)
    func use(_ tally: Tally) {
        if count != 2 { Tally.add(tally.changed) }
        for thing in self { thing.use(tally) }
    }
}

extension Dictionary: Thing where Key == String, Value: Thing {
    @inline(__always)
    static func make(_ tally: Tally) -> [String: Value] { ["one": Value.make(tally), "two": Value.make(tally)] }

    @inline(__always)
    func use(_ tally: Tally) {
        if count != 2 { Tally.add(tally.changed) }
        for thing in values { thing.use(tally) }
    }
}

extension String: Thing {
    @inline(__always)
    static func make(_ tally: Tally) -> String {
        Tally.add(tally.made)
        return "too long to stand in two words: \(whole)"
    }

    @inline(__always)
    func use(_ tally: Tally) {
        Tally.add(tally.used)
        if self != "too long to stand in two words: \(whole)" { Tally.add(tally.changed) }
    }
}

/// A closure in a structure.
struct Action: Thing {
    private let call: @Sendable (Tally) -> Void

    @inline(__always)
    static func make(_ tally: Tally) -> Action {
        let counted = Counted(tally), plain = Plain(tally)
        return Action {
            counted.use($0)
            plain.use($0)
        }
    }

    @inline(__always) func use(_ tally: Tally) { call(tally) }
}

/// A value that can't be copied, and tells of its end.
struct Unique: ~Copyable, Sendable {
    private let before = whole
    private let tally: Tally
    private let counted: Counted

    @inline(__always)
    static func make(_ tally: Tally) -> Unique {
        Tally.add(tally.made)
        Tally.add(tally.counted)
        return Unique(tally: tally, counted: Counted(tally))
    }

    private init(tally: Tally, counted: Counted) {
        self.tally = tally
        self.counted = counted
    }

    borrowing func use(_ tally: Tally) {
        Tally.add(tally.used)
        if before != whole { Tally.add(tally.changed) }
        counted.use(tally)
    }

    deinit { Tally.add(tally.ended) }
}

/// A value of a type that is not Sendable.
final class Unsent {
    private let value: any Thing

    @inline(__always) init(_ value: any Thing) { self.value = value }
    func use(_ tally: Tally) { value.use(tally) }
}
