import Foundation
import SwiftSync
import XCTest

// The samples were written when Foundation's types had their longer names; what follows gives these back, and no more.
private typealias NSDateFormatter = DateFormatter
private typealias NSLocale = Locale
private typealias NSTimeZone = TimeZone
extension Locale {
    fileprivate init(localeIdentifier: String) { self.init(identifier: localeIdentifier) }
}
extension TimeZone {
    fileprivate init?(forSecondsFromGMT seconds: Int) { self.init(secondsFromGMT: seconds) }
}

/// Code as users of CleanroomConcurrency wrote it, in language mode 5.
final class ThreadLocalValueLegacyTests: XCTestCase {
    /// Runs `body` on a new thread and waits for it.
    private func onNewThread(_ name: String = "", _ body: @escaping () -> Void) {
        let done = expectation(description: "done")
        let thread = Thread {
            Thread.current.threadDictionary["name"] = name  // Not its `name`: Foundation can't set that before `start` has returned.
            body()
            done.fulfill()
        }
        thread.start()
        wait(for: [done], timeout: 10)
    }

    func testNamespacesPreventClashes() {
        onNewThread {
            let loggerDateFormatter = ThreadLocalValue<NSDateFormatter>(namespace: "Logger", key: "dateFormatter")

            let saleDateFormatter = ThreadLocalValue<NSDateFormatter>(namespace: "SaleViewModel", key: "dateFormatter")

            XCTAssertEqual(loggerDateFormatter.fullKey, "Logger.dateFormatter")
            XCTAssertEqual(saleDateFormatter.fullKey, "SaleViewModel.dateFormatter")
            XCTAssertEqual(saleDateFormatter.namespace, "SaleViewModel")
            XCTAssertEqual(saleDateFormatter.key, "dateFormatter")
            let ofLogger = NSDateFormatter(), ofSale = NSDateFormatter()
            loggerDateFormatter.setValue(ofLogger)
            XCTAssertNil(saleDateFormatter.value())
            saleDateFormatter.setValue(ofSale)
            XCTAssertTrue(loggerDateFormatter.value() === ofLogger)
            XCTAssertTrue(saleDateFormatter.value() === ofSale)
        }
    }

    func testThreadLocalStorageAsACache() {
        let df = ThreadLocalValue<NSDateFormatter>(namespace: "Events", key: "dateFormatter") { _ in
        	let fmt = NSDateFormatter()
        	fmt.locale = NSLocale(localeIdentifier: "en_US")
        	fmt.timeZone = NSTimeZone(forSecondsFromGMT: 0)
        	fmt.dateFormat = "yyyyMMdd_HHmmss"
        	return fmt
        }

        let formatters = NSMutableSet()
        for _ in 0..<3 {
            onNewThread {
                XCTAssertNil(df.cachedValue())
                let formatter = df.value()
                XCTAssertEqual(formatter?.string(from: Date(timeIntervalSince1970: 0)), "19700101_000000")
                XCTAssertTrue(df.value() === formatter)
                XCTAssertTrue(df.cachedValue() === formatter)
                XCTAssertTrue(ThreadLocalValue<NSDateFormatter>(key: "Events.dateFormatter").value() === formatter)
                let other = NSDateFormatter()
                df.setValue(other)
                XCTAssertTrue(df.value() === other)
                formatters.add(formatter as Any)
            }
        }
        XCTAssertEqual(formatters.count, 3)
    }

    func testAKeyWithoutANamespace() {
        onNewThread {
            let tlv1 = ThreadLocalValue<NSString>(key: "key")
            let tlv2 = ThreadLocalValue<NSString>(key: "key")
            XCTAssertNil(tlv1.namespace)
            XCTAssertEqual(tlv1.fullKey, "key")
            tlv1.set("foo")
            XCTAssertEqual(tlv2.cachedValue(), "foo")
            XCTAssertNil(ThreadLocalValue<NSNumber>(key: "key").value())
        }
    }

    func testAnInstantiatorPerThread() {
        for number in 0..<20 {
            onNewThread("thread \(number)") {
                let tlv = ThreadLocalValue<String>(key: "threadName") { _ in
                    return Thread.current.threadDictionary["name"] as? String
                }
                XCTAssertEqual(tlv.value(), "thread \(number)")
            }
        }
    }
}
