// What the standard library gets under names that SwiftSync has too: withTaskCancellationShield of SE-0504 (Swift 6.4),
// and withDeadline as SE-0526 proposes it. A call that means one of these gets the warning "it is the standard
// library's".

extension ContinuousClock: @retroactive Identifiable {
    public var id: Int { 0 }
}

extension SuspendingClock: @retroactive Identifiable {
    public var id: Int { 1 }
}

@available(*, deprecated, message: "it is the standard library's")
nonisolated(nonsending) public func withDeadline<Return: ~Copyable, Failure: Error, C: Clock & Identifiable>(
    _ expiration: C.Instant, tolerance: C.Instant.Duration? = nil, clock: C = ContinuousClock(),
    body: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return { try await body() }

@available(*, deprecated, message: "it is the standard library's")
nonisolated(nonsending) public func withDeadline<Return: ~Copyable, Failure: Error, C: Clock & Identifiable>(
    in timeout: C.Instant.Duration, tolerance: C.Instant.Duration? = nil, clock: C = ContinuousClock(),
    body: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return { try await body() }

@available(*, deprecated, message: "it is the standard library's")
nonisolated(nonsending) public func withDeadline<Return: ~Copyable, Failure: Error>(
    in timeout: ContinuousClock.Instant.Duration, tolerance: ContinuousClock.Instant.Duration? = nil,
    body: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return { try await body() }

@available(*, deprecated, message: "it is the standard library's")
public func withTaskCancellationShield<Value, Failure>(
    operation: () throws(Failure) -> Value
) throws(Failure) -> Value { try operation() }

@available(*, deprecated, message: "it is the standard library's")
nonisolated(nonsending) public func withTaskCancellationShield<Value, Failure>(
    operation: nonisolated(nonsending) () async throws(Failure) -> Value
) async throws(Failure) -> Value { try await operation() }
