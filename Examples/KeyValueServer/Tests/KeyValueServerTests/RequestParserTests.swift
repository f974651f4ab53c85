import XCTest

@testable import KeyValueServer

final class RequestParserTests: XCTestCase {
    private func parse(_ pieces: [[UInt8]], limits: RequestLimits = RequestLimits()) throws -> [Request] {
        var parser = RequestParser(limits: limits)
        var requests: [Request] = []
        for piece in pieces {
            var offset = 0
            try piece.withUnsafeBytes { bytes in
                while let request = try parser.next(in: bytes, from: &offset) { requests.append(request) }
            }
            XCTAssertEqual(offset, piece.count)
        }
        return requests
    }

    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private func words(_ words: String...) -> Request { words.map { Array($0.utf8) } }

    func testEverySplitPointGivesTheSameRequests() throws {
        let input = bytes(
            "*2\r\n$3\r\nGET\r\n$1\r\na\r\nPING\r\n\r\n*0\r\n*-1\r\n*3\r\n$3\r\nSET\r\n$0\r\n\r\n$6\r\na\r\nb\n*\r\n"
                + "ECHO \"a\\x41\\n\" 'it\\'s'\n*1\r\n$4\r\nPING\r\n")
        let expected = [
            words("GET", "a"), words("PING"), words("SET", "", "a\r\nb\n*"), words("ECHO", "aA\n", "it's"),
            words("PING"),
        ]
        XCTAssertEqual(try parse([input]), expected)
        XCTAssertEqual(try parse(input.map { [$0] }), expected)
        for first in 0...input.count {
            XCTAssertEqual(try parse([Array(input[..<first]), Array(input[first...])]), expected, "split at \(first)")
        }
    }

    func testEveryKindOfMalformedInputIsNamedWhereverItIsSplit() throws {
        var limits = RequestLimits()
        limits.lineLength = 32
        limits.requestLength = 1000
        limits.bulkLength = 600
        let long = String(repeating: "1", count: 40)
        let cases: [(String, ProtocolError)] = [
            ("*x\r\n", .invalidMultibulkLength), ("*\r\n", .invalidMultibulkLength),
            ("*+1\r\n", .invalidMultibulkLength),
            ("*01\r\n", .invalidMultibulkLength), ("*1048577\r\n", .invalidMultibulkLength),
            ("*99999999999999999999\r\n", .invalidMultibulkLength),
            ("*1\r\n:4\r\n", .expectedDollar(got: UInt8(ascii: ":"))),
            ("*1\r\n\r\n", .expectedDollar(got: UInt8(ascii: "\r"))),
            ("*1\r\n$x\r\n", .invalidBulkLength), ("*1\r\n$-1\r\n", .invalidBulkLength),
            ("*1\r\n$04\r\n", .invalidBulkLength), ("*1\r\n$601\r\n", .invalidBulkLength),
            ("*1\r\n$\r\n", .invalidBulkLength),
            ("*2\r\n$500\r\n" + String(repeating: "a", count: 500) + "\r\n$501\r\n", .requestTooLong),
            (long, .tooBigInlineRequest), ("*" + long, .tooBigCountString), ("*1\r\n$" + long, .tooBigBulkCountString),
            ("ECHO 'a\r\n", .unbalancedQuotes), ("ECHO \"a\"b\r\n", .unbalancedQuotes),
        ]
        for (input, expected) in cases {
            let input = bytes(input)
            for first in 0...input.count {
                XCTAssertThrowsError(try parse([Array(input[..<first]), Array(input[first...])], limits: limits)) {
                    error in
                    XCTAssertEqual(error as? ProtocolError, expected)
                }
            }
        }
    }

    func testLengthsAtTheirLimitsAreTaken() throws {
        var limits = RequestLimits()
        limits.bulkLength = 4
        limits.argumentCount = 2
        XCTAssertEqual(try parse([bytes("*2\r\n$4\r\nECHO\r\n$1\r\na\r\n")], limits: limits), [words("ECHO", "a")])
    }

    func testIntegersAreReadStrictly() {
        let good: [(String, Int)] = [
            ("0", 0), ("-1", -1), ("42", 42), ("9223372036854775807", .max), ("-9223372036854775808", .min),
        ]
        for (text, value) in good {
            XCTAssertEqual(Decimal.parse(bytes(text)), value)
            XCTAssertEqual(Decimal.text(value), bytes(text))
        }
        for text in ["", "-", "-0", "01", "+1", " 1", "1 ", "9223372036854775808", "-9223372036854775809", "1a"] {
            XCTAssertNil(Decimal.parse(bytes(text)), text)
        }
    }
}
