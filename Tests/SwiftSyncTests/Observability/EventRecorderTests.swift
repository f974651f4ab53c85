import CSyncKernel
import Glibc
import Testing

@testable import SwiftSync

/// Events are kept in order, in bounded memory, and can be told again.
@Suite(.endsInTime)
struct EventRecorderTests {
    @Test func everyPartOfAnEventIsKept() {
        let recorder = EventRecorder(name: "queue")
        let before = csk_now()
        let first = recorder.makeID(), second = recorder.makeID()
        recorder.record(.pushed, id: first, tag: "a")
        recorder.record(.pushed, id: second, tag: "b")
        recorder.record(.started, id: first, tag: "a")
        recorder.record(.finished, id: first, tag: "a")
        Thread { recorder.record(.cancelled, id: second, tag: "b") }.join()
        recorder.record(.dropped, id: 99, tag: "never pushed")
        let events = recorder.events, after = csk_now()
        #expect(first != second)
        #expect(events.map(\.kind) == [.pushed, .pushed, .started, .finished, .cancelled, .dropped])
        #expect(events.map(\.tag) == ["a", "b", "a", "a", "b", "never pushed"])
        #expect(events.map(\.id) == [first, second, first, first, second, 99])
        #expect(events.map(\.depth) == [1, 2, 2, 1, 0, 0])
        #expect(events.allSatisfy { $0.nanoseconds >= before && $0.nanoseconds <= after })
        #expect(zip(events, events.dropFirst()).allSatisfy { $0.nanoseconds <= $1.nanoseconds })
        #expect(events[0].thread == csk_thread_id())
        #expect(events[4].thread != csk_thread_id() && events[4].thread > 0)
        #expect(recorder.recordedCount == 6)
    }

    @Test(arguments: [(-1, 16), (0, 16), (1, 16), (16, 16), (17, 32), (4096, 4096), (Int.max, 1 << 20)])
    func theCapacityIsTheNextPowerOfTwoWithinBounds(wanted: Int, capacity: Int) {
        #expect(EventRecorder(name: "", capacity: wanted).capacity == capacity)
    }

    @Test(arguments: [16, 32, 256, 4096])
    func theNewestAreKept(capacity: Int) {
        let recorder = EventRecorder(name: "", capacity: capacity)
        for count in 1...(3 * capacity + 5) {
            recorder.record(.pushed, id: UInt64(count), tag: "\(count)")
            guard count < 40 || count % 97 == 0 || count > 3 * capacity else { continue }
            let oldest = max(count - capacity, 0) + 1
            let events = recorder.events
            #expect(events.map(\.id) == (oldest...count).map(UInt64.init))
            #expect(events.allSatisfy { $0.tag == "\($0.id)" })
        }
        #expect(recorder.recordedCount == UInt64(3 * capacity + 5))
    }

