#!/usr/bin/env python3
"""Plants one fault at a time in the kernel and reports whether the corpora notice.

    faults.py BUILD_FOLDER [OPTION ...] [NAME ...]    all faults, or those chosen; --help lists what chooses
        --found FOLDER    where scripts/fuzz keeps what it found; of that, the smallest input that notices what the
                          corpus overlooks joins the corpus
        --fuzz N          what is overlooked still is fuzzed for N seconds (libFuzzer; CLANG names a clang)
    faults.py --check     only looks whether each fault's text stands in its file, once

Exits 1 when a fault survives, or is stale. Those of a target are in faults/TARGET.mutants, in the form that
Tests/Mutants/lists.py describes. The targets are built once, with all faults in them (Tests/Mutants/switched.py).
"""
import concurrent.futures, glob, os, re, shutil, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(os.path.dirname(HERE), folder) for folder in ("Explorer", "Mutants")]
import lists
from build import compile_object
from switched import environment, is_switchable, write_tree

SOURCES = "Sources/CSyncKernel"


def left_out():
    """The pattern of the kernel's files that no target uses, which CMakeLists.txt has in pieces."""
    with open(os.path.join(HERE, "CMakeLists.txt")) as text:
        pieces = re.findall(r'^(?:set\(unused|string\(APPEND unused)\s+"(.*)"\)$', text.read(), re.MULTILINE)
    return re.compile(rf"/({''.join(pieces)})\.c$")


class Targets:
    """The targets with all faults in them: `programs` over a corpus, or fuzzers."""

    def __init__(self, folder, faults, jobs):
        self.folder, self.jobs = os.path.abspath(folder), jobs
        self.tree, self.names = os.path.join(self.folder, "tree"), list(dict.fromkeys(fault.theme for fault in faults))
        for fault in faults:
            if not is_switchable(fault):
                sys.exit(f"{fault.place}: {fault.name}: it changes more than what is inside of functions")
        write_tree(self.tree, SOURCES, faults)

    def build(self, kind, compiler, flags, own):
        """The program of each target, of sources beside its own."""
        folder, unused = os.path.join(self.folder, kind), left_out()
        os.makedirs(folder, exist_ok=True)
        command = [compiler, "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-w", "-MMD", *flags, f"-I{self.tree}/include",
                   f"-I{self.tree}/src", f"-I{HERE}"]

        def compiled(path):
            target = os.path.join(folder, os.path.basename(path)[:-2] + ".o")
            compile_object(target, [*command, "-c", path, "-o", target])
            return target

        shared = [os.path.join(self.tree, "living.c"), *sorted(glob.glob(f"{self.tree}/src/*/*.c"))]
        shared = [path for path in shared if not unused.search(path)]
        shared += [os.path.join(HERE, name) for name in ("fuzz.c", "virtual_platform.c", "virtual_pool.c", *own)]
        models = {name: [f"{HERE}/{name}_fuzz.c", *glob.glob(f"{HERE}/{name}_model*.c")] for name in self.names}
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            common = list(pool.map(compiled, shared))
            models = dict(zip(models, pool.map(lambda paths: [compiled(path) for path in paths], models.values())))
        for name, objects in models.items():
            subprocess.run([compiler, *flags, *common, *objects, "-pthread", "-o", os.path.join(folder, name)],
                           check=True)
        return {name: os.path.join(folder, name) for name in self.names}


def notices(command, seconds, number):
    """What the program says first of a difference; None when it finds none."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds,
                              errors="replace", env=environment(number))
    except subprocess.TimeoutExpired:
        return "hangs"
    if done.returncode == 0:
        return None
    said = [line for line in done.stdout.splitlines() if "DIFFERENCE" in line or "ERROR:" in line]
    return said[0].split(": ", 1)[-1] if said else "ends with %d" % done.returncode


def corpus(name):
    return os.path.join(HERE, "corpus", name)


def extend(found, program, fault):
    """Adds the smallest input of the folder that fails to the corpus; what it says, or None."""
    for path in sorted(glob.glob(os.path.join(found, fault.theme, "*")), key=os.path.getsize):
        said = notices([program, path], 20, fault.number)
        if said is not None:
            shutil.copy(path, corpus(fault.theme))
            return said
    return None


def fuzz(fuzzer, folder, fault, seconds):
    grown = os.path.join(folder, f"grown-{fault.number}")  # the first folder gets what reaches further
    shutil.rmtree(grown, ignore_errors=True)
    os.makedirs(grown)
    return notices([fuzzer, "-max_len=256", f"-max_total_time={seconds}", f"-artifact_prefix={folder}/", grown,
                    corpus(fault.theme)], seconds + 60, fault.number)


def main():
    parser = lists.options(__doc__)
    parser.add_argument("--found")
    parser.add_argument("--fuzz", type=int, default=0)
    given = parser.parse_intermixed_args()
    faults, wrong = lists.load([os.path.join(HERE, "faults", "*.mutants")], SOURCES)
    if lists.only_looks(given, faults, wrong):
        return 0
    chosen = lists.choose(given, faults)
    targets = Targets(given.folder, faults, given.jobs)
    programs = targets.build("corpus", "cc", [], ["replay.c"])
    fuzzers = given.fuzz and targets.build("fuzzers", os.environ.get("CLANG", "clang"),
                                           ["-fsanitize=fuzzer,address,undefined"], [])
    for name, program in programs.items():
        if said := notices([program, corpus(name)], 60, 0):
            sys.exit(f"without a fault {name} says: {said}")

    def try_one(fault):
        program = programs[fault.theme]
        by, said = "corpus", notices([program, corpus(fault.theme)], 20, fault.number)
        if said is None and given.found:
            by, said = "added to the corpus", extend(given.found, program, fault)
        if said is None and given.fuzz:
            by, said = "fuzzing", fuzz(fuzzers[fault.theme], targets.folder, fault, given.fuzz)
        return ("SURVIVED", "") if said is None else ("caught", f"{fault.theme}, {by}: {said}")

    return not lists.try_all(chosen, try_one, given, given.jobs)[1]


if __name__ == "__main__":
    sys.exit(main())
