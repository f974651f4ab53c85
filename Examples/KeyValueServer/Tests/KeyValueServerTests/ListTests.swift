import XCTest

@testable import KeyValueServer

/// Lists, `SORT` and `CLIENT PRIORITY` over every store, byte for byte. The replies are those of Redis 7.0.
final class ListTests: XCTestCase {
    private func withServers(_ body: (Server, Client) throws -> Void) throws {
        for store in StoreKind.allCases {
            var options = ServerOptions()
            options.port = 0
            options.threads = 2
            options.store = store
            options.log = { _ in }
            let server = try Server.start(options)
            defer { server.stop() }
            try body(server, Client(port: server.port))
        }
    }

    private func bulk(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }
    private func array(_ texts: String...) -> String { "*\(texts.count)\r\n" + texts.map(bulk).joined() }
    private let wrongType = "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"

    private func converse(_ client: Client, _ dialogue: [(String, String)]) {
        for (request, reply) in dialogue { client.expect(request + "\r\n", reply) }
    }

    func testListsGrowAndShrinkAtBothEnds() throws {
        try withServers { _, client in
            converse(
                client,
                [
                    ("RPUSH l a b c", ":3\r\n"), ("LPUSH l x y", ":5\r\n"), ("LLEN l", ":5\r\n"),
                    ("TYPE l", "+list\r\n"),
                    ("LRANGE l 0 -1", array("y", "x", "a", "b", "c")), ("LRANGE l 1 2", array("x", "a")),
                    ("LRANGE l -2 -1", array("b", "c")), ("LRANGE l -100 100", array("y", "x", "a", "b", "c")),
                    ("LRANGE l 3 2", "*0\r\n"), ("LRANGE l 5 9", "*0\r\n"), ("LRANGE no 0 -1", "*0\r\n"),
                    ("LRANGE no 0 1", "*0\r\n"), ("LRANGE l x 1", "-ERR value is not an integer or out of range\r\n"),
                    ("LPOP l", bulk("y")), ("RPOP l", bulk("c")), ("RPOP l 2", array("b", "a")), ("LPOP l 0", "*0\r\n"),
                    ("LPOP l -1", "-ERR value is out of range, must be positive\r\n"),
                    ("LPOP l x", "-ERR value is out of range, must be positive\r\n"),
                    ("EXPIRE l 100", ":1\r\n"), ("RPUSH l z", ":2\r\n"), ("TTL l", ":100\r\n"),
                    ("LPOP l 9", array("x", "z")),
                    // With its last element, the key is gone, and so is its deadline.
                    ("EXISTS l", ":0\r\n"), ("TYPE l", "+none\r\n"), ("LPOP l", "$-1\r\n"), ("LPOP l 1", "*-1\r\n"),
                    ("LLEN l", ":0\r\n"), ("RPUSH l 1", ":1\r\n"), ("TTL l", ":-1\r\n"), ("DEL l", ":1\r\n"),
                ])
        }
    }

    func testValuesOfTheWrongTypeAreLeftAlone() throws {
        try withServers { _, client in
            converse(client, [("SET s 1", "+OK\r\n"), ("RPUSH l 1 2", ":2\r\n")])
            for request in [
                "LPUSH s a", "RPUSH s a", "LPOP s", "RPOP s 1", "LRANGE s 0 -1", "LRANGE s 0 1", "LLEN s", "SORT s",
                "GET l", "GETSET l a", "SET l a GET", "INCR l", "APPEND l a", "STRLEN l",
            ] {
                client.expect(request + "\r\n", wrongType)
            }
            converse(
                client,
                [
                    ("MGET s l", "*2\r\n" + bulk("1") + "$-1\r\n"), ("GET s", bulk("1")), ("LLEN l", ":2\r\n"),
                    ("SCAN 0 TYPE list", "*2\r\n" + bulk("0") + array("l")),
                    ("SCAN 0 TYPE string", "*2\r\n" + bulk("0") + array("s")),
                    ("SCAN 0 TYPE hash", "*2\r\n" + bulk("0") + "*0\r\n"),
                    ("SET l a", "+OK\r\n"), ("GET l", bulk("a")),
                ])
        }
    }

