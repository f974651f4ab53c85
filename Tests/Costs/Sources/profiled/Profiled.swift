import Dispatch
import SwiftSync

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A program as releases are built: the first function of its own in the stack of each wait is the one that waits,
/// although the library's functions in between were inlined or not. `scripts/costs` runs it.
struct Place: Sendable {
    let function: String
    let visit: @Sendable () -> Void
}

let mutex = PriorityMutex(0), section = CriticalSection(), semaphore = PrioritySemaphore(value: 1)
let lock = ReadWriteLock(0), value = QueueSafeValue(value: 0)
let coordinator = ReadWriteCoordinator()

/// Each adds after its section, so that the end of the section isn't the last step, which would be a jump.
let visits = PriorityMutex(0)
@inline(never) func count() { visits.withLock { $0 += 1 } }
@inline(never) func hold() { usleep(1000) }

@inline(never) func placeOfMutex() {
    mutex.withLock { _ in hold() }
    count()
}
@inline(never) func placeOfSection() {
    section.execute { hold() }
    count()
}
@inline(never) func placeOfSemaphore() {
    do { try semaphore.blockingWithPermit { hold() } } catch { fatalError("\(error)") }
    count()
}
@inline(never) func placeOfWriter() {
    lock.withWriteLock { _ in hold() }
    count()
}
@inline(never) func placeOfReader() {
    lock.withReadLock { _ in hold() }
    count()
}
@inline(never) func placeOfValue() {
    _ = value.wait.lowestPriority.set { _ in hold() }
    count()
}
@inline(never) func placeOfCoordinator() {
    coordinator.blockingWrite { hold() }
    count()
}

let places = [
    Place(function: "placeOfMutex", visit: placeOfMutex), Place(function: "placeOfSection", visit: placeOfSection),
    Place(function: "placeOfSemaphore", visit: placeOfSemaphore),
    Place(function: "placeOfWriter", visit: placeOfWriter),
    Place(
        function: "placeOfReader",
        visit: {
            placeOfReader()
            placeOfWriter()
        }),
    Place(function: "placeOfValue", visit: placeOfValue),
    Place(function: "placeOfCoordinator", visit: placeOfCoordinator),
]

/// The innermost function of this program in a folded stack.
func firstOwn(in stack: Substring) -> Substring? {
    stack.split(separator: ";").last { $0.contains("profiled.") }
}

/// Returns how many different stacks waited at that place, and ends the program at one of no place.
func check(_ place: Place) throws -> Int {
    let before = ContentionProfile.current()
    DispatchQueue.concurrentPerform(iterations: 3) { _ in for _ in 0..<20 { place.visit() } }
    let lines = try ContentionProfile.current().since(before).foldedStacks(.waiting).split(separator: "\n")
    var found = 0
    for line in lines {
        guard let own = firstOwn(in: line), own.contains("profiled.place") || own.contains("profiled.count") else {
            print("profiled: \(place.function): the first function of the program is wrong in: \(line)")
            exit(1)
        }
        if own.contains("profiled.\(place.function)()") { found += 1 }
    }
    return found
}

@main
enum Profiled {
    static func main() throws {
        try ContentionProfile.start(threshold: .microseconds(1))
        for place in places where try check(place) == 0 {
            print("profiled: no wait has \(place.function) as the first function of the program")
            exit(1)
        }
        print("profiled: the first function of each wait is right at \(places.count) places")
    }
}