    /// In a process of its own: other tests use memory too.
    @Test func tagsThatAreForgottenAreReleased() async {
        await #expect(processExitsWith: .success) {
            let recorder = EventRecorder(name: "", capacity: 16)
            let long = String(repeating: "a", count: 1_000_000)
            let before = EventRecorderTests.residentBytes()
            // 1 GB in all. AddressSanitizer keeps 256 MB of what was released.
            for number in 0..<1000 { recorder.record(.pushed, id: 1, tag: "\(long)\(number)") }
            mustHold(EventRecorderTests.residentBytes() - before < 500_000_000)
        }
    }

    private static func residentBytes() -> Int {
        let file = fopen("/proc/self/statm", "r")
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        fgets(&line, 256, file)
        let words = line.prefix { $0 != 0 }.split(separator: CChar(UInt8(ascii: " ")))
        return words.count > 1 ? Int(String(decoding: words[1].map(UInt8.init), as: UTF8.self))! * 4096 : 0
    }

    @Test func threadsRecordAndReadTogether() {
        let recorder = EventRecorder(name: "", capacity: 64), isOver = Flag()
        let reader = Thread {
            while !isOver.isRaised {
                let events = recorder.events
                // Each thread's events stand in its order, and none is torn.
                for thread in 0..<3 {
                    let own = events.filter { $0.id % 3 == thread }.map(\.id)
                    mustHold(own == own.sorted() && Set(own).count == own.count)
                }
                mustHold(
                    events.count <= 64 && events.allSatisfy { $0.tag == "a tag that needs memory of its own \($0.id)" })
                mustHold(zip(events, events.dropFirst()).allSatisfy { $0.nanoseconds <= $1.nanoseconds })
            }
        }
        Threads.run(3) { index in
            for number in 0..<2000 {
                let id = UInt64(number * 3 + index)
                recorder.record(.pushed, id: id, tag: "a tag that needs memory of its own \(id)")
            }
        }
        isOver.raise()
        reader.join()
        #expect(recorder.recordedCount == 6000 && recorder.events.last?.depth == 6000)
    }

    /// A copy that the ring had overtaken used to go on from beyond where it was to end, and gave nothing in up to one
    /// look of a hundred.
    @Test(arguments: [16, 256])
    func aFullRecorderIsNeverSeenEmptyNorWithAGap(capacity: Int) {
        let recorder = EventRecorder(name: "", capacity: capacity), isOver = Flag()
        for _ in 0..<capacity { recorder.record(.pushed, id: 0, tag: "") }
        let writers = (0..<2).map { _ in
            Thread { while !isOver.isRaised { recorder.record(.pushed, id: 0, tag: "") } }
        }
        var counts = Set<Int>(), gaps = 0
        for _ in 0..<300 {
            let events = recorder.events
            counts.insert(events.count)
            // Each event finds the queue deeper by one.
            gaps += zip(events, events.dropFirst()).count { $1.depth != $0.depth + 1 }
        }
        isOver.raise()
        writers.forEach { $0.join() }
        #expect(counts == [capacity] && gaps == 0)
    }

    @Test func replyPrintsALineForEachEventInLocalTime() {
        let queue = TaskQueue.make()
        let release = queue.hold("RandomTask1")
        queue.push("RandomTask2") { $0.release() }
        release()
        var lines: [String] = []
        // The first event is at 2001-09-09 01:46:40.5 UTC.
        let first = queue.recorder.events[0].nanoseconds
        queue.recorder.reply(by: WallClock(offset: 1_000_000_000_500_000_000 - first)) { lines.append($0) }
        let texts = lines.map { $0.dropFirst(10) }
        #expect(
            texts == [
                "Task RandomTask1 pushed to queue", "Task RandomTask1 started - accuired lock",
                "Task RandomTask2 pushed to queue",
                "Task RandomTask1 finished - released lock", "Task RandomTask2 started - accuired lock",
                "Task RandomTask2 finished - released lock",
            ])
        // As the C library writes that second.
        var seconds = time_t(1_000_000_000), parts = tm(), text = [CChar](repeating: 0, count: 16)
        localtime_r(&seconds, &parts)
        strftime(&text, 16, "%H:%M:%S", &parts)
        #expect(
            lines[0].hasPrefix(
                String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) + ": "))
        #expect(lines.allSatisfy { $0.dropFirst(8).hasPrefix(": ") })
        lines = []
        queue.recorder.reply { lines.append($0) }
        #expect(lines.map { $0.dropFirst(10) } == texts)
    }

    /// The moment at which the clock is made, by itself, is between two readings of the wall clock.
    @Test func theWallClockIsReadForTheMoment() {
        func wallTime() -> Int64 {
            var now = timespec()
            clock_gettime(CLOCK_REALTIME, &now)
            return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
        }
        let before = wallTime(), now = csk_now(), clock = WallClock(), later = csk_now(), after = wallTime()
        // As far as two readings tell, which lie a microsecond apart unless all eight tries were interrupted.
        #expect(clock.offset + now > before - 1_000_000 && clock.offset + later < after + 1_000_000)
    }

    @Test func replyPrintsOnTheStandardOutput() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            let recorder = EventRecorder(name: "")
            recorder.record(.pushed, id: 1, tag: "a")
            recorder.record(.cancelled, id: 1, tag: "a")
            recorder.record(.dropped, id: 2, tag: "b")
            recorder.reply()
            fflush(nil)
        }
        let lines = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self).split(separator: "\n")
        let ends = ["Task a pushed to queue", "Task a cancelled", "Task b dropped"]
        #expect(lines.compactMap { line in ends.first { line.hasSuffix(": " + $0) } } == ends)
    }

    @Test func aChildOfForkRecordsItsOwnThreadNumber() async {
        await #expect(processExitsWith: .success) {
            let recorder = EventRecorder(name: "")
            recorder.record(.pushed, id: 1, tag: "parent")
            // Swift hides fork.
            let fork = unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)
            let parent = csk_thread_id(), child = fork()
            if child == 0 {
                recorder.record(.pushed, id: 2, tag: "child")
                _exit(recorder.events.map(\.thread) == [parent, getpid()] ? 0 : 1)
            }
            var status: Int32 = -1
            mustHold(waitpid(child, &status, 0) == child && status == 0)
        }
    }

    @Test func aTaskQueueKeepsItsLast4096Events() {
        let queue = TaskQueue.make()
        for number in 0..<3000 { queue.push("\(number)") { $0.release() } }
        #expect(queue.recorder.capacity == 4096 && queue.recorder.events.count == 4096)
        #expect(queue.recorder.recordedCount == 9000)
        #expect(queue.recorder.events.last?.short == "finished 2999")
    }

    @Test func aQueueWithACapacityHasTheRecorderThatItWasMadeWith() {
        let recorder = EventRecorder(name: "bounded", capacity: 16)
        let queues: [WorkQueueBase] = [
            WorkQueue(name: "serial", capacity: 1, whenFull: .refuse, recorder: recorder),
            WorkQueue(name: "serial, low", priority: .low, capacity: 1, whenFull: .refuse, recorder: recorder),
            ConcurrentWorkQueue(name: "wide", capacity: 1, whenFull: .refuse, recorder: recorder),
            ConcurrentWorkQueue(name: "wide, low", priority: .low, capacity: 1, whenFull: .refuse, recorder: recorder),
        ]
        for queue in queues { #expect(queue.recorder === recorder, "\(queue.name)") }
        #expect(FIFOQueue(capacity: 1, whenFull: .refuse, recorder: recorder).recorder === recorder)
        #expect(MainActorQueue(capacity: 1, whenFull: .refuse, recorder: recorder).recorder === recorder)
    }
}
