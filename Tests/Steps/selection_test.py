#!/usr/bin/env python3
"""Tests what a change selects.

    selection_test.py              which functions a change of a source changes; and the table of steps: each pattern
                                   stands for a file, and only the steps' own files select everything
    selection_test.py --mutants    plants each mutant of the kernel as a change: the client that is known to notice it
                                   must be among those that are selected. Then plants a mutant in a file that a commit
                                   has changed, for each of 50 commits: what is selected must notice
"""
import fnmatch, os, sys, zlib

import selection
from selection import ROOT, git, matches, steps_of
from run import predecessors
from steps import READ_ALWAYS, STEPS

for folder in ("Explorer", "Mutants"):
    sys.path.append(os.path.join(ROOT, "Tests", folder))
import lists

# What everything depends on.
EVERYTHING = ("Tests/Steps/*.py", "Tests/Steps/traits", "scripts/test", "scripts/setup", "scripts/find-clang",
              "scripts/build-release")
KERNELS, SWIFTS = "Tests/Explorer/mutants/*.mutants", "Tests/SwiftMutants/*.mutants"
COMMITS = 50


def linked(files):
    """By symbolic link the files that it stands for."""
    for path in files:
        if os.path.islink(path):
            target = os.path.relpath(os.path.realpath(path))
            yield path, [file for file in files if file == target or file.startswith(target + "/")]


def check_patterns(files):
    names = {step.name for step in STEPS}
    for path, targets in linked(files):
        for target in targets:
            if missing := set(steps_of(path) or ()) - set(steps_of(target) or names):
                yield f"{target}: {', '.join(sorted(missing))} read it as {path}, and don't name it"
    for step in STEPS:
        for name in step.after:
            if name not in names or step.name in predecessors(step):
                yield f"step {step.name}: it can't begin after {name}"
        for pattern in step.inputs:
            if not fnmatch.filter(files, pattern):
                yield f"step {step.name}: {pattern} stands for no file"
    for pattern in READ_ALWAYS:
        if not fnmatch.filter(files, pattern):
            yield f"READ_ALWAYS: {pattern} stands for no file"
    for path in files:
        if (steps_of(path) is None) != matches(path, EVERYTHING):
            yield f"{path}: " + ("no step says that it depends on it" if steps_of(path) is None else
                                 "a step names it, though everything depends on it")


def entered():
    """Asked once: it takes seconds."""
    if not entered.known:
        entered.known = selection.reached(selection.REACHED)
    return entered.known


entered.known = None


def is_met(mutant, paths, tree, client):
    """Whether what a change of the paths selects, with the mutant in it, notices the mutant."""
    def text(path):
        source = lists.read(os.path.join(ROOT, path)) or ""
        return mutant.changed(path, source) if path in mutant.paths else source

    chosen = selection.select(paths, tree, text, entered)
    if client is None:
        return "Swift mutants" in chosen.reasons and "Swift tests" in chosen.reasons
    return "schedules" in chosen.reasons and (
        chosen.clients is None or any(fnmatch.fnmatchcase(client, one) for one in chosen.clients))


def check_mutants():
    """As a change of its files alone."""
    record = lists.read_record(os.path.join(ROOT, "Tests/Explorer/mutants_caught.txt"))
    kernels = lists.load([os.path.join(ROOT, KERNELS)], "Sources/CSyncKernel")[0]
    for mutant in kernels:
        if not is_met(mutant, mutant.paths, "HEAD", record[mutant.name]):
            yield f"{mutant.place}: {mutant.name}: {record[mutant.name]} notices it, and would not be selected"
    print(f"{len(kernels)} mutants of the kernel, each as a change")
    swifts = lists.load([os.path.join(ROOT, SWIFTS)], "Sources/SwiftSync")[0]
    yield from check_commits([(m, record[m.name]) for m in kernels] + [(m, None) for m in swifts])


def check_commits(mutants):
    """One mutant for each commit, drawn by the commit's name."""
    seen = 0
    for commit in (git("log", "--format=%H", "--no-merges", "-n", "1000") or "").split():
        paths = [path for path in git("show", "--format=", "--name-only", commit).split("\n") if path]
        planted = [one for one in mutants if set(one[0].paths) & set(paths)]
        if planted:
            seen += 1
            mutant, client = planted[zlib.crc32(commit.encode()) % len(planted)]
            if not is_met(mutant, paths, "HEAD", client):
                yield f"{commit[:8]}: it would not be noticed: {mutant.name}"
        if seen == COMMITS:
            break
    print(f"{seen} commits, each with a mutant in a file that it has changed")


# A source before and after a change, and the functions that have changed; None: more than functions.
CHANGES = [
    ("int f(void) {\n    return 1;\n}\n", "int f(void) {\n    return 2;\n}\n", {"f"}),
    ("int f(void) { return 1; }\n", "/* one */\n\nint f(void) { return 1; } // two\n", set()),
    ("int f(void) {\n    g(\"a  b\");\n}\n", "int f(void) {\n    g(\"a b\");\n}\n", {"f"}),
    ("int f(void) {\n    g('\"', \"//\", 1);\n}\n", "int f(void) {\n    g('\"', \"//\", 2);\n}\n", {"f"}),
    ("int f(int a,\n      int b);\nint g(void) { return 1; }\n",
     "int f(int a,\n      int b);\nint g(void) { return 2; }\n", {"g"}),
    ("#if A\nint f(void) { return 1; }\n#else\nint f(void) { return 2; }\n#endif\n",
     "#if A\nint f(void) { return 3; }\n#else\nint f(void) { return 2; }\n#endif\n", {"f"}),
    ("#if A\nint f(void) { return 1; }\n#endif\nint g(void) { return 1; }\n",
     "#if A\nint f(void) { return 1; }\nint g(void) { return 1; }\n#endif\n", None),
    ("int f(void) { return 1; }\nint g(void) { return 1; }\n", "int f(void) { return 1; }\n", None),
    ("#define X\nint y;\n", "#define X int y;\n", None),
    ("static int a = 1;\n", "static int a = 2;\n", None),
]


def check_changes():
    for before, now, wanted in CHANGES:
        if (found := selection.changed_functions(before, now)) != wanted:
            yield f"from {before!r} to {now!r}: {found}, and should be {wanted}"


def main():
    os.chdir(ROOT)
    if "--mutants" in sys.argv:
        wrong = list(check_mutants())
    else:
        wrong = [*check_changes(), *check_patterns(git("ls-files").split("\n")[:-1])]
    print("\n".join([*wrong, f"what a change selects: {len(wrong)} faults"]))
    return wrong != []


if __name__ == "__main__":
    sys.exit(main())
