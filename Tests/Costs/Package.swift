// swift-tools-version: 6.2

import PackageDescription

// What scripts/costs counts. The call sites are the benchmark's own sources, by a link to them.
let package = Package(
    name: "Costs",
    dependencies: [.package(name: "SwiftSync", path: "../..")],
    targets: [
        .target(name: "CBenchSupport", cSettings: [.define("_GNU_SOURCE")]),
        .target(name: "CCosts", dependencies: ["CBenchSupport"]),
        .executableTarget(
            name: "costs",
            dependencies: ["CBenchSupport", "CCosts", .product(name: "SwiftSync", package: "SwiftSync")],
            // Functions that differ by a number only would be made one, with a jump to it in each.
            swiftSettings: [.unsafeFlags(["-Xllvm", "-swiftmergefunc-threshold=0"])]
        ),
        .executableTarget(name: "profiled", dependencies: [.product(name: "SwiftSync", package: "SwiftSync")]),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu11
)
