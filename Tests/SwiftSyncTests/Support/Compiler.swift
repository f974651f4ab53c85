import Foundation
import Testing

/// What the compiler says of code that uses the library, as its users write it; what it says of the flow of values
/// included.
enum Compiler {
    /// The errors and warnings, each with the number of its line: `6: warning: ...`.
    static func says(
        of source: String, languageMode: Int, options: [String] = []
    ) async throws -> [String] {
        // On a thread of its own: the compiler takes its time, and other tests' tasks need theirs.
        try await withCheckedThrowingContinuation { continuation in
            onThread { continuation.resume(with: Result { try run(source, languageMode, options) }) }
        }
    }

    private static func run(_ source: String, _ languageMode: Int, _ options: [String]) throws -> [String] {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).swift")
        try source.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let products = try #require(URL(string: "file:///proc/self/exe")).resolvingSymlinksInPath()
            .deletingLastPathComponent()
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../../Sources"
        ).standardizedFileURL
        let folders = [
            products.appendingPathComponent("Modules"), sources.appendingPathComponent("CSyncKernel/include"),
            sources.appendingPathComponent("CURCU"),
        ]
        let compiler = Process(), output = Pipe()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = [
            "swiftc", "-emit-sil", "-o", "/dev/null", "-parse-as-library", "-swift-version", "\(languageMode)",
            "-diagnostic-style", "llvm",
        ]
        compiler.arguments! += options + folders.flatMap { ["-I", $0.path] } + [file.path]
        compiler.standardError = output
        try compiler.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        compiler.waitUntilExit()
        return text.split(separator: "\n").compactMap { line in
            // FILE:LINE:COLUMN: KIND: TEXT
            let parts = line.split(separator: ":", maxSplits: 4).map { $0.trimmingCharacters(in: .whitespaces) }
            if line.contains("error:"), parts.first != file.path { return String(line) }
            guard parts.count == 5, parts[0] == file.path, ["error", "warning"].contains(parts[3]) else { return nil }
            return "\(parts[1]): \(parts[3]): \(parts[4])"
        }
    }
}
