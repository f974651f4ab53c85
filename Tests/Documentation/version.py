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

BASE, CHANGELOG = Path("Sources/CSyncKernel/include/csynckernel/base.h"), Path("CHANGELOG.md")
# What is compared: all of the version, or the part that programs are linked by: major.minor before 1.0, then major.
PATTERNS = {
    "the comment of csk_version":
        (r'version of the library that the program is linked with, for example "(\d+\.\d+\.\d+)"', "full"),
    "what CMake programs ask for": (r"find_package\(CSyncKernel (\d+(?:\.\d+)*)", "linked"),
    "the name of the shared library": (r"libcsynckernel\.so\.(\d+(?:\.\d+)*)", "linked"),
}
# Once there is a tag, documents name it so; before that they name a branch.
OPTIONAL = {
    "what Swift packages depend on":
        (r'\.package\(url: "[^"]*/swift-sync[^"]*", (?:from|exact): "(\d+\.\d+\.\d+)"', "full"),
    "a name with a version": (r"\b(?:SwiftSync|[Cc][Ss]ync[Kk]ernel) (\d+\.\d+\.\d+)", "full"),
    "a version that CMake does not read": (r"project\(CSyncKernel VERSION (\d[\d.]*)", "full"),
    "a pkg-config file with a number": (r"^Version: (\d[\d.]*)", "full"),
}
# The changelog's first heading is a release's, or says what the unreleased section will be.
FIRST_HEADING = r"^## \[(\d+\.\d+\.\d+)\]|^What will be (\d+\.\d+\.\d+)\b"
# Versions of something else: what a peer's wrapper calls itself.
OTHERS = [":!Benchmarks/c/parking_lot/Cargo.toml", ":!Tests/Documentation/version.py"]


def stated():
    """(place, what, version, whether it is all of it) of each version in a text file."""
    if first := re.search(FIRST_HEADING, CHANGELOG.read_text(), re.M):
        yield CHANGELOG, "the first heading of the changelog", first[1] or first[2], "full"
    listing = ["git", "grep", "--untracked", "-IlE", "[0-9]", "--", *OTHERS]
    for name in subprocess.run(listing, check=True, capture_output=True, text=True).stdout.splitlines():
        text = Path(name).read_text(errors="replace")
        for what, (pattern, kind) in (PATTERNS | OPTIONAL).items():
            for match in re.finditer(pattern, text, re.M):
                yield f"{name}:{text.count(chr(10), 0, match.start()) + 1}", what, match[1], kind


def main():
    parts = dict(re.findall(r"^#define CSK_VERSION_(MAJOR|MINOR|PATCH) (\d+)$", BASE.read_text(), re.M))
    if len(parts) != 3:
        sys.exit(f"{BASE}: error: the version is not there")
    linked = f"{parts['MAJOR']}.{parts['MINOR']}"
    expected = {"full": f"{linked}.{parts['PATCH']}", "linked": linked if parts["MAJOR"] == "0" else parts["MAJOR"]}
    found = list(stated())
    failures = [f"{place}: error: {what}: {version} is stated, {BASE.name} says {expected[kind]}"
                for place, what, version, kind in found if version != expected[kind]]
    failures += [f"error: nothing states {what} in a form that Tests/Documentation/version.py knows"
                 for what in [*PATTERNS, "the first heading of the changelog"] if what not in {one[1] for one in found}]
    print("\n".join(failures) if failures else f"version {expected['full']}: all that states one agrees")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
