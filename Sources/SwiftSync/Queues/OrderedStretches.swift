/// Which work of an ``ActorQueue`` has begun and not ended, as far as those need to know who wait for the end of it: a pure value.
///
/// Work is counted by the period in which it began. Who drains ends the period, and waits until it and all before it have nothing left.
struct OrderedStretches {
    /// Begun and not ended, by period; the last is the present one.
    private var counts = [0]
    private var first = 0
    private var waiting: [(period: Int, place: OrderedPlace)] = []

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
        let place = OrderedPlace()
        waiting.append((first + counts.count - 1, place))
        counts.append(0)
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
