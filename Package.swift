// swift-tools-version: 6.2

import PackageDescription

// Optimized, the tests compile for twice as long as everything else together. `scripts/test-swift races` compiles them
// unoptimized, and the library still with -O.
let areTestsUnoptimized = Context.environment["SWIFTSYNC_UNOPTIMIZED_TESTS"] != nil
let testSettings: [SwiftSetting] =
    areTestsUnoptimized ? [.unsafeFlags(["-Onone", "-no-whole-module-optimization", "-enable-batch-mode"])] : []

let package = Package(
    name: "SwiftSync",
    products: [
        .library(name: "SwiftSync", targets: ["SwiftSync"]),
        .library(name: "CSyncKernel", targets: ["CSyncKernel"]),
    ],
    traits: [
        .trait(
            name: "RCU",
            description: "Grace periods of Snapshot and SnapshotDictionary by liburcu; off: by the kernel's own"),
        .trait(name: "LockOrder", description: "LockOrder checks ReadWriteLock too, which makes each read cost more"),
        // What these three need is resolved only where they are on.
        .trait(name: "ServiceLifecycle", description: "DrainService, for swift-service-lifecycle"),
        .trait(name: "Logging", description: "SyncDiagnostics.setLogger, for swift-log"),
        .trait(name: "Metrics", description: "SyncMetricsPublisher, for swift-metrics"),
        .default(enabledTraits: ["RCU"]),
    ],
    dependencies: [
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.0.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
    ],
    targets: [
        // liburcu: its flags for the compiler and the linker. Where pkg-config does not find it, SwiftPM warns with the
        // package's name before the compiler misses its headers; `apt-get install liburcu-dev` mends both.
        .systemLibrary(name: "CURCU", pkgConfig: "liburcu-bp", providers: [.apt(["liburcu-dev"])]),
        .target(
            name: "CSyncKernel",
            dependencies: [.target(name: "CURCU", condition: .when(traits: ["RCU"]))],
            exclude: ["CMakeLists.txt", "cmake", "man"],
            publicHeadersPath: "include",
            // SwiftPM can define a macro for a trait that is on, not for one that is off: rcu/rcu_liburcu.h reads both.
            cSettings: [
                .define("_GNU_SOURCE"), .headerSearchPath("src"), .define("CSK_BY_TRAITS"),
                .define("CSK_TRAIT_RCU", .when(traits: ["RCU"])),
                .define("CSK_LOCK_ORDER", .when(traits: ["LockOrder"])),
            ],
            linkerSettings: [
                .linkedLibrary("urcu-bp", .when(traits: ["RCU"])),
                .linkedLibrary("urcu-common", .when(traits: ["RCU"])),
            ]
        ),
        .target(
            name: "SwiftSync",
            dependencies: [
                "CSyncKernel",
                .product(
                    name: "ServiceLifecycle", package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])),
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
                .product(name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
            ],
            swiftSettings: [
                .strictMemorySafety(),
                // A closure that is called within the call runs where its caller runs.
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            ]
        ),
        .testTarget(
            name: "SwiftSyncTests", dependencies: ["SwiftSync", "CSyncKernel", "MainThreadProgram", "TopLevelProgram"],
            swiftSettings: testSettings),
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
