/// An object that knows its position in one list.
protocol ResourceListed: AnyObject {
    var position: Int { get set }
}

/// Objects in no order, each at its position, so that each step costs O(1). The pool's lock guards it.
struct ResourceList<Member: ResourceListed> {
    private(set) var members: [Member] = []

    var count: Int { members.count }

    mutating func append(_ member: Member) {
        member.position = members.count
        members.append(member)
    }

    /// The last takes the position of the one that is removed.
    mutating func remove(_ member: Member) {
        let last = members.removeLast()
        if last === member { return }
        members[member.position] = last
        last.position = member.position
    }
}
