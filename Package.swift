// swift-tools-version: 6.1

import PackageDescription

let package = Package(
    name: "SwiftSync",
    products: [
        .library(name: "SwiftSync", targets: ["SwiftSync"]),
        .library(name: "CSyncKernel", targets: ["CSyncKernel"]),
    ],
    targets: [
        // liburcu: its flags for the compiler and the linker. Where pkg-config does not find it, SwiftPM warns with the package's name before
        // the compiler misses its headers; `apt-get install liburcu-dev` mends both.
        .systemLibrary(name: "CURCU", pkgConfig: "liburcu-bp", providers: [.apt(["liburcu-dev"])]),
        .target(
            name: "CSyncKernel",
            dependencies: ["CURCU"],
            exclude: ["CMakeLists.txt", "cmake", "man"],
            publicHeadersPath: "include",
            cSettings: [.define("_GNU_SOURCE"), .headerSearchPath("src")],
            linkerSettings: [.linkedLibrary("urcu-bp"), .linkedLibrary("urcu-common")]
        ),
        .target(name: "SwiftSync", dependencies: ["CSyncKernel"]),
        .testTarget(name: "SwiftSyncTests", dependencies: ["SwiftSync", "CSyncKernel", "MainThreadProgram", "TopLevelProgram"]),
        // What a test needs a program of its own for: one that serves its main thread, and one without a main function.
        .executableTarget(name: "MainThreadProgram", dependencies: ["SwiftSync"], path: "Tests/MainThreadProgram"),
        .executableTarget(name: "TopLevelProgram", dependencies: ["SwiftSync"], path: "Tests/TopLevelProgram"),
        // What users of the libraries that came before write, compiled as they compile it.
        .testTarget(
            name: "SwiftSyncTestsLegacy",
            dependencies: ["SwiftSync"],
            path: "Tests/SwiftSyncLegacyTests",
            swiftSettings: [.swiftLanguageMode(.v5)]
        ),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .c11
)
