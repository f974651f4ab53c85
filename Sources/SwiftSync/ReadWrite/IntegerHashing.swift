/// A hash for keys that are integers, several times faster than `Hasher`.
///
/// Two random numbers, different for each dictionary, make it hard to find keys that share slots, as the seed of
/// `Hasher` does. An attacker that measures many lookups could learn more than with `Hasher`. The two halves of a
/// product are combined as in Wang Yi's wyhash.
@usableFromInline
@frozen
struct IntegerHashing {
    @usableFromInline let mask = UInt64.random(in: 0...UInt64.max)
    @usableFromInline let factor = UInt64.random(in: 0...UInt64.max) | 1

    @usableFromInline
    init() {}

    /// Returns nil if the key is of another type. That is known when the code is specialized.
    @inlinable
    @inline(__always)
    func hash<Key>(_ key: Key) -> UInt64? {
        if Key.self == Int.self { return unsafe hash(UInt64(bitPattern: Int64(unsafeBitCast(key, to: Int.self)))) }
        if Key.self == UInt.self { return unsafe hash(UInt64(unsafeBitCast(key, to: UInt.self))) }
        if Key.self == Int64.self { return unsafe hash(UInt64(bitPattern: unsafeBitCast(key, to: Int64.self))) }
        if Key.self == UInt64.self { return unsafe hash(unsafeBitCast(key, to: UInt64.self)) }
        if Key.self == Int32.self { return unsafe hash(UInt64(UInt32(bitPattern: unsafeBitCast(key, to: Int32.self)))) }
        if Key.self == UInt32.self { return unsafe hash(UInt64(unsafeBitCast(key, to: UInt32.self))) }
        return nil
    }

    @inlinable
    @inline(__always)
    func hash(_ number: UInt64) -> UInt64 {
        let product = (number ^ mask).multipliedFullWidth(by: factor)
        return product.high ^ product.low
    }
}
