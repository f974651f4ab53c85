import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A repeated attempt of a thread to update a ``SnapshotDictionary``, made because the key was written during its last
/// attempt.
///
/// An update whose body writes the same key would run for ever: each attempt finds that the key was written meanwhile.
/// Detecting that costs the first attempt nothing. For each further attempt a thread links such an object into its own
/// list, and every write of a key checks the list of its thread. It finds the key there only if the body of this
/// thread's update writes it. If another thread wrote the key, the check finds nothing, and the attempt is like the
/// first. While no thread is in a repeated attempt, the check costs a write one load.
///
/// The attempt's own write is no call of the dictionary, and checks nothing.
@usableFromInline
@safe
class AnyRepeatedUpdate {
    /// The number of such attempts in the process, or in the parent at a fork.
    private static let count = Atomic(0)

    /// The thread's key for the innermost one. Its value is not retained: the object is alive until ``end()``. If the
    /// process has no key left, nothing is detected.
    private static let slot: pthread_key_t? = {
        var key = pthread_key_t()
        return unsafe pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    @safe private let outer: Unmanaged<AnyRepeatedUpdate>?

    /// Whether any thread may be in a repeated update. Relaxed: a thread sees its own updates, and needs no others.
    @usableFromInline
    static var mayExist: Bool { count.load(ordering: .relaxed) != 0 }

    @usableFromInline
    init() {
        outer = unsafe Self.innermost
        Self.count.add(1, ordering: .relaxed)
        unsafe Self.innermost = .passUnretained(self)
    }

    /// The attempt has ended, on the thread that began it. Attempts end in the reverse order of their beginnings.
    @usableFromInline
    final func end() {
        unsafe Self.innermost = outer
        Self.count.subtract(1, ordering: .relaxed)
    }

    private static var innermost: Unmanaged<AnyRepeatedUpdate>? {
        get {
            guard let slot, let object = unsafe pthread_getspecific(slot) else { return nil }
            return unsafe .fromOpaque(object)
        }
        set { if let slot { unsafe pthread_setspecific(slot, newValue?.toOpaque()) } }
    }

    static func ofThread(contains isWanted: (AnyRepeatedUpdate) -> Bool) -> Bool {
        var next = unsafe innermost
        while let update = unsafe next?.takeUnretainedValue() {
            if isWanted(update) { return true }
            unsafe next = update.outer
        }
        return false
    }
}

@usableFromInline
final class RepeatedUpdate<Key: Hashable>: AnyRepeatedUpdate {
    private let key: Key
    private let box: AnyDictionaryBox

    @usableFromInline
    init(of key: Key, in box: AnyDictionaryBox) {
        self.key = key
        self.box = box
        super.init()
    }

    func isOf(_ other: Key, in box: AnyDictionaryBox) -> Bool { self.box === box && key == other }
}
