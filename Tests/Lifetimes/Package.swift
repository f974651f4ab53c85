// swift-tools-version: 6.2

import PackageDescription

// What scripts/lifetimes runs. `Sources/probes` is written by probes.py, from calls.txt, beside links to Support.
let package = Package(
    name: "Probes",
    dependencies: [.package(name: "SwiftSync", path: "../..")],
    targets: [
        .executableTarget(name: "probes", dependencies: [.product(name: "SwiftSync", package: "SwiftSync")])
    ],
    // As most users compile; and what a probe hands over need not be sendable.
    swiftLanguageModes: [.v5]
)
