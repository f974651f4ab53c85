"""Compiles Program.swift as a client of the library in each language mode and with each upcoming feature that decides
where code runs, optimized, and runs it: each async body must run where its call stands. From the root of the
repository; scripts/test has it as a step.

    python3 Tests/Isolation/check.py [ROUNDS]     how often the actor's counter is changed from either side
"""

import shutil
import subprocess
import sys
from pathlib import Path

BUILD = Path(".build-isolation")
SECONDS = 300
FORMS = {
    "mode5": "[.swiftLanguageMode(.v5)]",
    "mode6": "[]",
    "mode5strict": '[.swiftLanguageMode(.v5), .unsafeFlags(["-strict-concurrency=complete"])]',
    "nonsending": '[.enableUpcomingFeature("NonisolatedNonsendingByDefault")]',
    "conformances": '[.enableUpcomingFeature("InferIsolatedConformances")]',
    "existential": '[.enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"), '
    '.enableUpcomingFeature("InternalImportsByDefault"), .enableUpcomingFeature("ImmutableWeakCaptures")]',
    "mainactor": "[.defaultIsolation(MainActor.self)]",
    "approachable": "[.defaultIsolation(MainActor.self), "
    '.enableUpcomingFeature("NonisolatedNonsendingByDefault"), .enableUpcomingFeature("InferIsolatedConformances")]',
    "mode5mainactor": "[.swiftLanguageMode(.v5), .defaultIsolation(MainActor.self)]",
}
MANIFEST = """// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Isolation",
    dependencies: [.package(name: "SwiftSync", path: "..")],
    targets: [
TARGETS
    ],
    swiftLanguageModes: [.v6]
)
"""
TARGET = """\
        .executableTarget(
            name: "NAME", dependencies: [.product(name: "SwiftSync", package: "SwiftSync")],
            swiftSettings: SETTINGS),"""


def write(path, text):
    """Leaves what has not changed as it is, so that it is not built again."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main():
    rounds = sys.argv[1] if len(sys.argv) > 1 else "200000"
    shutil.rmtree(BUILD / "Sources", ignore_errors=True)
    program = Path("Tests/Isolation/Program.swift").read_text()
    for form in FORMS:
        write(BUILD / "Sources" / form / "Program.swift", program)
    targets = [TARGET.replace("NAME", form).replace("SETTINGS", settings) for form, settings in FORMS.items()]
    write(BUILD / "Package.swift", MANIFEST.replace("TARGETS", "\n".join(targets)))
    print(f"building the program in {len(FORMS)} forms", flush=True)
    built = subprocess.run(
        ["scripts/build-release", str(BUILD)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if built.returncode != 0:
        print("\n".join(line for line in (built.stdout + built.stderr).split("\n") if "error" in line)[-6000:])
        sys.exit("the program does not compile in each form")
    failures = 0
    for form in FORMS:
        ran = subprocess.run(
            [str(Path(built.stdout.strip()) / form), rounds], text=True, timeout=SECONDS, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        failures += ran.returncode != 0
        print(f"{'ok' if ran.returncode == 0 else 'FAILED':6} {form}: {ran.stdout.strip()}", flush=True)
    print(f"{len(FORMS)} forms, {failures} failures")
    sys.exit(failures > 0)


main()
