#!/usr/bin/env python3
"""Tests the engine of mutants on a source of a page: what is read, chosen, switched and counted.

    check.py
"""
import argparse, contextlib, io, itertools, os, subprocess, sys, tempfile
from unittest import mock

import lists, switched, switched_swift

HEADER = """\
#define MUST_USE __attribute__((warn_unused_result))
MUST_USE static inline int twice(int value) {
    return value + value;
}
"""
SOURCE = """\
#include <stdio.h>
#include "small.h"

#define LIMIT 10

static int bounded(int value) { return value > LIMIT ? LIMIT : value; }

static int apply(int (*function)(int), const int values[], int count) {
    int sum = 0;
    for (int i = 0; i < count; i++) sum += function(values[i]);
    return sum;
}

static __attribute__((noinline)) void count(int *number,
                                            int step) {
    *number += step;
}

int main(void) {
    int number = 0, values[] = { 1, 20 };
    count(&number, 1);
    printf("%d %d %d line %d of %s\\n", apply(bounded, values, 2), twice(3), number, __LINE__, __FILE__);
    return 0;
}
"""
GOOD = """\
= the limit is forgotten
@ small.c
- static int bounded(int value) { return «value > LIMIT ? LIMIT : value»; }
+ value

= a sum begins at one, and its last value counts twice
@ small.c
- int sum = 0;
+     int sum = 10 - 9;
@ small.c
-     return sum;
+     return sum + function(values[count - 1]);

= a sum is always 0
@ small.c
-     return sum;
+     return 0;

= nothing is counted
@ small.c
- *number += step;

= twice is once
@ small.h
- return value + value;
+     return value;

= twice is nothing elsewhere
@ small.h in other
- return value + value;
+     return 0;

= the limit is lower
@ small.c
- #define LIMIT 10
+ #define LIMIT 5
"""
# What each prints that is built with the others; of the last of these the text is for another source.
PRINTED = {"": "11 6 1", "the limit is forgotten": "21 6 1", "a sum is always 0": "0 6 1",
           "a sum begins at one, and its last value counts twice": "22 6 1", "nothing is counted": "11 6 0",
           "twice is once": "11 3 1", "twice is nothing elsewhere": "11 6 1"}
SWIFT = """\
func f() {
    if unsafe g(1, wait: true) {
        h()
    }
}
"""
SWIFT_MUTANTS = """\
= a
@ small.swift
- if g(1, wait: «true») {
+ false
= b
@ small.swift
- if g(1, wait: true) {
- h()
- }
= c
@ small.swift
- }
- }
+ }
= d
@ more.swift
- f()
+ h()
@ small.swift
- h()
+ f()
= e
! alone
@ small.swift
- func f() {
+ func e() {
"""
MORE_SWIFT = "f()\n"
SWITCHED_SWIFT = """\
func f() {
if !swiftMutant(2) {
    if unsafe g(1, wait: (swiftMutant(1) ? (false) : (true))) {
if swiftMutant(4) {
f()
} else {
        h()
}
    }
}
}
"""
# A list that is refused, and what is said of it.
BAD = {
    "= a\n@ small.c\n- int sums = 0;\n": "stands 0 times",
    "= a\n@ small.c\n- }\n": "times in src/small.c, and should stand once",
    "= a\n@ small.d\n- }\n": "there is no src/small.d",
    "= a\n@ small.c\n+ }\n": "it replaces nothing",
    "= a\n": "it replaces nothing",
    "= a\n@ small.c\n- int sum = 0;\n= a\n@ small.c\n- return sum;\n": "another mutant has this name",
    "= a\n@ small.c\n- int sum = 0;\n@ small.c\n- int «sum» = 0;\n+ x\n": "overlap",
    "= a\n@ small.c\n- #define LIMIT 10\n@ small.c\n- int sum = 0;\n@ small.c\n- int «sum» = 0;\n+ x\n": "overlap",
    # Two names of one number.
    "= name 3985819\n@ small.c\n- int sum = 0;\n= name 4420602\n@ small.c\n- return sum;\n": "of the same number",
}

failed = []


def expect(what, found, wanted):
    if found != wanted:
        failed.append(f"{what}: {found!r} instead of {wanted!r}")


