#!/usr/bin/env python3
"""Looks whether the kernel's layers are what layers.txt says.

    check.py                fails at an include or a use of a name of a higher layer, at headers that include each
                            other all round, at sources that call each other all round and are not named in
                            layers.txt, and at a file outside the layers
    check.py --self-test    the same, and then in a copy with one such fault after the other: each must be found
    check.py --calls        shows which source uses which others

A public header declares names of its module, and types that callers allocate. Any layer may use the types; a name
belongs to the layer whose source defines it, and an inline function to the highest layer of those that it calls.
"""
import argparse, os, re, shutil, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
KERNEL = os.path.join(HERE, "..", "..", "Sources", "CSyncKernel")

NAME = re.compile(r"\bcsk_\w+")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include (?:"([^"]+)"|<([^>]+)>)', re.M)
# At the beginning of a line, as all definitions stand: a function with its body, and a variable.
FUNCTION = re.compile(r"^(?!static\b|typedef\b|return\b)[A-Za-z_][\w *]*?\b(csk_\w+)\([^;{}]*\)\s*\{", re.M)
VARIABLE = re.compile(r"^(?!static\b|typedef\b|return\b|extern\b|struct csk_\w+;)[A-Za-z_][^;{}()=]*?"
                      r"[ *]\(?\*?(csk_\w+)\)?(?:\([^;{}=]*\))?"
                      r"(?:\s*__attribute__\(\([^;{}=]*?\)\))?\s*(?:=|;)", re.M)
INLINE = re.compile(r"^static inline [^;{}]*?\b(csk_\w+)\([^;{}]*\)\s*\{", re.M)


def read_list(path):
    """The layers in their order, and the allowed circles of sources."""
    layers, circles = [], []
    for line in open(path):
        words = line.split("#")[0].split()
        if words and words[0] == "circle":
            circles.append(frozenset(line.split(":")[0].split()[1:]))
        elif words:
            layers.append(words[0])
    return layers, circles


def code_of(path):
    """The text without comments and without what stands in quotes, but for names of includes. No line moves."""
    text = open(path).read()
    text = re.sub(r"/\*.*?\*/|//[^\n]*", lambda found: " " + "\n" * found[0].count("\n"), text, flags=re.S)
    return re.sub(r'(?<!include )"(?:\\.|[^"\\\n])*"', '""', text)


def inline_functions(code):
    """Each with its body."""
    for found in INLINE.finditer(code):
        depth, end = 1, found.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        yield found[1], code[found.end():end]


def circles_in(graph):
    """The sets of nodes that reach each other, of two and more, or of one that has an edge to itself."""

    def reach(start):
        seen, todo = set(), list(graph.get(start, ()))
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo.extend(graph.get(node, ()))
        return seen

    reached = {node: reach(node) for node in graph}
    return {frozenset(other for other in reached[node] if node in reached.get(other, ()))
            for node in graph if node in reached[node]}


class Kernel:
    def __init__(self, folder, layers):
        self.layers = layers
        self.files, self.outside = {}, []   # "layer/name.c" or "csynckernel/name.h": its code
        for base, prefix in (("src", ""), ("include", "")):
            for where, _, names in os.walk(os.path.join(folder, base)):
                for name in sorted(names):
                    short = os.path.relpath(os.path.join(where, name), os.path.join(folder, base))
                    if not name.endswith((".c", ".h")):
                        continue
                    if base == "src" and (short.count("/") != 1 or short.split("/")[0] not in layers):
                        self.outside.append(short)
                    else:
                        self.files[short] = code_of(os.path.join(where, name))
        self.definer = {}                   # name: the source that defines it
        for file, code in self.files.items():
            if file.endswith(".c"):
                for name in FUNCTION.findall(code) + VARIABLE.findall(code):
                    self.definer[name] = file
        self.calls = {}                     # inline function of a header: the names in it
        for file, code in self.files.items():
            if file.endswith(".h"):
                for name, body in inline_functions(code):
                    self.calls[name] = set(NAME.findall(body)) - {name}

    def is_public(self, file):
        return file.startswith("csynckernel/")

    def layer(self, file):
        return self.layers.index(file.split("/")[0])

    def sources_of(self, name, seen=()):
        """The sources that a name leads to."""
        if name in self.definer:
            return {self.definer[name]}
        called = [other for other in self.calls.get(name, ()) if other not in seen]
        return {file for other in called for file in self.sources_of(other, (*seen, name))}

    def uses(self, file):
        """By source that this file uses: one of the names."""
        used = {}
        for name in NAME.findall(self.files[file]):
            for source in self.sources_of(name):
                used.setdefault(source, name)
        return used

    def place(self, file, pattern):
        """Where in a file the pattern stands first, as editors and compilers say it."""
        found = re.search(pattern, self.files[file], re.M)
        line = self.files[file].count("\n", 0, found.start()) + 1
        return f"Sources/CSyncKernel/{'include' if self.is_public(file) else 'src'}/{file}:{line}"

    def above(self, file, other):
        """What is wrong, and what to do."""
        higher, lower = os.path.dirname(other), os.path.dirname(file)
        return (f"{higher} is above {lower} (Tests/Layers/layers.txt); what a lower layer must call of a higher one is "
                "registered with it (ARCHITECTURE.md)")

    def includes(self, file):
        for name, in_angles in INCLUDE.findall(self.files[file]):
            beside = os.path.normpath(os.path.join(os.path.dirname(file), name))
            if name:
                yield beside if beside in self.files else name
            elif in_angles in self.files:  # others are the system's
                yield in_angles


