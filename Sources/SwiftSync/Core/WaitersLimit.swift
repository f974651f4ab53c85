/// The number of waiters that are admitted.
enum WaitersLimit {
    /// The kernel's encoding of the limit, in which 0 is any number. It returns nil for a number below 1.
    static func ofKernel(_ limit: Int?) -> UInt32? {
        guard let limit else { return 0 }
        return limit < 1 ? nil : UInt32(exactly: limit) ?? 0
    }
}
