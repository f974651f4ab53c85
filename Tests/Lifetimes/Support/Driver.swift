import Dispatch
import Glibc
import SwiftSync
import Synchronization

/// What the probes of a family call. It is made held, where it can be: nothing that is handed over begins before the
/// latch is opened.
protocol Held: AnyObject {
    init(_ latch: Latch)
    /// Whether the initializer has had something begin that comes to the latch.
    static var holds: Bool { get }
    /// What has to be called after the latch was opened.
    func finish(_ tally: Tally)
}

extension Held {
    static var holds: Bool { true }
    func finish(_ tally: Tally) {}
}

/// How often the things of a probe are used.
enum Uses: Equatable {
    case times(Int), anyNumber
}

nonisolated(unsafe) var failures = 0
nonisolated(unsafe) var first = 0
nonisolated(unsafe) var last = Int.max
/// How long the things of a probe may take to end.
nonisolated(unsafe) var patience = Duration.seconds(5)
/// After so many failures the others are left out: each takes as long as `patience`.
nonisolated(unsafe) var mostFailures = Int.max

/// Overwrites what calls have left on the stack.
@inline(never)
func clobber() {
    withUnsafeTemporaryAllocation(byteCount: 32768, alignment: 16) { bytes in
        for index in 0..<bytes.count { bytes[index] = 0x41 }
        look(bytes.baseAddress!)
    }
}

@inline(never) @_optimize(none)
private func look(_ memory: UnsafeMutableRawPointer) {}

/// How often each probe is called.
let rounds = 3

@inline(never)
private func run<H: Held>(
    _ type: H.Type, _ tally: Tally, _ body: @escaping (H, Tally) async throws -> Void,
    now: ((H, Tally) throws -> Void)?
) -> String? {
    let latch = Latch()
    nonisolated(unsafe) let held = H(latch)
    nonisolated(unsafe) let body = body
    if H.holds, !latch.awaitArrival() { return "nothing holds it" }
    if let now {
        for _ in 0..<rounds {
            do { try now(held, tally) } catch { return "\(error)" }
            clobber()
        }
        latch.open()
        held.finish(tally)
        return nil
    }
    let ends = Ends()
    for _ in 0..<rounds {
        Task.detached {
            do { try await body(held, tally) } catch { ends.fail("\(error)") }
            clobber()
            ends.one.add(1, ordering: .sequentiallyConsistent)
        }
    }
    // Those that return before what they have handed over runs have returned by then, mostly.
    _ = comes(within: .milliseconds(5)) { ends.one.now == rounds }
    clobber()
    latch.open()
    if !comes(within: .seconds(10), { ends.one.now == rounds }) { return "it does not return" }
    held.finish(tally)
    return ends.failure.withLock { $0 }
}

private final class Ends: Sendable {
    let one = Atomic(0)
    let failure = Mutex<String?>(nil)
    func fail(_ text: String) { failure.withLock { $0 = text } }
}

func check<H: Held>(
    _ number: Int, _ name: String, _ type: H.Type, _ uses: Uses, now: ((H, Tally) throws -> Void)? = nil,
    later: @escaping (H, Tally) async throws -> Void = { _, _ in }
) {
    if number < first || number > last || failures >= mostFailures { return }
    put("begin \(number) \(name)\n")
    let tally = Tally()
    var wrong = run(type, tally, later, now: now)
    let limit = wrong == nil ? patience : .milliseconds(50)
    let isRight = comes(within: limit) {
        tally.ended.now == tally.counted.now && (uses == .anyNumber || .times(tally.used.now) == expected(uses, tally))
    }
    if !isRight, wrong == nil { wrong = "\(tally.text)" }
    if tally.changed.now > 0 { wrong = "\(tally.text)" }
    if tally.made.now == 0 { wrong = "nothing was made" }
    if let wrong {
        failures += 1
        put("wrong \(number) \(name): \(wrong)\n")
    }
}

private func expected(_ uses: Uses, _ tally: Tally) -> Uses {
    if case .times(let times) = uses { return .times(times * tally.made.now) }
    return uses
}

func put(_ text: String) {
    var text = text
    text.withUTF8 { _ = write(1, $0.baseAddress!, $0.count) }
}