def faults(folder):
    layers, allowed = read_list(os.path.join(HERE, "layers.txt"))
    kernel = Kernel(folder, layers)
    found = [f"{file}: stands in no layer" for file in kernel.outside]
    empty = [layer for layer in layers if not any(file.startswith(layer + "/") for file in kernel.files)]
    found += [f"layers.txt: {layer} has no file" for layer in empty]
    for file in kernel.files:
        for included in kernel.includes(file):
            beside = os.path.relpath(included, os.path.dirname(file))
            place = kernel.place(file, f'include ["<]({re.escape(included)}|{re.escape(beside)})[">]')
            if included not in kernel.files:
                found.append(f"{place}: includes {included}, which is not there")
            elif kernel.is_public(included):
                continue
            elif kernel.is_public(file):
                found.append(f"{place}: a public header includes {included}, which users don't have")
            elif kernel.layer(included) > kernel.layer(file):
                found.append(f"{place}: includes {included}: {kernel.above(file, included)}")
        if not kernel.is_public(file):
            for source, name in kernel.uses(file).items():
                if kernel.layer(source) > kernel.layer(file):
                    place = kernel.place(file, rf"\b{name}\b")
                    found.append(f"{place}: uses {name} of {source}: {kernel.above(file, source)}")
    for circle in circles_in({file: set(kernel.includes(file)) for file in kernel.files}):
        found.append("headers include each other all round: " + " ".join(sorted(circle)))
    sources = {file: set(kernel.uses(file)) - {file} for file in kernel.files if file.endswith(".c")}
    circles = {frozenset(os.path.basename(file)[:-2] for file in circle) for circle in circles_in(sources)}
    found += ["sources call each other all round: " + " ".join(sorted(circle)) for circle in circles - set(allowed)]
    found += ["layers.txt: no circle of calls is " + " ".join(sorted(circle)) for circle in set(allowed) - circles]
    return found, kernel


# What is planted where, and what must be said of it; LINE is the line that is planted.
PLANTED = [
    ("an upward include", "src/base/heap.c", '#include "lock/gate_queue.h"\n',
     "src/base/heap.c:LINE: includes lock/gate_queue.h: "),
    ("an upward include in angle brackets", "src/base/heap.c", "#include <lock/gate_queue.h>\n",
     "src/base/heap.c:LINE: includes lock/gate_queue.h: "),
    ("an upward include in a header", "src/wait/watch.h", '#include "pool/pool.h"\n',
     "src/wait/watch.h:LINE: includes pool/pool.h: "),
    ("a circle of headers", "src/wait/waiter.h", '#include "wait/watch.h"\n',
     "headers include each other all round: wait/waiter.h wait/watch.h"),
    ("a header that includes itself", "src/wait/watch.h", '#include "wait/watch.h"\n',
     "headers include each other all round: wait/watch.h"),
    ("a circle of public headers", "include/csynckernel/heap.h", '#include "timer.h"\n',
     "headers include each other all round: csynckernel/heap.h csynckernel/timer.h"),
    ("a public header that shows an internal one", "include/csynckernel/heap.h", '#include "base/platform.h"\n',
     "include/csynckernel/heap.h:LINE: a public header includes base/platform.h"),
    ("an upward call by a header that any layer may include", "src/wait/timer.c",
     "void csk_planted(csk_gate_t *gate) { csk_gate_forget(gate); }\n",
     "src/wait/timer.c:LINE: uses csk_gate_forget of lock/gate_async.c: "),
    ("an upward call of an inline function", "src/thread/tls.c",
     "void csk_planted(csk_mutex_t *mutex) { csk_mutex_unlock(mutex); }\n",
     "src/thread/tls.c:LINE: uses csk_mutex_unlock of lock/mutex.c: "),
    ("an upward look at a variable", "src/base/base.c", "bool csk_planted(void) { return csk_rcu_period != 0; }\n",
     "src/base/base.c:LINE: uses csk_rcu_period of rcu/rcu.c: "),
    ("a circle of sources", "src/wait/queue_lock.c", "void csk_planted(void) { csk_timer_prepare(); }\n",
     "sources call each other all round: queue_lock timer"),
    ("a source outside of the layers", "src/planted.c", "int csk_planted;\n", "planted.c: stands in no layer"),
    ("an include of nothing", "src/base/base.c", '#include "internal/platform.h"\n',
     "src/base/base.c:LINE: includes internal/platform.h, which is not there"),
]


def self_test():
    wrong = 0
    for what, file, text, wanted in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            for part in ("src", "include"):
                shutil.copytree(os.path.join(KERNEL, part), os.path.join(folder, part))
            path = os.path.join(folder, file)
            lines = open(path).read().count("\n") if os.path.exists(path) else 0
            with open(path, "a") as source:
                source.write("\n" + text)
            found, _ = faults(folder)
            if not any(wanted.replace("LINE", str(lines + 2)) in fault for fault in found):
                print(f"{what} is not found: {found}")
                wrong += 1
    print(f"{len(PLANTED)} faults planted, {wrong} not found")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--calls", action="store_true")
    options = parser.parse_args()
    found, kernel = faults(KERNEL)
    for fault in sorted(found):
        print(fault)
    print(f"{len(kernel.layers)} layers, {len(kernel.files)} files, {len(kernel.definer)} names; {len(found)} faults")
    if options.calls:
        sources = [file for file in kernel.files if file.endswith(".c")]
        for file in sorted(sources, key=lambda file: (kernel.layer(file), file)):
            used = sorted(os.path.basename(source)[:-2] for source in kernel.uses(file) if source != file)
            print(f"{file}: {' '.join(used)}")
    return 1 if found or (options.self_test and self_test()) else 0


if __name__ == "__main__":
    sys.exit(main())
