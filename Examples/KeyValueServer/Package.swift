// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "KeyValueServer",
    dependencies: [
        .package(name: "SwiftSync", path: "../.."),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
    ],
    targets: [
        .target(
            name: "KeyValueServer",
            dependencies: [
                .product(name: "SwiftSync", package: "SwiftSync"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
            ]
        ),
        .executableTarget(
            name: "kv-server",
            dependencies: [
                "KeyValueServer",
                .product(name: "SwiftSync", package: "SwiftSync"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]
        ),
        .executableTarget(
            name: "kv-probe",
            dependencies: [.product(name: "ArgumentParser", package: "swift-argument-parser")]
        ),
        .testTarget(
            name: "KeyValueServerTests",
            dependencies: [
                "KeyValueServer",
                "kv-server",
                .product(name: "SwiftSync", package: "SwiftSync"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
