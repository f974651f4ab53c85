import Glibc
import Testing

@testable import SwiftSync

/// The state machines of the ordered queues, as values: no lock, no task, no thread.
@Suite
struct OrderedQueueStateTests {
    typealias Intake = OrderedIntake<Int>

    // MARK: - The intake

    private func work(_ entry: Intake.Entry?) -> Int? {
        switch entry {
        case .work(let number): number
        case .sender(let sender): sender.isGranted ? sender.takeWork() : nil
        default: nil
        }
    }

    /// Everything that a consumer finds, in order, and the senders that were to be resumed meanwhile.
    private func takeAll(_ intake: inout Intake) -> [Int] {
        var ready = Intake.Entries(), all = [Int]()
        ready.supply(.init())
        while true {
            _ = intake.refill(&ready)
            if ready.isEmpty { return all }
            while let entry = ready.popFirst() {
                if let number = work(entry) { all.append(number) }
            }
        }
    }

    private func admit(_ number: Int, to intake: inout Intake) -> Intake.Admission {
        if intake.needsChunk { intake.supply(Intake.Entries.Chunk()) }
        return intake.admit(number)
    }

    private func admit(_ sender: Intake.Sender, to intake: inout Intake) -> Intake.Admission {
        if intake.needsChunk { intake.supply(Intake.Entries.Chunk()) }
        if intake.needsSenderChunk { intake.supply(Intake.Senders.Chunk()) }
        return intake.admit(sender)
    }

    private func isAccepted(_ admission: Intake.Admission) -> Bool {
        if case .accepted = admission { true } else { false }
    }

    private func isRefused(_ admission: Intake.Admission, _ error: OrderedQueueError) -> Bool {
        if case .refused(error) = admission { true } else { false }
    }

