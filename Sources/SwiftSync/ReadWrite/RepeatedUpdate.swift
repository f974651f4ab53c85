#if RCU
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// What a thread updates in a ``SnapshotDictionary`` for the second time or more, since the key was written during its
/// last attempt.
///
/// An update whose body writes the same key would run for ever: each attempt finds that the key was written meanwhile.
/// To notice that costs the first attempt nothing. A thread whose first attempt fails links such an object into a list
/// of its own for each further one, and whatever writes a key looks at that list. It finds the key there only if the
/// body of its own thread's update writes it. Where another thread wrote it, nobody finds anything, and the attempt is
/// like the first. All that a write costs while no thread is in a repeated attempt is one load.
///
/// The attempt's own write is no call of the dictionary's, and looks for nothing.
@usableFromInline
@safe
class AnyRepeatedUpdate {
    /// How many there are in the process, or were in the parent at a fork.
    private static let count = Atomic(0)

    /// The thread's key for the innermost one. Its value is not retained: the object is alive until ``end()``. Where
    /// the process has no key left, nothing is noticed.
    private static let slot: pthread_key_t? = {
        var key = pthread_key_t()
        return unsafe pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    @safe private let outer: Unmanaged<AnyRepeatedUpdate>?

    /// Whether some thread may be in a repeated update. A thread sees its own ones, and needs no others: relaxed.
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
#endif