def load(folder, text):
    lists.put(os.path.join(folder, "all.mutants"), text)
    return lists.load([os.path.join(folder, "*.mutants")], "src", root=folder)


def check_refused(folder):
    for text, said in BAD.items():
        _, wrong = load(folder, text)
        expect(f"what is said of {text!r}", [one for one in wrong if said in one][:1], wrong[:1] or [said])


def check_switched(folder):
    """Gives the mutants."""
    mutants, wrong = load(folder, GOOD)
    expect("wrong mutants", wrong, [])
    together = [mutant for mutant in mutants if switched.is_switchable(mutant, folder)]
    expect("built together", {"", *(mutant.name for mutant in together)}, set(PRINTED))
    tree, program = os.path.join(folder, "tree"), os.path.join(folder, "program")
    switched.write_tree(tree, "src", together, folder)
    subprocess.run(["cc", "-w", "-DSEEN_IN_small", "-o", program, f"{tree}/small.c", f"{tree}/living.c"], check=True)
    line = SOURCE[:SOURCE.index("__LINE__")].count("\n") + 1
    for name, printed in PRINTED.items():
        number = next((mutant.number for mutant in mutants if mutant.name == name), 0)
        said = subprocess.check_output([program], text=True, env=switched.environment(number))
        expect(f"printed by {name!r}", said, f"{printed} line {line} of src/small.c\n")
    before = os.path.getmtime(f"{tree}/small.c")
    lists.put(f"{tree}/gone.c", "")
    switched.write_tree(tree, "src", together, folder)
    expect("the time of what has not changed", os.path.getmtime(f"{tree}/small.c"), before)
    expect("whether what is no source any more stays", os.path.exists(f"{tree}/gone.c"), False)
    return mutants


def check_alone(folder):
    """What can't be switched."""
    for text in ("! alone\n@ small.c\n- int sum = 0;\n",
                 "@ small.h\n- return value + value;\n@ small.c\n- #define LIMIT 10\n"):
        mutants, _ = load(folder, "= a\n" + text)
        expect(f"whether {text!r} is switched", switched.is_switchable(mutants[0], folder), False)
    for head, names in [("int f(void)", []), ("int f(int (*a)(int, int), char *b[2])", ["a", "b"]),
                        ("int f(const char *text, ...)", None)]:
        expect(f"parameters of {head}", switched.parameters(head), names)


def check_blamed(folder):
    """Who does not compile is found by what the compiler says."""
    mutants, _ = load(folder, GOOD + "\n= broken\n@ small.c\n-     count(&number, 1);\n+     counted(&number\n")
    tree, broken = os.path.join(folder, "tree"), mutants[-1]
    together = [mutant for mutant in mutants if switched.is_switchable(mutant, folder)]
    switched.write_tree(tree, "src", together, folder)
    done = subprocess.run(["cc", "-c", "-o", "/dev/null", f"{tree}/small.c"], stderr=subprocess.PIPE, text=True)
    expect("blamed", [mutant.name for mutant in switched.blamed(done.stderr, together)], [broken.name])


def check_switched_swift(folder):
    """One inside another is switched; one that overlaps another otherwise has a build of its own."""
    for name, text in (("small", SWIFT), ("more", MORE_SWIFT)):
        lists.put(os.path.join(folder, "src", f"{name}.swift"), text)
    mutants, wrong = load(folder, SWIFT_MUTANTS)
    for number, mutant in enumerate(mutants, 1):
        mutant.number = number
    expect("wrong Swift mutants", wrong, [])
    said = switched_swift.generate(SWIFT, switched_swift.nested("src/small.swift", mutants), 0, len(SWIFT))
    expect("the Swift source", said, SWITCHED_SWIFT)
    expect("Swift mutants alone", [mutant.name for mutant in mutants if mutant.alone], ["c", "e"])
    tree = os.path.join(folder, "swift")
    lists.put(os.path.join(tree, "src", "gone.swift"), "")
    os.symlink("small.swift", os.path.join(folder, "src", "link.swift"))
    with mock.patch.object(switched_swift, "ROOT", folder):
        switched_swift.write_tree(tree, ["src"], [mutant for mutant in mutants if not mutant.alone], "// more\n",
                                  lambda path, text: b"edited " + text)
    expect("the Swift files", sorted(os.listdir(os.path.join(tree, "src"))),
           ["more.swift", "small.c", "small.h", "small.swift"])
    for name, wanted in [("src/small.swift", SWITCHED_SWIFT), ("src/small.h", "edited " + HEADER),
                         ("src/more.swift", "if swiftMutant(4) {\nh()\n} else {\nf()\n}\n"),
                         (f"{switched_swift.SOURCES}/SwiftMutant.swift", switched_swift.SWITCH + "// more\n")]:
        expect(name, lists.read(os.path.join(tree, name)), wanted)
    expect("the source of one alone", switched_swift.switched("src/small.swift", SWIFT, mutants[4:]),
           SWIFT.replace("f()", "e()"))


