import XCTest

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A blocking connection of a test. A reply that never comes is a failure after ten seconds.
final class Client {
    private let descriptor: Int32

    init(port: Int) {
        #if canImport(Glibc)
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        XCTAssertEqual(status, 0, "connecting failed")
    }

    deinit { close(descriptor) }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress! + sent, bytes.count - sent) }
            guard count > 0 else { return XCTFail("sending failed") }
            sent += count
        }
    }

    /// Reads exactly `count` bytes, or fewer if the server closes before.
    func receive(_ count: Int) -> String {
        var bytes = [UInt8](repeating: 0, count: count)
        var received = 0
        while received < count {
            let step = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress! + received, count - received) }
            if step < 0 { XCTFail("no reply came") }
            if step <= 0 { break }
            received += step
        }
        return String(decoding: bytes[..<received], as: UTF8.self)
    }

    func expect(_ request: String, _ reply: String, file: StaticString = #filePath, line: UInt = #line) {
        send(request)
        XCTAssertEqual(receive(reply.utf8.count), reply, request, file: file, line: line)
    }

    func expectEnd(file: StaticString = #filePath, line: UInt = #line) {
        XCTAssertEqual(receive(1), "", "the connection is still open", file: file, line: line)
    }
}
