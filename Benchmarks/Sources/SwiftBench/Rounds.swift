/// Something to measure once a round, under the name of its subject.
struct Turn {
    let subject: String
    let measure: () -> Void
}

/// Gives each of `turns` its turn in every round, in an order in which a subject's predecessor changes from round to
/// round: 0, 1, count - 1, 2, count - 2 and so on, moved on by one each round. A mere rotation would let each follow
/// the same one every time. Says which round is over.
func inRounds(_ rounds: Int, _ turns: [Turn]) {
    for round in 0..<rounds {
        for position in turns.indices {
            let first = position % 2 == 1 ? (position + 1) / 2 : turns.count - position / 2
            turns[(first + round) % turns.count].measure()
        }
        note("\(round + 1)/\(rounds) ")
    }
}

/// Values of one metric by subject, one a round or more, in the order in which the subjects were named.
struct Rows {
    private(set) var values: [(subject: String, rounds: [Double])]

    init(_ subjects: [String]) { values = subjects.map { ($0, []) } }

    mutating func add(_ subject: String, _ value: Double) {
        guard let index = values.firstIndex(where: { $0.subject == subject }) else {
            preconditionFailure("\(subject) was not named")
        }
        values[index].rounds.append(value)
    }
}
