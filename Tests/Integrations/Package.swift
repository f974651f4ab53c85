// swift-tools-version: 6.2

import PackageDescription

// The library with the traits that need other packages, each on, and what those packages do with it.
let package = Package(
    name: "Integrations",
    dependencies: [
        .package(name: "SwiftSync", path: "../..", traits: ["RCU", "ServiceLifecycle", "Logging", "Metrics"]),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.0.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
    ],
    targets: [
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                .product(name: "SwiftSync", package: "SwiftSync"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
