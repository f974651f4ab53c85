import CBenchSupport
import Dispatch
import SwiftSync

/// Async commands of a value beside the blocks of a serial queue that guards a variable. The same queue performs both.
struct Commands {
    let results: Results
    let rounds: Int
    private let times = 100_000

    private final class Counter: @unchecked Sendable {
        var number = 0
    }

    /// What is submitted: one addition; one and then, off the section, `next`; one and then `next` inside the section.
    private struct Peer: Sendable {
        let name: String
        let submit: @Sendable () -> Void
        let submitThen: @Sendable (_ next: @escaping @Sendable () -> Void) -> Void
        let submitWith: @Sendable (_ next: @escaping @Sendable () -> Void) -> Void
    }

    func run() {
        let queue = DispatchQueue(label: "commands"), counter = Counter(), value = QueueSafeValue(value: 0)
        let peers = [
            Peer(name: "DispatchQueue.async") {
                queue.async { counter.number &+= 1 }
            } submitThen: { next in
                queue.async {
                    counter.number &+= 1
                    next()
                }
            } submitWith: { next in
                queue.async {
                    counter.number &+= 1
                    next()
                }
            },
            Peer(name: "QueueSafeValue.async.set") {
                value.async(performIn: queue).priority(.normal).set { $0 &+= 1 }
            } submitThen: { next in
                value.async(performIn: queue).priority(.normal).set {
                    $0 &+= 1
                } completion: { _ in
                    next()
                }
            } submitWith: { next in
                value.async(performIn: queue).priority(.normal).set {
                    $0 &+= 1
                    next()
                }
            },
        ]
        measure("QueueSafeValue.async, all at once", peers) { peer, times in
            let done = DispatchSemaphore(value: 0)
            for _ in 1..<times { peer.submit() }
            peer.submitThen { done.signal() }
            done.wait()
        }
        for waiting in [1, 16, 64] {
            measure("QueueSafeValue.async, \(waiting) at a time", peers) { peer, times in
                chains(waiting, times / waiting, peer)
            }
        }
    }

    /// So many commands are under way at any time: each submits the next one of its chain when it has ended.
    private func chains(_ count: Int, _ length: Int, _ peer: Peer) {
        let done = DispatchSemaphore(value: 0)
        final class Chain: Sendable {
            let next: @Sendable (@escaping @Sendable () -> Void) -> Void, done: DispatchSemaphore
            nonisolated(unsafe) var left: Int
            init(_ peer: Peer, isAlone: Bool, _ done: DispatchSemaphore, _ left: Int) {
                (next, self.done, self.left) = (isAlone ? peer.submitThen : peer.submitWith, done, left)
            }
            func goOn() {
                left -= 1
                if left < 0 { done.signal() } else { next { self.goOn() } }
            }
        }
        for _ in 0..<count { Chain(peer, isAlone: count == 1, done, length).goOn() }
        for _ in 0..<count { done.wait() }
    }

    private func measure(_ group: String, _ peers: [Peer], _ loop: @escaping (Peer, Int) -> Void) {
        var rows = Rows(peers.map(\.name)), allocations = Rows(peers.map(\.name))
        note("\(group) ")
        inRounds(
            rounds,
            peers.map { peer in
                Turn(subject: peer.name) {
                    loop(peer, 4000)
                    let allocated = bench_allocations(), begin = bench_now_ns()
                    loop(peer, times)
                    rows.add(peer.name, Double(bench_now_ns() - begin) / Double(times))
                    let each = Double(bench_allocations() - allocated) / Double(times)
                    allocations.add(peer.name, (each * 10).rounded() / 10)
                }
            })
        note("\n")
        results.print(group, "ns", baseline: peers[0].name, rows.values)
        results.print(group, "allocations", baseline: "", allocations.values)
    }
}
