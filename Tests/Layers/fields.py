#!/usr/bin/env python3
"""Looks whether the Swift layer reaches into structs of the kernel.

    fields.py                fails where Sources/SwiftSync reads, writes or points at a field of a kernel struct that is
                             not listed in fields.txt, and at a line of fields.txt that nothing needs
    fields.py --self-test    the same, in a copy with one such fault of each kind: each must be found

The compiler says which member an expression names: this reads its syntax tree, which takes the headers and no build.
A struct's memberwise initializer names all its fields; one without arguments, which fills with zeros, names none.
"""
import argparse, os, re, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
KERNEL = os.path.join("Sources", "CSyncKernel", "include")
SWIFT = os.path.join("Sources", "SwiftSync")

PLACE = re.compile(r"\blocation=([^\s:]+):(\d+):")
MEMBER = re.compile(r'\bdecl="CSyncKernel\.\(file\)\.(csk_\w+)\.([^@"\s]+)@')


def read_list(path):
    """The fields that Swift may touch: (struct, field or *)."""
    allowed = []
    for line in open(path):
        words = line.split("#")[0].split()
        if words:
            allowed.append(tuple(words[0].split(".")))
    return allowed


def syntax_tree(folder):
    """What the compiler prints of all sources in `folder`, a copy of the repository or itself."""
    sources = [os.path.join(where, name) for where, _, names in os.walk(os.path.join(folder, SWIFT))
               for name in names if name.endswith(".swift")]
    # Two processes for all files: the driver would start one for each, which reads all the others again.
    command = ["swiftc", "-dump-ast", "-enable-batch-mode", "-driver-batch-count", "2", "-j2", "-swift-version", "6",
               "-D", "RCU", "-parse-as-library", "-module-name", "SwiftSync",
               "-package-name", "swiftsync", "-I", os.path.join(ROOT, KERNEL), *sorted(sources)]
    with tempfile.TemporaryFile("w+", errors="replace") as tree:
        status = subprocess.run(command, stdout=tree, stderr=subprocess.STDOUT).returncode
        tree.seek(0)
        lines = tree.readlines()
    if status != 0:
        sys.exit("".join(line for line in lines if "error:" in line) + "fields.py: the sources do not compile")
    return lines


def accesses(lines, folder):
    """Each field that an expression names: (file, line, struct, field)."""
    found, place = set(), ("?", 0)
    for line in lines:
        if at := PLACE.search(line):
            place = (os.path.relpath(at[1], folder), int(at[2]))
        for struct, member in MEMBER.findall(line):
            if member.startswith("init("):
                found.update((*place, struct, field) for field in member[5:-1].split(":") if field)
            else:
                found.add((*place, struct, member))
    return found


def faults(folder):
    allowed = read_list(os.path.join(HERE, "fields.txt"))
    found = accesses(syntax_tree(folder), folder)
    wrong = [f"{file}:{line}: touches {struct}.{field}" for file, line, struct, field in found
             if (struct, field) not in allowed and (struct, "*") not in allowed]
    touched = {(struct, field) for _, _, struct, field in found} | {(struct, "*") for _, _, struct, _ in found}
    wrong += [f"fields.txt: nothing touches {struct}.{field}"
              for struct, field in allowed if (struct, field) not in touched]
    return sorted(wrong), len(found)


# Each kind of access: a line of code, and the field that must be found in it.
PLANTED = [
    ("a read through a pointer",
     "func planted(_ it: UnsafeMutablePointer<csk_gate_t>) -> UInt32 { it.pointee.bypass_limit }",
     "csk_gate.bypass_limit"),
    ("a write through a pointer",
     "func planted(_ it: UnsafeMutablePointer<csk_heap_t>) { it.pointee.root = nil }",
     "csk_heap.root"),
    ("a write to a variable", "func planted(_ it: inout csk_workqueue_t) { it.capacity = 1 }",
     "csk_workqueue.capacity"),
    ("an element of many",
     "func planted(_ all: UnsafeMutablePointer<csk_rcu_map_entry_t>) -> UInt64 { UInt64(all[1].hash) }",
     "csk_rcu_map_entry.hash"),
    ("a closure's argument",
     "func planted(_ all: [UnsafePointer<csk_workqueue_t>]) -> [UInt32] { all.map { $0.pointee.width } }",
     "csk_workqueue.width"),
    ("the address of a field",
     "func planted(_ it: inout csk_pqueue_t) { withUnsafeMutablePointer(to: &it.heap) { _ in } }",
     "csk_pqueue.heap"),
    ("a key path",
     "func planted() -> KeyPath<csk_waiter_t, UnsafeMutablePointer<csk_waiter_t>?> { \\.older }",
     "csk_waiter.older"),
    ("a memberwise initializer",
     "func planted(_ top: UnsafeMutablePointer<csk_heap_node_t>?) { _ = csk_heap_t(root: top) }",
     "csk_heap.root"),
]


def planted_copy(folder):
    """A copy with the faults in a file of their own, and what must be said of it."""
    shutil.copytree(os.path.join(ROOT, SWIFT), os.path.join(folder, SWIFT))
    file = os.path.join(SWIFT, "Planted.swift")
    with open(os.path.join(folder, file), "w") as source:
        source.write("import CSyncKernel\n")
        for number, (_, code, _) in enumerate(PLANTED):
            source.write(code.replace("planted", f"planted{number}", 1) + "\n")
    return {f"{file}:{number + 2}: touches {field}": what for number, (what, _, field) in enumerate(PLANTED)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    missed = []
    if options.self_test:
        with tempfile.TemporaryDirectory() as folder:
            wanted = planted_copy(folder)
            found, count = faults(folder)
        missed = [what for message, what in wanted.items() if message not in found]
        found, count = [fault for fault in found if fault not in wanted], count - len(wanted)
        for what in missed:
            print(f"{what} is not found")
        print(f"{len(wanted)} faults planted, {len(missed)} not found")
    else:
        found, count = faults(ROOT)
    for fault in found:
        print(fault)
    print(f"{count} uses of kernel fields in Swift; {len(found)} faults")
    return 1 if found or missed else 0


if __name__ == "__main__":
    sys.exit(main())
