import SwiftSync
import XCTest

private var printed: [String] = []
private let printing = NSLock()

private func println(_ text: String) {
    printing.lock()
    printed.append(text)
    printing.unlock()
}

/// What the samples change on the main thread.
private final class View {
    var hidden = false
    var alpha = 0.5
}

@MainActor private final class Window {
    var rootViewController: AnyObject?
}

/// Code as users of CleanroomConcurrency wrote it, in language mode 5.
final class GlobalFunctionsLegacyTests: XCTestCase {
    private func waitForPrinted(_ count: Int) -> [String] {
        let condition = XCTNSPredicateExpectation(predicate: NSPredicate { _, _ in
            printing.lock()
            defer { printing.unlock() }
            return printed.count >= count
        }, object: nil)
        wait(for: [condition], timeout: 10)
        printing.lock()
        defer { printing.unlock() }
        return printed
    }

    override func setUp() {
        printed = []
    }

    func testAsyncAndABarrier() {
        async {
            println("This will execute asynchronously")
        }
        asyncBarrier {
            println("When this executes, no other operations will be executing")
        }
        async {
            println("After it")
        }
        XCTAssertEqual(
            waitForPrinted(3),
            ["This will execute asynchronously", "When this executes, no other operations will be executing", "After it"])
    }

    func testAsyncWithDelay() {
        let start = DispatchTime.now().uptimeNanoseconds
        let done = expectation(description: "done")
        async(delay: 0.35) {
            XCTAssertGreaterThanOrEqual(DispatchTime.now().uptimeNanoseconds - start, 350_000_000)
            println("This will execute asynchronously after at least 0.35 seconds")
            done.fulfill()
        }
        wait(for: [done], timeout: 10)
    }

    func testMainThread() {
        let view = View(), done = expectation(description: "done")
        let window = MainActor.assumeIsolated { Window() }
        let start = DispatchTime.now().uptimeNanoseconds
        mainThread(delay: 0.35) {
            XCTAssertTrue(Thread.isMainThread)
            XCTAssertGreaterThanOrEqual(DispatchTime.now().uptimeNanoseconds - start, 350_000_000)
            view.hidden = true
            view.alpha = 1.0
            done.fulfill()
        }
        async {
            mainThread {
                XCTAssertTrue(Thread.isMainThread)
                window.rootViewController = self
            }
        }
        wait(for: [done], timeout: 10)
        XCTAssertTrue(view.hidden && view.alpha == 1.0)
        XCTAssertTrue(MainActor.assumeIsolated { window.rootViewController } === self)
    }
}
