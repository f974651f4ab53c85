// swift-tools-version: 6.2

import PackageDescription

// Programs that fail on purpose: scripts/test-faults runs them.
let package = Package(
    name: "FaultPrograms",
    dependencies: [.package(name: "SwiftSync", path: "../..")],
    targets: [
        .target(name: "CFaults", cSettings: [.define("_GNU_SOURCE")]),
        .executableTarget(
            name: "faults",
            dependencies: ["CFaults", .product(name: "SwiftSync", package: "SwiftSync")]
        ),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .c11
)
