/// The numbers of a pool, which never change. Times are in nanoseconds.
struct ResourceLimits {
    let maximum: Int
    var minimum = 0
    var reserved = 0
    /// The number of calls of the factory that may run at once.
    var makings = Int.max
    /// How often a request may be overtaken: ``BypassLimit``.
    var bypassLimit: UInt32?
    /// The number of requests without a preparation that may wait.
    var waiters = Int.max
    /// Whether an idle resource is checked before its use.
    var checks = false
    var idleTimeout = Deadline.never
    /// The time after which a factory or a check is given up.
    var preparationTimeout = Deadline.never

    /// The number of calls of the factory that may go on although they were given up.
    var late: Int { max(maximum, 16) }
    /// The number of places that low priorities may take.
    var common: Int { maximum - reserved }
    /// The number of calls of the factory that may run at once for low priorities: their share of the places, so that
    /// at least one is left to the others, if there are two.
    var commonMakings: Int { max(min(makings, maximum) * common / maximum, 1) }
    /// Their share of the calls that go on although they were given up.
    var commonLate: Int { late * common / maximum }
}
