/// Why something that watches the program was not started, or its result not written.
public enum ObservationError: String, SyncError, CaseIterable {
    /// A threshold or limit is zero or less.
    case limitNotPositive = "other"
    /// There is no memory, or no thread.
    case outOfResources
}
