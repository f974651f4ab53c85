#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

struct ProbeFailure: Error, CustomStringConvertible {
    var description: String
}

/// A blocking connection that sends requests and skips over replies.
final class Connection {
    private let descriptor: Int32
    private var input = [UInt8](repeating: 0, count: 64 << 10)
    private var start = 0
    private var end = 0

    init(host: String, port: Int) throws {
        #if canImport(Glibc)
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else {
            throw ProbeFailure(description: "\(host) is not an IPv4 address")
        }
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw ProbeFailure(description: "connecting: \(String(cString: strerror(errno)))") }
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(descriptor) }

    func send(_ request: [UInt8]) throws {
        var sent = 0
        while sent < request.count {
            let count = request.withUnsafeBytes { write(descriptor, $0.baseAddress! + sent, $0.count - sent) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw ProbeFailure(description: "sending: \(String(cString: strerror(errno)))") }
            sent += count
        }
    }

    /// Waits for one whole reply and skips it. An error reply is a failure.
    func receive() throws {
        var missing = 1
        while missing > 0 {
            missing -= 1
            let line = try line()
            let number = Int(String(decoding: line.dropFirst(), as: UTF8.self)) ?? 0
            switch line.first {
            case UInt8(ascii: "-"): throw ProbeFailure(description: String(decoding: line, as: UTF8.self))
            case UInt8(ascii: "$") where number >= 0: try skip(number + 2)
            case UInt8(ascii: "*") where number > 0: missing += number
            default: break
            }
        }
    }

    private func line() throws -> [UInt8] {
        var line: [UInt8] = []
        while true {
            if start == end { try fill() }
            let byte = input[start]
            start += 1
            if byte == UInt8(ascii: "\n") { return line }
            if byte != UInt8(ascii: "\r") { line.append(byte) }
        }
    }

    private func skip(_ count: Int) throws {
        var missing = count
        while missing > 0 {
            if start == end { try fill() }
            let step = min(missing, end - start)
            start += step
            missing -= step
        }
    }

    private func fill() throws {
        while true {
            let count = input.withUnsafeMutableBytes { read(descriptor, $0.baseAddress!, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw ProbeFailure(description: "the server closed the connection") }
            (start, end) = (0, count)
            return
        }
    }

    static func request(_ words: String...) -> [UInt8] { request(words) }

    static func request(_ words: [String]) -> [UInt8] {
        var text = "*\(words.count)\r\n"
        for word in words { text += "$\(word.utf8.count)\r\n\(word)\r\n" }
        return Array(text.utf8)
    }
}
