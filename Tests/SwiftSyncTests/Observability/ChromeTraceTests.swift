import CSyncKernel
import Foundation
import Glibc
import Testing

@testable import SwiftSync

/// The trace is valid JSON that says what the events say.
@Suite(.endsInTime)
struct ChromeTraceTests {
    private typealias Entry = [String: Any]

    private func entries(_ json: String) throws -> [Entry] {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? Entry)
        #expect(object["displayTimeUnit"] as? String == "ns")
        return try #require(object["traceEvents"] as? [Entry])
    }

    private func identifier(_ entry: Entry) -> String? { (entry["id2"] as? Entry)?["local"] as? String }

    @Test func aTaskIsASpanAroundTheSpanOfItsRun() throws {
        let queue = TaskQueue(identifier: "downloads"), release = queue.hold("first")
        queue.push("second") { $0.release() }
        release()
        let events = queue.recorder.events, entries = try entries(queue.recorder.chromeTrace())
        for (id, tag) in [("0.1", "first"), ("0.2", "second")] {
            let spans = entries.filter { identifier($0) == id }
            #expect(spans.map { $0["ph"] as? String } == ["b", "b", "e", "e"])
            #expect(spans.map { $0["name"] as? String } == ["downloads", tag, tag, "downloads"])
            #expect(spans.allSatisfy { $0["cat"] as? String == "downloads" && $0["pid"] as? Int == Int(getpid()) })
            #expect(spans.allSatisfy { ($0["args"] as? Entry)?["tag"] as? String == tag })
            let own = events.filter { $0.tag == tag }.map { Double($0.nanoseconds) / 1000 }
            let times = spans.compactMap { $0["ts"] as? Double }
            for (found, expected) in zip(times, own + own.suffix(1)) { #expect(abs(found - expected) < 0.01) }
        }
        let depths = entries.filter { $0["ph"] as? String == "C" }
        #expect(depths.allSatisfy { $0["name"] as? String == "downloads depth" })
        #expect(depths.map { ($0["args"] as? Entry)?["depth"] as? Int } == events.map(\.depth))
        let instants = entries.filter { $0["ph"] as? String == "i" }
        #expect(instants.map { $0["name"] as? String } == events.map { "\($0.kind) \($0.tag)" })
        #expect(instants.allSatisfy { $0["s"] as? String == "t" && $0["tid"] as? Int == Int(csk_thread_id()) })
    }

    @Test func spansThatLackAnEndAreLeftOpenAndThoseThatLackABeginningStartWhereTheyAreSeen() throws {
        let recorder = EventRecorder(name: "q")
        recorder.record(.finished, id: 1, tag: "only its end")
        recorder.record(.started, id: 2, tag: "no push")
        recorder.record(.pushed, id: 3, tag: "waits")
        recorder.record(.finished, id: 2, tag: "no push")
        recorder.record(.pushed, id: 4, tag: "cancelled")
        recorder.record(.cancelled, id: 4, tag: "cancelled")
        let entries = try entries(recorder.chromeTrace())
        func phases(_ id: String) -> [String] {
            entries.filter { identifier($0) == id }.compactMap { $0["ph"] as? String }
        }
        #expect(phases("0.1") == [])
        #expect(phases("0.2") == ["b", "b", "e", "e"])
        #expect(phases("0.3") == ["b"])
        #expect(phases("0.4") == ["b", "e"])
    }

    @Test func namesOfEveryKindAreValid() throws {
        let nasty =
            (0..<32).map { String(UnicodeScalar(UInt8($0))) }.joined()
            + "\"\\/\u{7f}\u{2028}\u{1F600}e\u{301}\r\n</script>"
        let recorder = EventRecorder(name: nasty)
        recorder.record(.pushed, id: .max, tag: nasty)
        recorder.record(.started, id: .max, tag: "")
        let entries = try entries(recorder.chromeTrace())
        let spans = entries.filter { identifier($0) != nil }
        #expect(spans.map { $0["name"] as? String } == [nasty, ""])
        #expect((spans[0]["args"] as? Entry)?["tag"] as? String == nasty)
        #expect(identifier(spans[0]) == "0.\(UInt64.max)")
    }

    @Test func severalQueuesShareATraceAndThreadsAreNamed() throws {
        let first = EventRecorder(name: "same"), second = EventRecorder(name: "same"), hasRecorded = Flag(),
            isRead = Flag()
        first.record(.pushed, id: 1, tag: "a")
        let thread = Thread {
            let name = open("/proc/thread-self/comm", O_WRONLY)
            mustHold(write(name, "a \"worker\"", 10) == 10)
            close(name)
            second.record(.pushed, id: 1, tag: "b")
            hasRecorded.raise()
            waitUntil { isRead.isRaised }
        }
        waitUntil { hasRecorded.isRaised }
        let json = EventRecorder.chromeTrace(of: [first, second])
        isRead.raise()
        thread.join()
        let entries = try entries(json)
        #expect(entries.compactMap(identifier) == ["0.1", "1.1"])
        let other = try #require(second.events.first).thread
        func name(_ thread: Int32) -> String? {
            let entry = entries.first { $0["name"] as? String == "thread_name" && $0["tid"] as? Int == Int(thread) }
            return (entry?["args"] as? Entry)?["name"] as? String
        }
        #expect(name(other) == "a \"worker\"")
        #expect(name(csk_thread_id())?.isEmpty == false)
        // It was joined, but the system may take a moment longer to forget it.
        waitUntil { access("/proc/self/task/\(other)", F_OK) != 0 }
        let later = try #require(JSONSerialization.jsonObject(with: Data(second.chromeTrace().utf8)) as? Entry)
        let names = (later["traceEvents"] as? [Entry] ?? []).compactMap { ($0["args"] as? Entry)?["name"] as? String }
        #expect(names.contains("thread \(other)"))
    }

    @Test func aFullRecorderAndAnEmptyOneAreValid() throws {
        let recorder = EventRecorder(name: "full", capacity: 64)
        #expect(try entries(recorder.chromeTrace()).count == 1)
        #expect(try entries(EventRecorder.chromeTrace(of: [])).count == 1)
        for id in 0..<100 {
            for kind in [EventRecorder.Event.Kind.pushed, .started, .finished] {
                recorder.record(kind, id: UInt64(id), tag: "\(id)")
            }
        }
        let entries = try entries(recorder.chromeTrace())
        var open: [String: Int] = [:]
        for entry in entries {
            guard let id = identifier(entry) else { continue }
            open[id, default: 0] += entry["ph"] as? String == "b" ? 1 : -1
            #expect(open[id]! >= 0)
        }
        #expect(open.values.allSatisfy { $0 == 0 })
    }
}
