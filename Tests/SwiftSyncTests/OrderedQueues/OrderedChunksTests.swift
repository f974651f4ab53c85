import Testing

@testable import SwiftSync

/// What the ordered queues keep their entries in.
@Suite
struct OrderedChunksTests {
    @Test
    func chunksKeepTheOrderHoweverElementsComeAndGo() {
        var chunks = OrderedChunks<Int>(), expected = [Int](), random = Seeded(1), next = 0
        for _ in 0..<20_000 {
            if Bool.random(using: &random) || Int.random(in: 0..<10, using: &random) == 0 {
                if chunks.needsChunk { chunks.supply(.init()) }
                chunks.append(next)
                expected.append(next)
                next += 1
            } else {
                #expect(chunks.popFirst() == (expected.isEmpty ? nil : expected.removeFirst()))
            }
            #expect(chunks.count == expected.count)
            #expect(chunks.withFirst { $0 } == expected.first)
        }
        var seen = [Int]()
        let none: Void? = chunks.firstResult {
            seen.append($0); return nil
        }
        #expect(none == nil && seen == expected)
    }

    @Test
    func chunksForgetWhatIsRemovedFromAmongOthers() {
        var random = Seeded(4)
        for _ in 0..<500 {
            var chunks = OrderedChunks<Tracked>(), expected = [Int]()
            let alive = Shared(0), count = Int.random(in: 0..<300, using: &random),
                popped = Int.random(in: 0...count, using: &random)
            for number in 0..<count {
                if chunks.needsChunk { chunks.supply(.init()) }
                chunks.append(Tracked(alive, number: number))
                expected.append(number)
            }
            for _ in 0..<popped { _ = chunks.popFirst() }
            expected.removeFirst(popped)
            let divisor = Int.random(in: 1...4, using: &random)
            chunks.removeAll { $0.number % divisor == 0 }
            expected.removeAll { $0 % divisor == 0 }
            #expect(chunks.count == expected.count && alive.value == expected.count)
            for number in 1000..<1100 {
                if chunks.needsChunk { chunks.supply(.init()) }
                chunks.append(Tracked(alive, number: number))
                expected.append(number)
            }
            var seen = [Int]()
            while let element = chunks.popFirst() { seen.append(element.number) }
            #expect(seen == expected)
        }
    }

    @Test
    func chunksReleaseWhatIsLeftInside() {
        let alive = Shared(0)
        do {
            var chunks = OrderedChunks<Tracked>(spareLimit: 1)
            for number in 0..<300 {
                if chunks.needsChunk { chunks.supply(.init()) }
                chunks.append(Tracked(alive, number: number))
            }
            for number in 0..<150 { #expect(chunks.popFirst()?.number == number) }
            #expect(alive.value == 150)
        }
        #expect(alive.value == 0)
    }
}
