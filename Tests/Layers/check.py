#!/usr/bin/env python3
"""Looks whether the kernel's layers are what layers.txt says.

    check.py                fails at an include or a use of a name of a higher layer, at headers that include each
                            other all round, at sources that call each other all round and are not named in
                            layers.txt, and at a file outside the layers
    check.py --self-test    the same, and then in a copy with such faults: each must be found
    check.py --calls        shows which source uses which others

A name belongs to the layer whose source defines it, as nm says of the objects, which are compiled for this alone and
kept in .build/layers. What a source uses is what its object lacks: calls by macros and by inline functions are among
it. A public header declares names of its module, and types that callers allocate: any layer may include it.

The layer `observe` is the highest, so no object of another refers to it: a program that switches nothing on does not
link it.
"""
import argparse, os, re, shutil, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
KERNEL = os.path.join(ROOT, "Sources", "CSyncKernel")
OBJECTS = os.path.join(ROOT, ".build", "layers")
# The checker of lock order adds calls to the others.
COMPILE = ["cc", "-c", "-w", "-O0", "-std=gnu11", "-D_GNU_SOURCE", "-DCSK_LOCK_ORDER"]

NAME = re.compile(r"\bcsk_\w+")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include (?:"([^"]+)"|<([^>]+)>)', re.M)


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
    """The text without comments. No line moves."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda found: " " + "\n" * found[0].count("\n"), open(path).read(),
                  flags=re.S)


def files_in(folder):
    """The sources and headers below a folder, by their paths from there."""
    return sorted(os.path.relpath(os.path.join(where, name), folder) for where, _, names in os.walk(folder)
                  for name in names if name.endswith((".c", ".h")))


def compiled(folder, objects):
    """An object of each source, by its path; those are made anew that are older than their source or any header."""
    src = os.path.join(folder, "src")
    paths = [os.path.join(folder, base, file) for base in ("src", "include")
             for file in files_in(os.path.join(folder, base))]
    newest = max(os.path.getmtime(path) for path in [__file__, *paths] if not path.endswith(".c"))
    found = {os.path.join(objects, file + ".o"): file for file in files_in(src) if file.endswith(".c")}

    def compile_one(item):
        path, source = item[0], os.path.join(src, item[1])
        if not os.path.exists(path) or os.path.getmtime(path) <= max(newest, os.path.getmtime(source)):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            include = os.path.join(folder, "include")
            return subprocess.run([*COMPILE, "-I", include, "-I", src, "-o", path, source]).returncode

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        if any(pool.map(compile_one, found.items())):
            sys.exit("check.py: the sources do not compile")
    return found


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
    def __init__(self, folder, layers, objects):
        self.layers = layers
        self.files, self.outside = {}, []   # "layer/name.c" or "csynckernel/name.h": its code
        for base in "src", "include":
            for file in files_in(os.path.join(folder, base)):
                if base == "src" and (file.count("/") != 1 or file.split("/")[0] not in layers):
                    self.outside.append(file)
                else:
                    self.files[file] = code_of(os.path.join(folder, base, file))
        self.definer, self.lacks = {}, {}   # name: the source that defines it; source: names
        listed = subprocess.run(["nm", "-A", "-g", "-P", *objects], stdout=subprocess.PIPE, text=True, check=True)
        for path, name, kind in (line.split()[:3] for line in listed.stdout.splitlines()):
            file = objects[path.rstrip(":")]
            if kind in "Uwv":
                self.lacks.setdefault(file, []).append(name)
            elif file in self.files:
                self.definer[name] = file

    def is_public(self, file):
        return file.startswith("csynckernel/")

    def layer(self, file):
        return self.layers.index(file.split("/")[0])

    def uses(self, file):
        """By source that this file uses: one of the names."""
        names = self.lacks.get(file, ()) if file.endswith(".c") else NAME.findall(self.files[file])
        return {self.definer[name]: name for name in names if name in self.definer}

    def place(self, file, pattern):
        """Where in a file the pattern stands first, as editors and compilers say it."""
        place = f"Sources/CSyncKernel/{'include' if self.is_public(file) else 'src'}/{file}"
        found = re.search(pattern, self.files[file], re.M)  # what an inline function uses stands elsewhere
        return f"{place}:{self.files[file].count(chr(10), 0, found.start()) + 1}" if found else place

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


def faults(folder, objects):
    layers, allowed = read_list(os.path.join(HERE, "layers.txt"))
    kernel = Kernel(folder, layers, objects)
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
    ("an upward include in angle brackets", "src/base/text.c", "#include <lock/gate_queue.h>\n",
     "src/base/text.c:LINE: includes lock/gate_queue.h: "),
    ("an upward include in a header", "src/wait/watch.h", '#include "pool/pool.h"\n',
     "src/wait/watch.h:LINE: includes pool/pool.h: "),
    ("a circle of headers", "src/wait/waiter.h", '#include "wait/watch.h"\n',
     "headers include each other all round: wait/waiter.h wait/watch.h"),
    ("a header that includes itself", "src/observe/slots.h", '#include "observe/slots.h"\n',
     "headers include each other all round: observe/slots.h"),
    ("a circle of public headers", "include/csynckernel/heap.h", '#include "timer.h"\n',
     "headers include each other all round: csynckernel/heap.h csynckernel/timer.h"),
    ("a public header that shows an internal one", "include/csynckernel/sem.h", '#include "base/platform.h"\n',
     "include/csynckernel/sem.h:LINE: a public header includes base/platform.h"),
    ("an upward use in a header", "src/base/text.h", "int csk_workqueue_serve(void);\n",
     "src/base/text.h:LINE: uses csk_workqueue_serve of queue/workqueue_serve.c: "),
    ("an upward call by a header that any layer may include", "src/wait/timer.c",
     '#include "csynckernel/gate.h"\nint csk_planted(csk_gate_t *gate) { return csk_gate_forget(gate, NULL); }\n',
     "src/wait/timer.c:LINE: uses csk_gate_forget of lock/gate_async.c: "),
    ("an upward call of what begins with its attributes", "src/wait/waits.c",
     "int csk_planted(void) { int csk_work_is_refused(void); return csk_work_is_refused(); }\n",
     "src/wait/waits.c:LINE: uses csk_work_is_refused of queue/workqueue_refuse.c: "),
    ("an upward call of an inline function", "src/thread/tls.c",
     '#include "csynckernel/mutex.h"\nint csk_planted(csk_mutex_t *mutex) { return csk_mutex_unlock(mutex); }\n',
     "src/thread/tls.c: uses csk_mutex_unlock_slow of lock/mutex.c: "),
    ("a call of what watches, which hooks.h stands for", "src/lock/mutex.c",
     "void csk_planted(void) { void csk_metrics_late(long); csk_metrics_late(1); }\n",
     "src/lock/mutex.c:LINE: uses csk_metrics_late of observe/metrics.c: "),
    ("an upward look at a variable", "src/base/base.c",
     "unsigned long csk_planted(void) { extern unsigned long csk_rcu_period; return csk_rcu_period; }\n",
     "src/base/base.c:LINE: uses csk_rcu_period of rcu/rcu.c: "),
    ("a circle of sources", "src/observe/order_graph.c",
     '#include "csynckernel/order.h"\nint csk_planted(csk_print_t print) { return csk_order_print(print, NULL); }\n',
     "sources call each other all round: order order_graph order_print"),
    ("a source outside of the layers", "src/planted.c", "int csk_planted;\n", "planted.c: stands in no layer"),
    ("an include of nothing", "src/pool/pool.h", '#include "internal/platform.h"\n',
     "src/pool/pool.h:LINE: includes internal/platform.h, which is not there"),
]


def plant(folder, kind):
    """What must be said of each fault that is planted in files of this kind."""
    wanted = {}
    for what, file, text, words in PLANTED:
        if file.endswith(kind):
            with open(os.path.join(folder, file), "a+") as source:
                source.seek(0)
                line = source.read().count("\n") + text.count("\n")
                source.write(text)
            wanted[words.replace("LINE", str(line))] = what
    return wanted


def self_test():
    """All are planted in one copy, those in headers after it was compiled: one of them does not compile."""
    with tempfile.TemporaryDirectory() as folder:
        for part in "src", "include":
            shutil.copytree(os.path.join(KERNEL, part), os.path.join(folder, part))
        wanted = plant(folder, ".c")
        objects = compiled(folder, shutil.copytree(OBJECTS, os.path.join(folder, "objects")))
        wanted |= plant(folder, ".h")
        found, _ = faults(folder, objects)
    missed = [what for words, what in wanted.items() if not any(words in fault for fault in found)]
    for what in missed:
        print(f"{what} is not found: {found}")
    print(f"{len(PLANTED)} faults planted, {len(missed)} not found")
    return len(missed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--calls", action="store_true")
    options = parser.parse_args()
    found, kernel = faults(KERNEL, compiled(KERNEL, OBJECTS))
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
