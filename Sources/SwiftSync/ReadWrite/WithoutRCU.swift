#if !RCU
/// It needs the package trait `RCU`, which is on unless a package depends on this one with `traits: []`.
@available(*, unavailable, message: "Snapshot needs liburcu: build SwiftSync with its trait RCU")
public struct Snapshot<Value: ~Copyable & Sendable>: Sendable {
    public init(_ value: consuming Value) {}
}

/// It needs the package trait `RCU`, which is on unless a package depends on this one with `traits: []`.
@available(*, unavailable, message: "SnapshotDictionary needs liburcu: build SwiftSync with its trait RCU")
public struct SnapshotDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    public init() {}
    public init(_ contents: [Key: Value]) {}
}
#endif
