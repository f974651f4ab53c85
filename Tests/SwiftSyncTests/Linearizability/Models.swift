import SwiftSync

/// A number that is read, replaced and incremented.
struct NumberModel: SequentialModel {
    enum Operation: Sendable {
        case read(Int)
        /// Replaced by a number.
        case replaced(by: Int)
        /// Incremented to a number.
        case incremented(to: Int)
    }

    var number = 0

    mutating func perform(_ operation: Operation) -> Bool {
        switch operation {
        case .read(let found): return found == number
        case .replaced(let new): number = new
        case .incremented(let result):
            number += 1
            return result == number
        }
        return true
    }
}

/// Elements that leave by priority, within one by arrival.
struct PriorityQueueModel: SequentialModel {
    enum Operation: Sendable {
        case pushed(Int, CommandPriority)
        /// nil: it was empty.
        case popped(Int?)
    }

    private struct Element: Hashable {
        let number: Int
        let priority: Int32
    }

    /// The next first.
    private var elements: [Element] = []

    mutating func perform(_ operation: Operation) -> Bool {
        switch operation {
        case .pushed(let number, let priority):
            let place = elements.firstIndex { $0.priority < priority.rawValue } ?? elements.endIndex
            elements.insert(Element(number: number, priority: priority.rawValue), at: place)
            return true
        case .popped(let number):
            guard let number else { return elements.isEmpty }
            guard elements.first?.number == number else { return false }
            elements.removeFirst()
            return true
        }
    }
}
