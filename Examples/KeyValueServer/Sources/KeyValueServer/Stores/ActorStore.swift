/// A shard inside an actor. Callers suspend instead of blocking, and the actor takes the priority of their tasks.
actor ActorStore {
    private var shard: Shard

    init(_ shard: Shard) { self.shard = shard }

    func withShard<R: Sendable>(_ body: @Sendable (inout Shard) -> R) -> R {
        body(&shard)
    }
}