def check_trying(mutants):
    given = lists.options("").parse_intermixed_args(["folder", "twice"])
    expect("chosen by name", [mutant.name for mutant in lists.choose(given, mutants)],
           [mutant.name for mutant in mutants if "twice" in mutant.name])
    given = lists.options("").parse_intermixed_args(["folder", "--files", "src/small.h"])
    expect("chosen by file", len(lists.choose(given, mutants)), 2)
    given = argparse.Namespace(seconds=float("inf"))
    for survivor, line in [(None, "7 of 7"), ("twice is once", "6 of 7")]:
        def try_one(mutant):
            return "SURVIVED" if mutant.name == survivor else "caught", ""

        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            _, caught = lists.try_all(mutants, try_one, given, 2)
        expect("all caught", caught, survivor is None)
        expect("the last line", said.getvalue().splitlines()[-1], f"{line} mutants caught")
    # Each look at the clock takes a second: a trial has two, and one before it begins.
    given, said, now = argparse.Namespace(seconds=2), io.StringIO(), itertools.count()
    with contextlib.redirect_stdout(said), mock.patch.object(lists, "time", mock.Mock(monotonic=lambda: next(now))):
        results, _ = lists.try_all(mutants, lambda mutant: ("caught", ""), given, 1)
    expect("tried in time", list(results), [mutants[0].name])
    expect("what is said of the others", "6 were left out" in said.getvalue(), True)


def check_chosen(mutants):
    """By turn all come, and where nothing has changed none."""
    def chosen(*arguments, count=0, changed=()):
        given = lists.options("").parse_intermixed_args(["folder", *arguments])
        with mock.patch.multiple(lists, git=lambda *_: f"{count}\n", changed_since=lambda _: set(changed)):
            return [mutant.name for mutant in lists.choose(given, mutants)]

    names = [mutant.name for mutant in mutants]
    expect("chosen without any choice", chosen(), names)
    expect("chosen by turn", {name for count in range(4) for name in chosen("--turn", "2", count=count)}, set(names))
    expect("chosen by a change", len(chosen("--changed", "HEAD", changed=["src/small.h", "other"])), 2)
    for arguments in (["--changed", "HEAD"], ["--files"]):
        expect(f"chosen by {arguments} where that is nothing", chosen(*arguments), [])


def check_noted(folder, mutants):
    """A name may have a colon."""
    path, colon = os.path.join(folder, "caught.txt"), lists.Mutant("", "", "one: it ends")
    lists.write_record(path, {"one: it ends": "client", "gone": "other"}, [*mutants, colon])
    expect("noted", lists.read_record(path), {"one: it ends": "client"})
    wrong = [one.partition(" has ")[2] for one in lists.unrecorded(path, mutants[:1])]
    expect("wrong in a record", wrong, ["an unknown mutant: one: it ends", f"nobody for the mutant: {mutants[0].name}"])
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            lists.only_looks(lists.options("").parse_args(["folder"]), mutants, ["it is stale"])
            said = ""
        except SystemExit as ended:
            said = ended.code
    expect("said of a wrong list", "it is stale" in said, True)


def main():
    with tempfile.TemporaryDirectory(prefix="mutants.") as folder:
        lists.put(os.path.join(folder, "src", "small.c"), SOURCE)
        lists.put(os.path.join(folder, "src", "small.h"), HEADER)
        check_refused(folder)
        mutants = check_switched(folder)
        check_alone(folder)
        check_blamed(folder)
        check_switched_swift(folder)
        check_trying(mutants)
        check_chosen(mutants)
        check_noted(folder, mutants)
    print("\n".join(failed + [f"the engine of mutants: {len(failed)} faults"]))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
