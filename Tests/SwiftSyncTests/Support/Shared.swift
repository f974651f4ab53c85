import Glibc

/// A value that tests share between threads, behind a pthread mutex: nothing of what is being tested.
final class Shared<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var stored: Value

    init(_ value: sending Value) {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        stored = value
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    var value: Value { access { $0 } }

    @discardableResult
    func access<R>(_ body: (inout Value) throws -> R) rethrows -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&stored)
    }
}

extension Shared where Value == Int {
    convenience init() { self.init(0) }

    func increment() { access { $0 += 1 } }
}

// Copies are made behind the lock. An array that is only retained there is read outside, and who releases it tells the
// next writer by a reference count, of which ThreadSanitizer knows nothing.

extension Shared where Value: RangeReplaceableCollection {
    var value: Value { access { $0.filter { _ in true } } }
    func append(_ element: Value.Element) where Value.Element: Sendable { access { $0.append(element) } }
}

/// Counts how many of its kind are alive.
final class Tracked: @unchecked Sendable {
    let number: Int
    private let alive: Shared<Int>

    init(_ alive: Shared<Int>, number: Int = 0) {
        self.number = number
        self.alive = alive
        alive.increment()
    }

    deinit { alive.access { $0 -= 1 } }
}
