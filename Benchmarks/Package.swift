// swift-tools-version: 6.2

import PackageDescription

// A package of its own, so that the library has no dependency on what it is measured against.
let package = Package(
    name: "Benchmarks",
    dependencies: [
        .package(name: "SwiftSync", path: ".."),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-async-algorithms.git", from: "1.1.4"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift.git", from: "0.2.0"),
    ],
    targets: [
        .target(name: "CBenchSupport", cSettings: [.define("_GNU_SOURCE")]),
        .executableTarget(
            name: "SwiftBench",
            dependencies: [
                "CBenchSupport",
                "SwiftSync",
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Histogram", package: "hdrhistogram-swift"),
            ],
            // Functions that differ by a number only would be made one, with a jump to it in each; so are call sites.
            swiftSettings: [.unsafeFlags(["-Xllvm", "-swiftmergefunc-threshold=0"])]
        ),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu11
)
