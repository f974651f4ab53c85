#!/usr/bin/env python3
"""Tests what a change selects.

    selection_test.py              what has changed; which functions a change of a source changes, and which clients
                                   and steps it selects; and the table of steps: each pattern stands for a file, and
                                   only the steps' own files select everything
    selection_test.py --mutants    plants each mutant of the kernel as a change: the client that is known to notice it
                                   must be among those that are selected. Then plants a mutant in a file that a commit
                                   has changed, for each of 50 commits: what is selected must notice
"""
import contextlib, fnmatch, functools, os, shutil, subprocess, sys, tempfile, zlib
from unittest import mock

import changes, selection
from selection import ROOT, git, matches, steps_of
from run import predecessors
from steps import EVERYTHING, READ_ALWAYS, STEPS

for folder in ("Explorer", "Mutants"):
    sys.path.append(os.path.join(ROOT, "Tests", folder))
import lists
from build import UNEXPLORED

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
            yield f"{path}: " + ("no step of Tests/Steps/steps.py names it" if steps_of(path) is None else
                                 "a step names it, though everything depends on it")


@functools.cache
def entered():
    """Asked once, whatever the answer: it takes seconds."""
    return selection.reached(selection.REACHED)


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


A_C, A_H, B_C = ("Sources/CSyncKernel/" + name for name in ("src/a/a.c", "include/a.h", "src/b/b.c"))
ENTERED = {(A_C, "f"): {"one"}, (A_C, "csk_g"): {"two"}, (B_C, "csk_g"): {"four"}, (A_H, "h"): {"three"}}
BEFORE = "int y = 1;\n" + "".join(f"int {name}(void) {{ return 1; }}\n" for name in ("f", "csk_g", "h", "k"))
# What changes of which files, and the clients that may notice; None: all.
AFFECTED = [
    ({A_C: "f"}, {"one"}), ({A_H: "h"}, {"three"}), ({A_C: "f", A_H: "h"}, {"one", "three"}), ({A_C: "none"}, set()),
    # What is declared in several files, has no entry in its own, or stands outside of functions.
    ({A_C: "csk_g"}, {"two", "four"}), ({A_C: "k"}, {"one", "two"}), ({A_H: "k"}, None), ({A_C: "y"}, {"one", "two"}),
    ({A_H: "y"}, None), ({"Sources/CSyncKernel/src/a/new.c": "y"}, None), ({A_C: "f", A_H: "y"}, None),
    ({f"Sources/CSyncKernel/src/a/{UNEXPLORED[0]}.c": "y"}, set()),
    ({f"Sources/CSyncKernel/src/a/{UNEXPLORED[0]}.h": "y"}, None),
    ({"Tests/Explorer/hooks.h": "y"}, None), ({"README.md": "y", A_C: "f"}, {"one"}),
]


def check_clients():
    for changes, wanted in AFFECTED:
        def now(path):
            return BEFORE.replace(f"{changes[path]}(void) {{ return 1", f"{changes[path]}(void) {{ return 2").replace(
                "y = 1", "y = 2" if changes[path] == "y" else "y = 1")

        found, why = selection.clients_of(list(changes), lambda path: BEFORE, now, lambda: ENTERED)
        if found != wanted or (found is None) != (why is not None):
            yield f"clients that a change of {changes} affects: {found}, and should be {wanted}"

    def does_not_build():
        raise subprocess.CalledProcessError(1, "cc")

    for fails, wanted in [(does_not_build, "does not build"), (lambda: sys.exit("no source a"), "no source a")]:
        found, why = selection.clients_of([A_C], lambda path: "", lambda path: BEFORE, fails)
        if found is not None or wanted not in why:
            yield f"clients, where the explorer does not build: {found}, {why}, and should be all, {wanted}"
    names = set().union(*(selection.clients_in(path) for path in git("ls-files").split("\n")
                          if selection.CLIENT_FILE.match(path)))
    for client in set(lists.read_record("Tests/Explorer/mutants_caught.txt").values()):
        if not matches(client, names):
            yield f"client {client}: no pattern of a file of clients stands for it"


def named(*parts):
    """The steps that always run, and those whose names have one of the parts."""
    return {step.name for step in STEPS if step.always or any(part in step.name for part in parts)}


def check_selected():
    """What some changes select, each made to the last commit's file."""
    guide, source = "Sources/SwiftSync/SwiftSync.docc/CGuide.md", "Sources/CSyncKernel/src/lock/mutex.c"
    unexplored = next(path for path in git("ls-files").split("\n") if path.endswith(f"/{UNEXPLORED[0]}.c"))
    by_clients = named("schedules") - named()
    for path, more, wanted, without in [
            ("README.md", "A word.\n", named(), by_clients | named("samples") - named()),
            ("README.md", "```swift\nf()\n```\n", named("samples"), by_clients),
            ("README.md", "<!-- file:\na.swift -->\n", named("samples"), by_clients),
            (guide, "A word.\n", named("samples"), by_clients),
            (unexplored, "int more;\n", named("sanitizers", "mutants") - {"Swift mutants"}, by_clients),
            (source, "int more;\n", named("sanitizers", "schedules", "models"), set()),
            ("what/nobody.names", "", named(""), set())]:
        chosen = selection.select([path], "HEAD", lambda path: (git("show", f"HEAD:{path}") or "") + more,
                                  lambda: {(source, "f"): {"b", "a"}})
        if not wanted <= set(chosen.reasons) or without & set(chosen.reasons):
            yield f"a change of {path} by {more!r} selects {sorted(chosen.reasons)}"
        if chosen.clients != (["a", "b"] if path == source else None):
            yield f"a change of {path} selects the clients {chosen.clients}"


