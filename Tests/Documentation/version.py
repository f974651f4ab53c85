"""Fails when a file states another version than base.h does; scripts/test runs it from the root of the repository.

The version stands in Sources/CSyncKernel/include/csynckernel/base.h. CMake reads it there, and with it the library's
SONAME, the pkg-config file and the CMake package; csk_version() gives it to C and Swift; SwiftPM takes a package's
version from its tag. Documents and examples must spell it out. Each way in which they do is a pattern below, and each
pattern must be found somewhere: one that is not found has been reworded, and checks nothing.
"""

import re
import subprocess
import sys
from pathlib import Path

BASE = Path("Sources/CSyncKernel/include/csynckernel/base.h")
# What is compared: all of the version, or the part that programs are linked by: major.minor before 1.0, then major.
PATTERNS = {
    "the comment of csk_version":
        (r'version of the library that the program is linked with, for example "(\d+\.\d+\.\d+)"', "full"),
    "what CMake programs ask for": (r"find_package\(CSyncKernel (\d+(?:\.\d+)*)", "linked"),
    "the name of the shared library": (r"libcsynckernel\.so\.(\d+(?:\.\d+)*)", "linked"),
    "the first heading of the changelog": (None, "full"),
}
# Once there is a tag, documents name it so; before that they name a branch.
OPTIONAL = {
    "what Swift packages depend on":
        (r'\.package\(url: "[^"]*/swift-sync[^"]*", (?:from|exact): "(\d+\.\d+\.\d+)"', "full"),
    "a name with a version": (r"\b(?:SwiftSync|[Cc][Ss]ync[Kk]ernel) (\d+\.\d+\.\d+)", "full"),
    "a version that CMake does not read": (r"project\(CSyncKernel VERSION (\d[\d.]*)", "full"),
    "a pkg-config file with a number": (r"^Version: (\d[\d.]*)", "full"),
}
# Versions of something else: what a peer's wrapper calls itself, and the version of a manifest's tools.
OTHERS = {"Benchmarks/c/parking_lot/Cargo.toml", "Tests/Documentation/version.py"}
KINDS = {".c", ".h", ".cpp", ".swift", ".md", ".txt", ".in", ".cmake", ".yml", ".toml", ".py", ".3", ".7", ""}


def stated_in_base():
    text = BASE.read_text()
    parts = ("MAJOR", "MINOR", "PATCH")
    numbers = [re.search(rf"^#define CSK_VERSION_{part} (\d+)$", text, re.M) for part in parts]
    if not all(numbers):
        sys.exit(f"{BASE}: error: the version is not there")
    return [number[1] for number in numbers]


def changelog_version():
    """The version and the line of the first heading: a release's, or what the unreleased section says it will be."""
    lines = Path("CHANGELOG.md").read_text().split("\n")
    for number, line in enumerate(lines, 1):
        if match := re.match(r"## \[(\d+\.\d+\.\d+)\]|What will be (\d+\.\d+\.\d+)\b", line):
            return match[1] or match[2], number
    return None, 1


def main():
    major, minor, patch = stated_in_base()
    expected = {"full": f"{major}.{minor}.{patch}", "linked": f"{major}.{minor}" if major == "0" else major}
    failures, found = [], set()

    def compare(place, what, stated, kind):
        found.add(what)
        if stated != expected[kind]:
            failures.append(f"{place}: error: {what}: {stated} is stated, {BASE.name} says {expected[kind]}")

    listing = ["git", "ls-files", "-co", "--exclude-standard"]
    for name in subprocess.run(listing, check=True, capture_output=True, text=True).stdout.split("\n"):
        path = Path(name)
        if not name or name in OTHERS or path.suffix not in KINDS or not path.is_file():
            continue
        try:
            lines = path.read_text().split("\n")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, 1):
            for what, (pattern, kind) in {**PATTERNS, **OPTIONAL}.items():
                for stated in re.findall(pattern, line) if pattern else ():
                    compare(f"{name}:{number}", what, stated, kind)
    stated, line = changelog_version()
    if stated:
        compare(f"CHANGELOG.md:{line}", "the first heading of the changelog", stated, "full")
    for what in PATTERNS:
        if what not in found:
            failures.append(f"error: nothing states {what} in a form that Tests/Documentation/version.py knows")
    print("\n".join(failures) if failures else f"version {expected['full']}: all that states one agrees")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
