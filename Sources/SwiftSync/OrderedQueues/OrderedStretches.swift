/// Tracks which work of an ``ActorQueue`` has begun and not ended, as far as tasks that wait for its end need to know.
/// It is a pure value.
///
/// Work is counted by the period in which it began. A task that drains the queue ends the present period. It waits
/// until that period and all earlier ones have no work left.
struct OrderedStretches {
    /// The number of pieces of work that have begun and not ended, by period. The last period is the present one.
    private var counts = [0]
    private var first = 0
    private var waiting: [(period: Int, place: OrderedPlace)] = []
    private var forgetAt = 16

    /// The number of drains that wait, for tests.
    var waitingCount: Int { waiting.count }

    /// Work begins. Returns the period, which the caller gives back when the work ends.
    mutating func begin() -> Int {
        counts[counts.count - 1] += 1
        return first + counts.count - 1
    }

    /// Work ends. Returns the places to be granted.
    mutating func end(_ period: Int) -> [OrderedPlace] {
        counts[period - first] -= 1
        if counts.count == 1 { return [] }
        return completed()
    }

    /// Returns a place that is granted once all work that has begun so far has ended; nil if it has ended already.
    mutating func waitForEnd() -> OrderedPlace? {
        if counts == [0] { return nil }
        // Places that were given up are removed by the time that they are half of all.
        if waiting.count >= forgetAt {
            waiting.removeAll { $0.place.isGivenUp }
            forgetAt = max(16, 2 * waiting.count)
        }
        let place = OrderedPlace(.end)
        // If nothing has begun since the last drain, both drains wait for the same work.
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
