#!/usr/bin/env python3
"""Tests the engine of mutants on a source of a page: what is read, chosen, switched and counted.

    check.py
"""
import argparse, contextlib, io, os, subprocess, sys, tempfile

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
+     int sum = 1;
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
"""
SWITCHED_SWIFT = """\
func f() {
if !swiftMutant(2) {
    if unsafe g(1, wait: (swiftMutant(1) ? (false) : (true))) {
        h()
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
    switched.write_tree(tree, "src", together, folder)
    expect("the time of what has not changed", os.path.getmtime(f"{tree}/small.c"), before)
    return mutants


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
    lists.put(os.path.join(folder, "src", "small.swift"), SWIFT)
    mutants, wrong = load(folder, SWIFT_MUTANTS)
    for number, mutant in enumerate(mutants, 1):
        mutant.number = number
    expect("wrong Swift mutants", wrong, [])
    said = switched_swift.generate(SWIFT, switched_swift.nested("src/small.swift", mutants), 0, len(SWIFT))
    expect("the Swift source", said, SWITCHED_SWIFT)
    expect("Swift mutants alone", [mutant.name for mutant in mutants if mutant.alone], ["c"])


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


def main():
    with tempfile.TemporaryDirectory(prefix="mutants.") as folder:
        lists.put(os.path.join(folder, "src", "small.c"), SOURCE)
        lists.put(os.path.join(folder, "src", "small.h"), HEADER)
        check_refused(folder)
        mutants = check_switched(folder)
        check_blamed(folder)
        check_switched_swift(folder)
        check_trying(mutants)
    print("\n".join(failed + [f"the engine of mutants: {len(failed)} faults"]))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
