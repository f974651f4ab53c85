import Testing

extension Trait where Self == TimeLimitTrait {
    /// Ends a test that hangs. All tests of a run share the threads of a machine that may be busy with other things, so
    /// a test that does not hang may take a hundred times as long as it does alone.
    static var endsInTime: Self { .timeLimit(.minutes(15)) }
}
