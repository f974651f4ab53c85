#!/usr/bin/env python3
"""Checks that a retain stays inside the section whose value it keeps (docs/design/memory.md, rule 3).

1. In the public headers each store with release order of an inline function follows CSK_SECTION_ENDS().
2. swiftc -O, with the header's own macro, leaves a retain before a releasing store that no branch precedes. Without the
   macro it moves the retain behind the store: where a compiler no longer does, that is said and is no failure.
"""
import glob, os, re, subprocess, sys, tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
INCLUDE = os.path.join(ROOT, "Sources", "CSyncKernel", "include")

LOCK = """
#include <csynckernel/base.h>
typedef struct { unsigned held; } bare_lock_t;
static inline void bare_lock(bare_lock_t *lock) { while (__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE)) {} }
static inline void bare_unlock(bare_lock_t *lock) {
    %s
    __atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}
"""
USER = """
import BareLock
public final class Object {}
@inline(never)
public func taken(_ lock: UnsafeMutablePointer<bare_lock_t>, _ place: UnsafeMutablePointer<Object>) -> Object {
    bare_lock(lock)
    defer { bare_unlock(lock) }
    return place.pointee
}
"""


def stores():
    """Faults: inline functions of the public headers that store with release order, and nothing stands before it."""
    faults, found = [], 0
    for path in sorted(glob.glob(os.path.join(INCLUDE, "**", "*.h"), recursive=True)):
        lines = open(path).read().split("\n")
        for number, line in enumerate(lines):
            if not re.search(r"__atomic_store_n\(.*__ATOMIC_RELEASE\)", line):
                continue
            found += 1
            if "CSK_SECTION_ENDS();" not in lines[number - 1]:
                faults.append(f"{os.path.relpath(path, ROOT)}:{number + 1}: CSK_SECTION_ENDS() does not stand before "
                              "this releasing store")
    return faults, found


def retain_is_inside(folder, statement):
    """Whether the object is retained before the lock is left, in the code that swiftc makes."""
    with open(os.path.join(folder, "lock.h"), "w") as file:
        file.write(LOCK % statement)
    with open(os.path.join(folder, "module.modulemap"), "w") as file:
        file.write('module BareLock { header "lock.h" }\n')
    with open(os.path.join(folder, "user.swift"), "w") as file:
        file.write(USER)
    ran = subprocess.run(["swiftc", "-O", "-parse-as-library", "-module-name", "user", "-I", folder, "-Xcc",
                          f"-I{INCLUDE}", "-module-cache-path", os.path.join(folder, "cache"),
                          "-emit-assembly", os.path.join(folder, "user.swift"), "-o", "-"],
                         capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(ran.stderr)
    code = re.search(r"^\$s4user5taken.*?:\n(.*?)^\s*\.size", ran.stdout, re.S | re.M).group(1).split("\n")
    retain = next(i for i, line in enumerate(code) if "swift_retain" in line)
    # x86-64 stores a zero, arm64 the zero register with release.
    store = next(i for i, line in enumerate(code) if re.search(r"movl\s+\$0, \(|stlr\s", line))
    return retain < store


def main():
    faults, found = stores()
    if found == 0:
        faults.append("no releasing store was found in the headers")
    with tempfile.TemporaryDirectory() as folder:
        if not retain_is_inside(folder, "CSK_SECTION_ENDS();"):
            faults.append("CSK_SECTION_ENDS() does not keep a retain before the store that ends a section")
    with tempfile.TemporaryDirectory() as folder:
        if retain_is_inside(folder, ""):
            print("this compiler keeps the retain inside without CSK_SECTION_ENDS() too")
    print("\n".join(faults + [f"{found} releasing stores of inline functions; {len(faults)} faults"]))
    sys.exit(1 if faults else 0)


main()