    @Test
    func withoutABoundEverythingIsLetInUntilTheShutdown() {
        var intake = Intake(capacity: nil, overflow: .refuse)
        for number in 0..<1000 { #expect(isAccepted(admit(number, to: &intake))) }
        _ = intake.shut()
        #expect(isRefused(admit(1000, to: &intake), .shutDown))
        #expect(takeAll(&intake) == Array(0..<1000))
    }

    @Test
    func aFullIntakeRefusesAndHasRoomAgainOnceWorkBegins() {
        var intake = Intake(capacity: 2, overflow: .refuse), ready = Intake.Entries()
        ready.supply(.init())
        #expect(isAccepted(admit(0, to: &intake)) && isAccepted(admit(1, to: &intake)))
        #expect(isRefused(admit(2, to: &intake), .full))
        #expect(isRefused(admit(Intake.Sender(3), to: &intake), .full))
        _ = intake.refill(&ready)
        #expect(ready.count == 1 && work(ready.popFirst()) == 0)
        #expect(isAccepted(admit(4, to: &intake)))
        #expect(isRefused(admit(5, to: &intake), .full))
        #expect(takeAll(&intake) == [1, 4])
    }

    private func admit(_ kind: OrderedPlace.Kind, to intake: inout Intake) -> Intake.Admission {
        if intake.needsChunk { intake.supply(Intake.Entries.Chunk()) }
        return intake.admit(OrderedPlace(kind))
    }

    @Test
    func placesOfTasksTakeRoomAndWhatCanNotBeRefusedStandsBeyondTheBound() {
        var intake = Intake(capacity: 2, overflow: .refuse), ready = Intake.Entries()
        ready.supply(.init())
        for _ in 0..<3 { #expect(isAccepted(admit(.end, to: &intake))) }
        #expect(isAccepted(admit(.refusable, to: &intake)))
        #expect(isAccepted(admit(0, to: &intake)))
        #expect(isRefused(admit(1, to: &intake), .full))
        #expect(isRefused(admit(.refusable, to: &intake), .full))
        #expect(isRefused(admit(.work, to: &intake), .full))
        for _ in 0..<3 { #expect(isAccepted(admit(.own, to: &intake))) }
        #expect(intake.unbegun == 5)
        for unbegun in [5, 5, 5, 4, 3] {
            _ = intake.refill(&ready)
            _ = ready.popFirst()
            #expect(intake.unbegun == unbegun)
        }
        #expect(isRefused(admit(2, to: &intake), .full), "those beyond the bound come first")
        _ = intake.shut()
        #expect(isRefused(admit(.refusable, to: &intake), .shutDown) && isRefused(admit(.work, to: &intake), .shutDown))
        #expect(isAccepted(admit(.own, to: &intake)) && isAccepted(admit(.end, to: &intake)))
    }

    @Test
    func aPlaceThatWasGivenUpTakesNoRoomAndDoesNotStay() {
        var intake = Intake(capacity: 1, overflow: .refuse)
        for number in 0..<1000 {
            if intake.needsChunk { intake.supply(Intake.Entries.Chunk()) }
            let place = OrderedPlace(.refusable)
            #expect(isAccepted(intake.admit(place)))
            #expect(isRefused(admit(number, to: &intake), .full))
            _ = place.resolve(ETIMEDOUT)
            _ = intake.giveUp(place)
        }
        #expect(intake.count < 40 && intake.unbegun == 0)
        #expect(isAccepted(admit(7, to: &intake)))
        #expect(takeAll(&intake) == [7])
    }

    @Test
    func theRoomOfAPlaceThatWasGivenUpGoesToTheNextSender() {
        var intake = Intake(capacity: 1, overflow: .wait)
        intake.supply(Intake.Entries.Chunk())
        let place = OrderedPlace(.refusable), sender = Intake.Sender(1)
        #expect(isAccepted(intake.admit(place)))
        #expect(isAccepted(admit(sender, to: &intake)) && !sender.isGranted)
        _ = place.resolve(ECANCELED)
        _ = intake.giveUp(place)
        #expect(sender.isGranted && intake.unbegun == 1)
        #expect(takeAll(&intake) == [1])
    }

    /// Those beyond the bound keep its room from a sender that is before them.
    @Test
    func aSenderWhoseTurnHasComeIsLetInThoughThereIsNoRoom() {
        var intake = Intake(capacity: 1, overflow: .wait), ready = Intake.Entries()
        ready.supply(.init())
        let sender = Intake.Sender(1)
        #expect(isAccepted(admit(0, to: &intake)))
        #expect(isAccepted(admit(sender, to: &intake)))
        for _ in 0..<3 { _ = admit(.own, to: &intake) }
        _ = intake.refill(&ready)
        #expect(work(ready.popFirst()) == 0)
        #expect(!sender.isGranted)
        _ = intake.refill(&ready)
        #expect(sender.isGranted && work(ready.popFirst()) == 1)
        #expect(intake.unbegun == 3)
    }

    @Test
    func theOldestIsDroppedOfWhatNobodyWaitsFor() {
        var intake = Intake(capacity: 2, overflow: .dropOldest)
        #expect(isAccepted(admit(.own, to: &intake)) && isAccepted(admit(.refusable, to: &intake)))
        #expect(isAccepted(admit(.refusable, to: &intake)), "they take no room from others' work")
        #expect(isAccepted(admit(.work, to: &intake)) && isAccepted(admit(1, to: &intake)))
        guard case .replaced(.place(let place)) = admit(2, to: &intake) else { return #expect(Bool(false)) }
        #expect(place.kind == .work)
        guard case .replaced(.work(1)) = admit(3, to: &intake) else { return #expect(Bool(false)) }
        #expect(intake.unbegun == 5)
        #expect(takeAll(&intake) == [2, 3])
        #expect(intake.unbegun == 0)
    }

    @Test
    func droppingTheOldestKeepsTheOrderOfTheRestAndItsPlaces() {
        var intake = Intake(capacity: 3, overflow: .dropOldest), dropped = [Int]()
        intake.supply(Intake.Entries.Chunk())
        _ = intake.admit(OrderedPlace(.own))
        for number in 0..<1000 {
            if case .replaced(let entry) = admit(number, to: &intake) { dropped.append(work(entry)!) }
        }
        #expect(dropped == Array(0..<997))
        #expect(intake.count < 10, "what was dropped from among others does not stay")
        #expect(takeAll(&intake) == [997, 998, 999])
    }

    @Test
    func aSenderIsLetInWhenWorkBeginsAndKeepsThePlaceOfItsCall() {
        var intake = Intake(capacity: 1, overflow: .wait), ready = Intake.Entries()
        ready.supply(.init())
        #expect(isAccepted(admit(0, to: &intake)))
        let first = Intake.Sender(1), cancelled = Intake.Sender(2), second = Intake.Sender(3)
        for sender in [first, cancelled, second] { #expect(isAccepted(admit(sender, to: &intake))) }
        #expect(!first.isGranted)
        _ = cancelled.resolve(ECANCELED)
        #expect(isRefused(admit(4, to: &intake), .full))
        _ = intake.refill(&ready)
        #expect(work(ready.popFirst()) == 0)
        #expect(first.isGranted && !second.isGranted)
        _ = intake.refill(&ready)
        #expect(work(ready.popFirst()) == 1)
        #expect(second.isGranted && !cancelled.isGranted)
        #expect(takeAll(&intake) == [3])
    }

    @Test
    func aShutdownReturnsTheSendersThatWait() {
        var intake = Intake(capacity: 1, overflow: .wait)
        _ = admit(0, to: &intake)
        let sender = Intake.Sender(1)
        _ = admit(sender, to: &intake)
        var senders = intake.shut()
        #expect(senders.popFirst() === sender && senders.isEmpty)
        _ = sender.resolve(ESHUTDOWN)
        #expect(takeAll(&intake) == [0])
    }

    // MARK: - FIFO

    private func takeTurn(_ state: inout FIFOQueueState<Int>) -> Bool { state.takeTurnIfFree() }

    private func submit(_ number: Int, to state: inout FIFOQueueState<Int>) -> String {
        if state.intake.needsChunk { state.intake.supply(Intake.Entries.Chunk()) }
        return name(state.submit(number).0)
    }

    @Test
    func theTurnIsTakenOnceAndFreeWhenNothingIsLeft() {
        var state = FIFOQueueState<Int>(), ready = Intake.Entries()
        #expect(submit(0, to: &state) == "sends a pump")
        #expect(submit(1, to: &state) == "queued")
        let place = OrderedPlace(.own)
        #expect(name(state.submit(place).0) == "queued")
        #expect(takeTurn(&state) == false)
        guard case .filled(nil) = state.refill(&ready) else { return #expect(Bool(false)) }
        #expect(work(ready.popFirst()) == 0 && work(ready.popFirst()) == 1)
        #expect(ready.withFirst { $0.isPlace } == true)
        _ = ready.popFirst()
        guard case .turnIsFree = state.refill(&ready) else { return #expect(Bool(false)) }
        #expect(name(state.submit(place).0) == "begins")
        guard case .turnIsFree = state.refill(&ready) else { return #expect(Bool(false)) }
        #expect(takeTurn(&state) == true)
    }

    @Test
    func afterAShutdownOnlyThoseWhoDrainOrCanNotBeRefusedGetATurn() {
        for kind in [OrderedPlace.Kind.own, .end] {
            var state = FIFOQueueState<Int>()
            _ = state.intake.shut()
            #expect(submit(0, to: &state) == "shutDown")
            #expect(takeTurn(&state) == false)
            for refused in [OrderedPlace.Kind.work, .refusable] {
                #expect(name(state.submit(OrderedPlace(refused)).0) == "shutDown")
                #expect(state.reserve(refused) == .shutDown)
            }
            #expect(state.reserve(kind) == nil)
            #expect(name(state.submit(OrderedPlace(kind)).0) == "begins")
            state.intake.supply(Intake.Entries.Chunk())
            #expect(name(state.submit(OrderedPlace(kind)).0) == "queued")
        }
    }

    // MARK: - Actor

    private func name(_ submission: OrderedSubmission) -> String {
        switch submission {
        case .queued: "queued"
        case .sendsPump: "sends a pump"
        case .begins: "begins"
        case .refused(let error): "\(error)"
        }
    }

    private func name(_ take: ActorQueueState<Int>.Take) -> String {
        switch take {
        case .work(let sendsPump, _): sendsPump ? "work, sends a pump" : "work"
        case .place: "place"
        case .nothing(let coming): coming ? "nothing, one is coming" : "nothing"
        case .placeIsOut: "a place is out"
        }
    }

    private func submit(_ number: Int, to state: inout ActorQueueState<Int>) -> String {
        if state.intake.needsChunk { state.intake.supply(Intake.Entries.Chunk()) }
        return name(state.submit(number).0)
    }

    @Test
    func aPumpThatLeavesEntriesBehindSendsAnother() {
        var state = ActorQueueState<Int>(), ready = Intake.Entries()
        #expect(submit(0, to: &state) == "sends a pump")
        #expect(submit(1, to: &state) == "queued")
        #expect(name(state.arrive(&ready)) == "work, sends a pump")
        _ = ready.popFirst()
        // The work has suspended; the second pump comes.
        #expect(name(state.arrive(&ready)) == "work")
        _ = ready.popFirst()
        // Nobody is coming, so who submits sends.
        #expect(submit(2, to: &state) == "sends a pump")
        #expect(name(state.take(&ready)) == "work")
        _ = ready.popFirst()
        #expect(name(state.take(&ready)) == "nothing, one is coming")
        #expect(name(state.arrive(&ready)) == "nothing")
    }

    @Test
    func nothingBeginsWhileAPlaceIsOut() {
        var state = ActorQueueState<Int>(), ready = Intake.Entries()
        #expect(name(state.submit(OrderedPlace(.own)).0) == "begins")
        #expect(submit(0, to: &state) == "queued")
        #expect(name(state.submit(OrderedPlace(.own)).0) == "queued")
        #expect(name(state.take(&ready)) == "a place is out")
        #expect(name(state.placeIsBack(&ready)) == "work, sends a pump")
        #expect(name(state.arrive(&ready)) == "work, sends a pump")
        _ = ready.popFirst()
        #expect(name(state.take(&ready)) == "place")
        _ = ready.popFirst()
        #expect(name(state.take(&ready)) == "a place is out")
        #expect(name(state.arrive(&ready)) == "a place is out")
        #expect(name(state.placeIsBack(&ready)) == "nothing")
        #expect(submit(1, to: &state) == "sends a pump")
    }

    /// A pump that arrives without taking would leave a moment in which nobody comes, with entries left.
    @Test
    func aPlaceThatComesWhileWorkIsReadyDoesNotBeginBeforeIt() {
        var state = ActorQueueState<Int>(), ready = Intake.Entries()
        #expect(submit(0, to: &state) == "sends a pump")
        for number in 1...3 { #expect(submit(number, to: &state) == "queued") }
        #expect(name(state.arrive(&ready)) == "work, sends a pump")
        _ = ready.popFirst()
        state.intake.supply(Intake.Entries.Chunk())
        // The work has suspended; whatever a pump does, a place is behind what is ready.
        for _ in 1...2 {
            #expect(name(state.submit(OrderedPlace(.own)).0) == "queued")
            #expect(name(state.arrive(&ready)) == "work, sends a pump")
            #expect(name(state.submit(OrderedPlace(.own)).0) == "queued")
            _ = ready.popFirst()
        }
        #expect(ready.count == 1)
    }

    /// Pumps that arrive, suspend and go on in every order, places, and submissions: nothing is forgotten, and the
    /// order of begins holds.
    @Test
    func noScheduleForgetsAnEntryOrChangesTheOrder() {
        var random = Seeded(11)
        for _ in 0..<2000 {
            var schedule = ActorQueueSchedule(random: random)
            while !schedule.isOver {
                schedule.step()
                let placesOut = schedule.placesOut
                #expect(placesOut <= 1)
            }
            let begun = schedule.begun, wasRefused = schedule.wasRefused
            #expect(!wasRefused)
            #expect(begun == Array(0..<ActorQueueSchedule.entries))
            random = schedule.random
        }
    }

    // MARK: - Who has begun and not ended

    @Test
    func thoseWhoDrainWaitForWhatBeganBefore() {
        var stretches = OrderedStretches()
        #expect(stretches.waitForEnd() == nil)
        let first = stretches.begin(), second = stretches.begin()
        let drain = stretches.waitForEnd()!
        let later = stretches.begin()
        let last = stretches.waitForEnd()!
        #expect(stretches.end(first).isEmpty)
        #expect(stretches.end(later).isEmpty, "what began before has not ended")
        let done = stretches.end(second)
        #expect(done.count == 2 && done[0] === drain && done[1] === last)
        #expect(stretches.waitForEnd() == nil)
    }

    @Test
    func thoseWhoGaveUpAreForgottenAndTheOthersShareAPeriod() {
        var stretches = OrderedStretches()
        let work = stretches.begin(), drain = stretches.waitForEnd()!
        for _ in 0..<1000 { stretches.waitForEnd()!.resolve(ETIMEDOUT) }
        #expect(stretches.waitingCount < 40)
        let done = stretches.end(work)
        #expect(done.first === drain && stretches.waitingCount == 0)
    }
}
