/// The numbers of a pool, which never change. Times are in nanoseconds.
struct ResourceLimits {
    let maximum: Int
    var minimum = 0
    var reserved = 0
    /// How many calls of the factory may run at once.
    var makings = Int.max
    /// How often a request may be overtaken: ``BypassLimit``.
    var bypassLimit: UInt32?
    /// How many requests may wait for which nothing was begun.
    var waiters = Int.max
    /// Whether an idle resource is checked before its use.
    var checks = false
    var idleTimeout = Deadline.never
    /// After how long a factory or a check is given up.
    var preparationTimeout = Deadline.never

    /// How many calls of the factory may go on although they were given up.
    var late: Int { max(maximum, 16) }
    /// How many low priorities may have.
    var common: Int { maximum - reserved }
    /// How many calls of the factory may run at once for low priorities: their share of the places, so that one at
    /// least is left to the others, if there are two.
    var commonMakings: Int { max(min(makings, maximum) * common / maximum, 1) }
    /// How many of the calls that go on although they were given up may be theirs.
    var commonLate: Int { late * common / maximum }
}
