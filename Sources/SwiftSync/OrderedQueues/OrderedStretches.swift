/// Which work of an ``ActorQueue`` has begun and not ended, as far as those need to know who wait for the end of it: a
/// pure value.
///
/// Work is counted by the period in which it began. Who drains ends the period, and waits until it and all before it
/// have nothing left.
struct OrderedStretches {
    /// Begun and not ended, by period; the last is the present one.
    private var counts = [0]
    private var first = 0
    private var waiting: [(period: Int, place: OrderedPlace)] = []
    private var forgetAt = 16

    /// For tests.
    var waitingCount: Int { waiting.count }

    /// Work begins; to be given back when it ends.
    mutating func begin() -> Int {
        counts[counts.count - 1] += 1
        return first + counts.count - 1
    }

    /// Work ends. Places to be granted are returned.
    mutating func end(_ period: Int) -> [OrderedPlace] {
        counts[period - first] -= 1
        if counts.count == 1 { return [] }
        return completed()
    }

    /// A place that is granted once all that has begun so far has ended; nil if it has.
    mutating func waitForEnd() -> OrderedPlace? {
        if counts == [0] { return nil }
        // Those who gave up are forgotten by the time that they are half of all.
        if waiting.count >= forgetAt {
            waiting.removeAll { $0.place.isGivenUp }
            forgetAt = max(16, 2 * waiting.count)
        }
        let place = OrderedPlace(.end)
        // Where nothing has begun since the last one drained, both wait for the same.
        if counts.last! > 0 { counts.append(0) }
        waiting.append((first + counts.count - 2, place))
        return place
    }

    private mutating func completed() -> [OrderedPlace] {
        while counts.count > 1, counts[0] == 0 {
            counts.removeFirst()
            first += 1
        }
        let done = waiting.prefix { $0.period < first }.map(\.place)
        waiting.removeFirst(done.count)
        return done
    }
}