def check_words():
    """What is said of a change that selects everything, and of a folder that git does not know."""
    for path, wanted in [("scripts/setup", "everything: all steps depend on scripts/setup"),
                         ("scripts/a b", "everything: no step of Tests/Steps/steps.py names scripts/a b")]:
        if (notes := selection.select([path], "HEAD").notes) != [wanted]:
            yield f"of a change of {path} is said: {notes}, and should be {wanted}"
    with repository() as (folder, put, commit):
        put(**{"scripts/ä": ""})
        for record, wanted in [("", "there is no record"), (f"tree\t{'1' * 40}\n", "this clone lacks")]:
            put(**{".git/passed.txt": record})
            if wanted not in (note := selection.selection_of_change().notes[0]):
                yield f"of the record {record!r} is said: {note}, and should be: {wanted}"
        git("add", "--all")
        tree = git("write-tree").strip()
        for path, wanted in [("scripts/ä", "0 files differ"), ("scripts/ö", "1 file differs")]:
            put(**{".git/passed.txt": f"tree\t{tree}\ndate\ttoday\n", path: ""})
            if not (notes := selection.selection_of_change().notes)[0].startswith(wanted):
                yield f"of {path} is said: {notes}, and should be: {wanted}"
        if not notes[-1].endswith("scripts/ö"):
            yield f"of the name scripts/ö is said: {notes[-1]}"
        shutil.rmtree(os.path.join(folder, ".git"))
        put(passed=f"tree\t{tree}\n")
        with mock.patch.object(selection, "PASSED", os.path.join(folder, "passed")), \
                mock.patch.dict(os.environ, {"GIT_CEILING_DIRECTORIES": os.path.dirname(folder)}):
            if "no git repository" not in (note := selection.selection_of_change().notes[0]):
                yield f"of a folder without git is said: {note}"


@contextlib.contextmanager
def repository():
    """One of its own, at which the selection looks, as a folder; and what writes files there, and what commits all."""
    def put(**texts):
        for name, text in texts.items():
            lists.put(os.path.join(folder, name), text)

    def commit():
        git("add", "--all")
        git("-c", "user.name=a", "-c", "user.email=a", "commit", "--quiet", "--no-gpg-sign", "--message", "a")

    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ), \
            mock.patch.object(changes, "ROOT", folder), \
            mock.patch.multiple(selection, ROOT=folder, PASSED=os.path.join(folder, ".git", "passed.txt")):
        # In a hook these name the repository that it belongs to.
        for name in [name for name in os.environ if name.startswith("GIT_")]:
            del os.environ[name]
        git("init", "--quiet")
        if not os.path.samefile(git("rev-parse", "--show-toplevel").strip(), folder):
            sys.exit("selection_test.py: this would write into another repository")
        yield folder, put, commit


def check_changed():
    """Which files have changed since a tree, and that one that is not known selects all."""
    with repository() as (folder, put, commit):
        put(**{".gitignore": "ignored\n", **{name: f"{name}\n" * 9 for name in ("same", "gone", "moved", "edited",
                                                                               "staged", "committed")}})
        commit()
        tree = git("rev-parse", "HEAD^{tree}").strip()
        for record, all_of_it in [("", True), (f"tree\t{'1' * 40}\n", True), (f"tree\t{tree}\n", False)]:
            put(**{".git/passed.txt": record})
            if (set(selection.selection_of_change().reasons) == named("")) != all_of_it:
                yield f"whether the record {record!r} selects everything: {not all_of_it}"
        put(committed="now")
        commit()
        put(edited="now", staged="now", untracked="now", ignored="now")
        git("add", "staged")
        git("mv", "moved", "to")
        os.remove(os.path.join(folder, "gone"))
        found, wanted = selection.changed_since(tree), "committed edited gone moved staged to untracked".split()
        if found != wanted:
            yield f"what has changed: {found}, and should be {wanted}"
        if not {"committed", "edited", "staged", "to", "untracked"} <= set(lists.changed_since(tree)):
            yield f"whose mutants have changed: {lists.changed_since(tree)}"


def main():
    os.chdir(ROOT)
    if git("ls-files") is None:
        sys.exit("what a change selects: this is no git repository")
    if "--mutants" in sys.argv:
        wrong = list(check_mutants())
    else:
        wrong = [*check_changed(), *check_changes(), *check_clients(), *check_selected(), *check_words(),
                 *check_patterns(git("ls-files").split("\n")[:-1])]
    print("\n".join([*wrong, f"what a change selects: {len(wrong)} faults"]))
    return wrong != []


if __name__ == "__main__":
    sys.exit(main())
