@testable import SwiftSync

/// One random schedule of an actor queue's state: what other tasks would do to it, a step at a time, on no thread.
struct ActorQueueSchedule: ~Copyable {
    typealias Intake = OrderedIntake<Int>

    /// How many entries are submitted.
    static let entries = 12

    var random: Seeded
    private(set) var begun = [Int]()
    /// How many tasks have a place that is out.
    private(set) var placesOut = 0
    private(set) var wasRefused = false

    private var state = ActorQueueState<Int>(), ready = Intake.Entries(), submitted = 0
    /// Pumps on their way, and pumps in the middle of work.
    private var coming = 0, suspended = 0
    private var isPlaceSent = false, placeNumbers = [Int]()

    init(random: Seeded) { self.random = random }

    var isOver: Bool { submitted == Self.entries && coming + suspended + placesOut == 0 }

    mutating func step() {
        switch Int.random(in: 0..<5, using: &random) {
        case 0 where submitted < Self.entries: submitWork()
        case 1 where submitted < Self.entries: submitPlace()
        case 2 where coming > 0:
            coming -= 1
            pump(hasArrived: true)
        case 3 where suspended > 0:
            suspended -= 1
            pump(hasArrived: false)
        case 4 where placesOut > 0: bringPlaceBack()
        default: break
        }
    }

    private mutating func submitWork() {
        if state.intake.needsChunk { state.intake.supply(Intake.Entries.Chunk()) }
        see(state.submit(submitted).0, place: nil)
        submitted += 1
    }

    private mutating func submitPlace() {
        if state.intake.needsChunk { state.intake.supply(Intake.Entries.Chunk()) }
        placeNumbers.append(submitted)
        see(state.submit(OrderedPlace(.own)).0, place: submitted)
        submitted += 1
    }

    private mutating func see(_ submission: OrderedSubmission, place: Int?) {
        switch submission {
        case .sendsPump: coming += 1
        case .begins:
            placesOut += 1
            placeNumbers.removeAll { $0 == place }
            placeNumbers.insert(place!, at: 0)
        case .queued: break
        case .refused: wasRefused = true
        }
    }

    /// On the actor: begins entries until the pump leaves, or suspends in the middle of work. As in the storage, a pump
    /// that goes on after its work takes what is ready without asking; one that has arrived must not.
    private mutating func pump(hasArrived: Bool) {
        var mustAsk = hasArrived
        while true {
            if !mustAsk, !ready.isEmpty, !isPlaceSent, ready.withFirst({ $0.isPlace }) == false {
                if beginsAndSuspends() { return }
                continue
            }
            let take = mustAsk ? state.arrive(&ready) : state.take(&ready)
            mustAsk = false
            switch take {
            case .work(let sendsPump, _):
                if sendsPump { coming += 1 }
                if beginsAndSuspends() { return }
            case .place:
                sendPlace()
                return
            case .nothing, .placeIsOut: return
            }
        }
    }

    /// Begins the first entry that is ready; whether it suspends.
    private mutating func beginsAndSuspends() -> Bool {
        guard case .work(let number)? = ready.popFirst() else { preconditionFailure("a place is no work") }
        begun.append(number)
        let suspends = Bool.random(using: &random)
        if suspends { suspended += 1 }
        return suspends
    }

    private mutating func sendPlace() {
        _ = ready.popFirst()
        placesOut += 1
        isPlaceSent = true
    }

    private mutating func bringPlaceBack() {
        placesOut -= 1
        isPlaceSent = false
        begun.append(placeNumbers.removeFirst())
        switch state.placeIsBack(&ready) {
        case .work(let sendsPump, _): if sendsPump { coming += 1 }
        case .place: sendPlace()
        case .nothing, .placeIsOut: break
        }
    }
}