    func testSortOrdersByNumberOrByBytes() throws {
        try withServers { _, client in
            let notNumbers = "-ERR One or more scores can't be converted into double\r\n"
            converse(
                client,
                [
                    ("RPUSH l 10 9 -3 2.5 1e1 0", ":6\r\n"), ("SORT l", array("-3", "0", "2.5", "9", "10", "1e1")),
                    ("SORT l DESC", array("1e1", "10", "9", "2.5", "0", "-3")),
                    ("SORT l ALPHA", array("-3", "0", "10", "1e1", "2.5", "9")),
                    ("SORT l DESC ALPHA LIMIT 1 2", array("2.5", "1e1")),
                    ("SORT l limit 4 100 asc", array("10", "1e1")),
                    ("SORT l LIMIT 1 0", "*0\r\n"), ("SORT l LIMIT 6 1", "*0\r\n"), ("SORT l LIMIT -5 1", array("-3")),
                    ("SORT l LIMIT 4 -1", array("10", "1e1")),
                    ("SORT l LIMIT 5 9223372036854775807", array("1e1")),
                    ("SORT no", "*0\r\n"), ("LRANGE l 0 0", array("10")),
                    ("RPUSH l word", ":7\r\n"), ("SORT l", notNumbers), ("SORT l ALPHA LIMIT 6 1", array("word")),
                    ("RPUSH n nan", ":1\r\n"), ("SORT n", notNumbers),
                    ("RPUSH h 1e999", ":1\r\n"), ("SORT h", notNumbers), ("RPUSH i inf -inf", ":2\r\n"),
                    ("SORT i", array("-inf", "inf")),
                ])
        }
    }

    func testMalformedRequestsAreRefused() throws {
        try withServers { _, client in
            for name in ["lpush", "rpush", "lpop", "rpop", "lrange", "llen", "sort", "client"] {
                client.expect("\(name)\r\n", "-ERR wrong number of arguments for '\(name)' command\r\n")
            }
            let priorities = "-ERR CLIENT PRIORITY must be one of the following: low, normal, high\r\n"
            converse(
                client,
                [
                    ("LPUSH l", "-ERR wrong number of arguments for 'lpush' command\r\n"),
                    ("LPOP l 1 2", "-ERR wrong number of arguments for 'lpop' command\r\n"),
                    ("LLEN a b", "-ERR wrong number of arguments for 'llen' command\r\n"),
                    ("SORT l LIMIT 1", "-ERR syntax error\r\n"), ("SORT l UP", "-ERR syntax error\r\n"),
                    ("SORT l LIMIT a 1", "-ERR value is not an integer or out of range\r\n"),
                    ("SORT l STORE m", "-ERR syntax error\r\n"),
                    ("CLIENT PRIORITY", "-ERR wrong number of arguments for 'client|priority' command\r\n"),
                    ("CLIENT PRIORITY high low", "-ERR wrong number of arguments for 'client|priority' command\r\n"),
                    ("CLIENT PRIORITY urgent", priorities), ("CLIENT PRIORITY 1", priorities),
                    ("CLIENT NAP", "-ERR unknown subcommand 'NAP'. Try CLIENT HELP.\r\n"),
                    ("CLIENT PRIORITY HIGH", "+OK\r\n"), ("CLIENT priority low", "+OK\r\n"),
                ])
        }
    }

    func testRepliesKeepTheirOrderAroundCostlyCommands() throws {
        try withServers { _, client in
            client.expect("RPUSH l 3 1 2\r\n", ":3\r\n")
            var requests = ""
            var replies = ""
            for index in 0..<200 {
                requests += "SET k \(index)\r\nSORT l\r\nGET k\r\nLRANGE l 0 -1\r\nKEYS nothing*\r\nSORT no\r\n"
                replies += "+OK\r\n" + array("1", "2", "3") + bulk("\(index)") + array("3", "1", "2") + "*0\r\n*0\r\n"
            }
            client.expect(requests, replies)
        }
    }
}
