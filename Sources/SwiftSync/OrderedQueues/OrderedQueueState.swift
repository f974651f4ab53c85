import CSyncKernel

/// The common part of the states of ``FIFOQueue`` and ``ActorQueue``: the intake, the submitter's steps, and the
/// requirements of the queue's box. Each state adds the party that serves the entries, and the order.
protocol OrderedQueueState<Work>: ~Copyable {
    associatedtype Work
    typealias Intake = OrderedIntake<Work>

    /// The kind of the queue, for views.
    static var toldKind: Int { get }

    var intake: Intake { get set }

    /// An entry was accepted: a pump or task has to come to it.
    mutating func seeToEntry() -> OrderedSubmission
    /// Submits a place. A place with nothing before it begins at once and leaves no entry.
    mutating func submit(_ place: OrderedPlace) -> (OrderedSubmission, dropped: Intake.Entry?)
}

/// The action that the submitter has to take.
enum OrderedSubmission {
    /// Nothing: a pump or task will come to the entry.
    case queued
    /// It has to send a pump, which will come to the entry.
    case sendsPump
    /// The place that it has submitted is granted, or the job begins. There is no entry.
    case begins
    case refused(OrderedQueueError)
}

extension OrderedQueueState where Self: ~Copyable {
    mutating func submit(_ work: Work) -> (OrderedSubmission, dropped: Intake.Entry?) { follow(intake.admit(work)) }

    /// (A sender is a place too, so this method needs a name of its own.)
    mutating func submit(sender: Intake.Sender) -> (OrderedSubmission, dropped: Intake.Entry?) {
        follow(intake.admit(sender))
    }

    mutating func follow(_ admission: Intake.Admission) -> (OrderedSubmission, dropped: Intake.Entry?) {
        switch admission {
        case .accepted: (seeToEntry(), nil)
        case .replaced(let entry): (seeToEntry(), entry)
        case .refused(let error): (.refused(error), nil)
        }
    }
}
