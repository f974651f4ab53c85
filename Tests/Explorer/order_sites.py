#!/usr/bin/env python3
"""Lists every atomic access of the kernel with its order, as the preprocessor sees them.

    order_sites.py        all sites, and their number by module

Each source is preprocessed with order_marks.h, which makes a mark of each atomic builtin. Their number is compared with
a count of the names in the sources' text, comments taken out. A site's name is made of the file, the function, the
operation, the address and the orders, so that lines that come or go above it leave it as it is.
"""
import collections, concurrent.futures, glob, os, re, subprocess, sys

from build import EXPLORED, HERE, KERNEL, STATEFUL, UNEXPLORED

RELAXED, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST = 0, 2, 3, 4, 5
ORDERS = {RELAXED: "relaxed", ACQUIRE: "acquire", RELEASE: "release", ACQ_REL: "acq_rel", SEQ_CST: "seq_cst"}
# What each order becomes, by what the operation does; a fence goes altogether.
GONE = -1
WEAKER = {
    "load": {SEQ_CST: [ACQUIRE], ACQUIRE: [RELAXED]},
    "store": {SEQ_CST: [RELEASE], RELEASE: [RELAXED]},
    "both": {SEQ_CST: [ACQ_REL], ACQ_REL: [ACQUIRE, RELEASE], ACQUIRE: [RELAXED], RELEASE: [RELAXED]},
    "fence": {SEQ_CST: [GONE], ACQ_REL: [GONE], ACQUIRE: [GONE], RELEASE: [GONE]},
}
KINDS = {"load": "load", "store": "store", "fence": "fence", "signal_fence": "fence"}
BUILTIN = re.compile(r"\b__(?:atomic|sync)_\w+|\bcsk_(?:load|store|exchange|fetch_or|fetch_and|fetch_add|cas)\b")
# What else could be an atomic access or a fence: none of these is in the sources.
OTHER = re.compile(r"\b_Atomic\b|\batomic_\w+\s*\(|\b__(?:sync|c11_atomic)_\w+|(?<!asm )(?<!asm__ )\bvolatile\b|"
                   r"\b(?:__builtin_ia32_|_mm_)[lms]fence\b|\b__builtin_arm_d[ms]b\b")
# What the sources write in assembler: nothing, a place for a probe, a pause, and the address of the thread.
ASSEMBLER = re.compile(r'\b(?:__)?asm(?:__)?\s*(?:(?:__)?volatile(?:__)?\s*)?\(\s*'
                       r'(?!""|"990: nop\\n"|"isb" ::: "memory"|"movq %%fs:0, %0")[^;]*')
BUILTINS = set(re.findall(r"^#define (__atomic_\w+)\(", open(os.path.join(HERE, "order_marks.h")).read(), re.MULTILINE))
# How each source is preprocessed: as it is built, and with what else a build may define.
VARIANTS = [[], ["-DCSK_LOCK_ORDER", "-D__SANITIZE_THREAD__", "-DORDER_MARKS_OTHER_LIBC"]]


class Site:
    """One access. `number` is its place among those of the same name."""

    def __init__(self, file, line, function, operation, order, failure, address):
        self.file, self.line, self.function, self.operation = file, line, function, operation
        self.order, self.failure, self.address, self.number = order, failure, address, 1

    @property
    def name(self):
        orders = ORDERS[self.order] + (f"/{ORDERS[self.failure]}" if self.failure else "")
        address = f" {self.address}" if self.address else ""
        number = f" #{self.number}" if self.number > 1 else ""
        return f"{self.file} {self.function}: {self.operation}{address}, {orders}{number}"

    @property
    def module(self):
        return self.file.split("/")[1] if self.file.startswith("src/") else "include"

    def steps(self):
        """(what the explorer's --weaken wants, the name of the mutant) of each step."""
        found = []
        kind = KINDS.get(self.operation, "both")
        for weaker in WEAKER[kind].get(self.order, []):
            found.append((f"{self.file}:{self.line}:{self.operation}:{self.order}:{weaker}",
                          f"{self.name} -> {ORDERS.get(weaker, 'gone')}"))
        for weaker in WEAKER["load"].get(self.failure, []):
            found.append((f"{self.file}:{self.line}:failure:{self.failure}:{weaker}",
                          f"{self.name} -> {ORDERS[self.order]}/{ORDERS[weaker]}"))
        return found


def arguments_after(text, at):
    """The arguments of a mark that begins there, and where it ends."""
    depth, begin, found = 0, at, []
    for place in range(at, len(text)):
        character = text[place]
        if character in "([{":
            depth += 1
        elif character in ")]}":
            if depth == 0:
                return found + [text[begin:place]], place + 1
            depth -= 1
        elif character == "," and depth == 0 and len(found) < 5:
            found.append(text[begin:place])
            begin = place + 1
    raise ValueError("a mark without an end")


TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[{};]|\border_site\(')


def function_in(header):
    """The name of the function that a text at file scope, in front of a brace, begins; "" where it begins none."""
    header = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", " ", header)
    match = re.search(r"(\w+)\s*\(", header)
    return match[1] if match else ""


def number(text):
    return int(text.strip().strip("()"))


def sites_of(preprocessed, root):
    """The sites in one preprocessed source, whatever their files."""
    depth, begin, function, found = 0, 0, "", []
    for token in TOKEN.finditer(preprocessed):
        mark = token[0]
        if mark == "{":
            if depth == 0:
                function = function_in(preprocessed[begin:token.start()])
            depth += 1
        elif mark == "}":
            depth -= 1
            begin = token.end() if depth == 0 else begin
        elif mark == ";":
            begin = token.end() if depth == 0 else begin
        elif mark == "order_site(":
            (operation, order, failure, file, line, address), _ = arguments_after(preprocessed, token.end())
            path = os.path.relpath(os.path.realpath(file.strip()[1:-1]), root)
            found.append(Site(path, int(line), function, operation.strip(), number(order), number(failure),
                              re.sub(r"\s+", " ", address.strip().strip("()")).strip()))
    return found


def preprocessed(source, kernel, variant):
    command = ["cc", "-E", "-P", "-std=gnu11", "-D_GNU_SOURCE", *variant,
               "-include", os.path.join(HERE, "order_marks.h"),
               "-I" + os.path.join(kernel, "include"), "-I" + os.path.join(kernel, "src"), source]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def all_sites(kernel=KERNEL):
    """Each site once, in the order of files and lines."""
    kernel = os.path.realpath(kernel)
    sources = sorted(glob.glob(os.path.join(kernel, "src", "*", "*.c")))
    unique = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        both = [(source, kernel, variant) for variant in VARIANTS for source in sources]
        for text in pool.map(lambda one: preprocessed(*one), both):
            counts = collections.Counter()
            for site in sites_of(text, kernel):
                place = (site.file, site.line, site.operation, site.order, site.failure, site.address)
                counts[place] += 1
                unique.setdefault((*place, counts[place]), site)
    sites = [unique[key] for key in sorted(unique, key=lambda key: (*key[:2], str(key[2:])))]
    numbers = collections.Counter()
    for site in sites:
        numbers[site.name] += 1
        site.number = numbers[site.name]
    return sites


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)


def counted_in_text(kernel=KERNEL):
    """By file: how many accesses its text has, and what looks like another kind of atomic access."""
    counts, others = collections.Counter(), []
    patterns = (("src", "*", "*.[ch]"), ("include", "*", "*.h"))
    for path in sorted(path for pattern in patterns for path in glob.glob(os.path.join(kernel, *pattern))):
        file, text = os.path.relpath(path, kernel), without_comments(open(path).read())
        others += [f"{file}: {match[0]}" for match in ASSEMBLER.finditer(text)]
        others += [f"{file}: order_marks.h has no {name}" for name in re.findall(r"\b__atomic_\w+(?=\s*\()", text)
                   if name not in BUILTINS]
        # The macros that name the builtins are no access.
        text = re.sub(r"^#define csk_\w+\((?:.*\\\n)*.*$", "", text, flags=re.MULTILINE)
        counts[file] = len(BUILTIN.findall(text))
        others += [f"{file}: {match[0]}" for match in OTHER.finditer(text)]
    return counts, others


def strays(kernel=KERNEL):
    """The sources that stand where nobody looks for them, and those of which build.py says nothing."""
    files = {os.path.relpath(os.path.join(folder, name), kernel) for part in ("src", "include")
             for folder, _, names in os.walk(os.path.join(kernel, part)) for name in names if name[-2:] in (".c", ".h")}
    found = [f"{file}: sources stand in src/MODULE, headers there or in include/csynckernel" for file in sorted(files)
             if not re.fullmatch(r"src/\w+/\w+\.[ch]|include/csynckernel/\w+\.h", file)]
    said = {*EXPLORED, *STATEFUL, *UNEXPLORED}
    for path in glob.glob(os.path.join(HERE, "kernel_*.c")):
        said |= set(re.findall(r'^#include "\w+/(\w+)\.c"', open(path).read(), re.MULTILINE))
    names = {os.path.basename(file)[:-2] for file in files if file.endswith(".c")}
    found += [f"{name}.c: build.py does not say whether it is explored" for name in sorted(names - said)]
    return found + [f"build.py names {name}, and no such source stands there" for name in sorted(said - names)]


def disagreements(sites, kernel=KERNEL):
    """What the two ways of counting don't agree on."""
    counts, others = counted_in_text(kernel)
    others += strays(kernel)
    seen = collections.Counter(site.file for site in sites)
    return others + [f"{file}: the preprocessor sees {seen[file]} atomic accesses, its text names {counts[file]}"
                     for file in sorted(set(counts) | set(seen)) if counts[file] != seen[file]]


def main():
    sites = all_sites()
    for site in sites:
        print(f"{site.file}:{site.line}  {site.name}")
    for line in disagreements(sites):
        print(line)
    modules = collections.Counter(site.module for site in sites)
    strong = collections.Counter(site.module for site in sites if site.steps())
    steps = collections.Counter(site.module for site in sites for _ in site.steps())
    for module in sorted(modules):
        print(f"{module:10} {modules[module]:4} accesses, {strong[module]:4} stronger than relaxed, "
              f"{steps[module]:4} steps")
    print(f"{len(sites)} accesses, {sum(strong.values())} stronger than relaxed, {sum(steps.values())} steps")
    return 1 if disagreements(sites) else 0


if __name__ == "__main__":
    sys.exit(main())
