// swift-tools-version: 6.1

import PackageDescription

let package = Package(
    name: "SwiftSync",
    products: [
        .library(name: "SwiftSync", targets: ["SwiftSync"]),
        .library(name: "CSyncKernel", targets: ["CSyncKernel"]),
    ],
    targets: [
        .target(
            name: "CSyncKernel",
            exclude: ["CMakeLists.txt", "cmake"],
            publicHeadersPath: "include",
            cSettings: [.define("_GNU_SOURCE"), .headerSearchPath("src")]
        ),
        .target(name: "SwiftSync", dependencies: ["CSyncKernel"]),
        .testTarget(name: "SwiftSyncTests", dependencies: ["SwiftSync", "CSyncKernel"]),
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
