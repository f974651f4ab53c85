#!/usr/bin/env python3
"""Fails where a source calls `precondition`: -Ounchecked leaves it out, with the calls in its condition, and -O its
text."""
import os, re, sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
CALL = re.compile(r"\bprecondition\(")


def main():
    found = 0
    for top in ("Sources", "Tests/SwiftSyncTests", "Tests/MainThreadProgram"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in sorted(name for name in names if name.endswith(".swift")):
                for number, line in enumerate(open(os.path.join(folder, name)), 1):
                    if CALL.search(line):
                        print(f"{os.path.relpath(os.path.join(folder, name), ROOT)}:{number}: use fatalError, or in "
                              "tests mustHold: a precondition is not asked in each build")
                        found += 1
    return found != 0


if __name__ == "__main__":
    sys.exit(main())
