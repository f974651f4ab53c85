import CBenchSupport
import Foundation
import NIOPosix
import SwiftSync

/// Nanoseconds to read and to replace a value of the calling thread that is there.
struct ThreadLocals {
    let results: Results
    let rounds: Int
    private let times = 400_000

    private final class Object: @unchecked Sendable {
        var number: Int
        init(_ number: Int) { self.number = number }
    }

    private static let number = ThreadLocalValue<Int>(key: "SwiftBench.number")
    private static let object = ThreadLocalValue<Object>(key: "SwiftBench.object")
    private static let key = "SwiftBench.number"

    func run() {
        let number = Self.number, object = Self.object, nio = ThreadSpecificVariable<Object>(),
            objects = [Object(1), Object(2)]
        number.setValue(1)
        object.setValue(objects[0])
        nio.currentValue = objects[0]
        Thread.current.threadDictionary[Self.key] = 1

        let loops = LoopGroup(results: results, rounds: rounds)
        func turn(_ name: String, _ loop: @escaping (Int) -> Int) -> Turn {
            loops.turn(name, times: times, warmUp: 1000, loop)
        }

        loops.report(
            "thread-local value, read", baseline: "ThreadSpecificVariable", printsAllocations: false,
            [
                turn("threadDictionary") { times in
                    var sum = 0
                    for _ in 0..<times { sum &+= Thread.current.threadDictionary[Self.key] as? Int ?? 0 }
                    return sum
                },
                turn("ThreadSpecificVariable") { times in
                    var sum = 0
                    for _ in 0..<times { sum &+= nio.currentValue?.number ?? 0 }
                    return sum
                },
                turn("ThreadLocalValue") { times in
                    var sum = 0
                    for _ in 0..<times { sum &+= number.value() ?? 0 }
                    return sum
                },
                turn("ThreadLocalValue, reference") { times in
                    var sum = 0
                    for _ in 0..<times { sum &+= object.value()?.number ?? 0 }
                    return sum
                },
            ])
        loops.report(
            "thread-local value, replaced", baseline: "ThreadSpecificVariable", printsAllocations: false,
            [
                turn("threadDictionary") { times in
                    for index in 0..<times { Thread.current.threadDictionary[Self.key] = index }
                    return times
                },
                turn("ThreadSpecificVariable") { times in
                    for index in 0..<times { nio.currentValue = objects[index & 1] }
                    return times
                },
                turn("ThreadLocalValue") { times in
                    for index in 0..<times { number.setValue(index) }
                    return times
                },
                turn("ThreadLocalValue, reference") { times in
                    for index in 0..<times { object.setValue(objects[index & 1]) }
                    return times
                },
            ])
    }
}
