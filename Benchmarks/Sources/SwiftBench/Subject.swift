/// Something that protects an integer.
protocol Subject: Sendable {
    static var name: String { get }
    init()
    /// `times` protected increments, each as a user would write it. The loop is the subject's own, so that nothing
    /// stands between it and what is measured.
    func increments(_ times: Int)
    /// A section of `turns` of work inside.
    func section(_ turns: Int)
    /// The same, ahead of others where the subject knows priorities; returns when it was entered.
    func urgentSection(_ turns: Int) -> Int64
}
