"""The package of the Swift samples: check.py puts a TARGET for each program in the place of TARGETS."""

MANIFEST = """// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Samples",
    dependencies: [
        .package(name: "SwiftSync", path: "../..", traits: ["RCU", "ServiceLifecycle", "Logging", "Metrics"]),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.0.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0")
    ],
    targets: [
TARGETS
    ],
    swiftLanguageModes: [.v6]
)
"""
TARGET = """\
        .executableTarget(
            name: "NAME",
            dependencies: [
                .product(name: "SwiftSync", package: "SwiftSync"), .product(name: "CSyncKernel", package: "SwiftSync"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
            ],
            swiftSettings: [.unsafeFlags(["-warnings-as-errors"])])"""
