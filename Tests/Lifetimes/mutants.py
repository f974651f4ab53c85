"""Breaks one thing at a time that keeps what a user gave, in a copy of the library, and looks whether probes notice.
`scripts/lifetimes mutants`. kept.mutants has the changes, in the form that Tests/Mutants/lists.py describes.

    mutants.py --check    only looks whether each mutant's text stands in its file, and whether each call has a mutant

A mutant covers the calls of calls.txt in which one of its `?` texts stands: in `FAMILY WORD: CALL`, where WORD is
`kept`, `value` and so on, and CALL has no `try` and no `await`. Of each of these calls a probe must notice. Those that
can live in one binary are built together, and switched by the environment. One with `! alone` has a build of its own:
what it breaks is broken only if the optimizer sees nothing else. There one call that notices is enough, and it covers
no call.

Each probe that is to notice waits for what should end, PATIENCE seconds at most. So the probes of the copy in which
nothing is broken have to pass with that patience, and while as many run beside them.
"""
import concurrent.futures, os, re, subprocess, sys, time

from check import HERE, ROOT, lines_of

sys.path.append(os.path.join(os.path.dirname(HERE), "Mutants"))
import lists
from switched import environment
from switched_swift import SOURCES, write_tree

PATIENCE = 1
# Those that fail mostly wait, so there may be more than processors.
AT_ONCE = 4
# A program that takes so long hangs.
LONGEST = 30


# What mutants may call.
LEAK = """
/// Keeps `value` for ever.
@usableFromInline func leakedByMutant<T>(_ value: T) {
    UnsafeMutablePointer<T>.allocate(capacity: 1).initialize(to: value)
}

@usableFromInline func leakedByMutant<T, Result>(_ value: T, _ result: Result) -> Result {
    leakedByMutant(value)
    return result
}
"""


def calls():
    """(number of the line, what the texts of mutants are looked for in) of each call."""
    found, family = [], None
    for number, line in lines_of("calls.txt"):
        if line.startswith("=="):
            family = line[2:].strip()
        else:
            words, call = line.split(": ", 1)
            call = re.sub(r"\b(try|await) ", "", call)
            found.append((number, f"{family} {words.split()[0]}: {call}"))
    return found


def covered_by(mutant):
    return [number for number, text in calls() if any(hint in text for hint in mutant.hints)]


def load():
    """The mutants, and what is wrong: those that are stale or cover nothing, and calls without a mutant."""
    mutants, wrong = lists.load([os.path.join(HERE, "kept.mutants")], SOURCES)
    covered = set()
    for mutant in mutants:
        lines = covered_by(mutant)
        if not lines or not all(any(hint in text for _, text in calls()) for hint in mutant.hints):
            wrong.append(f"{mutant.place}: {mutant.name}: one of its `?` texts stands in no call")
        if not mutant.alone:
            covered.update(lines)
    return mutants, wrong + [f"Tests/Lifetimes/calls.txt:{number}: no mutant covers it: {text}"
                             for number, text in calls() if number not in covered]


def runs(program, number, first, last, seconds=LONGEST):
    """Whether these probes pass under the mutant."""
    command = [program, "--first", str(first), "--last", str(last), "--wait", str(PATIENCE), "--failures", "1"]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=seconds,
                              env={**environment(number), "SWIFT_BACKTRACE": "enable=no"})
        return done.returncode == 0 and b"end 0\n" in done.stdout
    except subprocess.TimeoutExpired:
        return False


def notice(pool, program, number, probes, lines):
    """The lines of which a probe fails. The kinds are tried one after the other, until one does."""
    def one(line):
        return line if any(not runs(program, number, probe.number, probe.number)
                           for probe in probes if probe.line == line) else None

    return [line for line in pool.map(one, lines) if line]


def passes(pool, program, probes):
    """Whether all probes pass where nothing is broken."""
    ends = [len(probes) * part // AT_ONCE for part in range(AT_ONCE + 1)]
    return all(pool.map(lambda part: runs(program, 0, ends[part], ends[part + 1] - 1, 20 * LONGEST), range(AT_ONCE)))


def run_mutants(arguments, folder, probes, write, build):
    """Whether each mutant is noticed. `probes` are those of probes.py, and `write` and `build` make their program."""
    given = lists.options(__doc__).parse_intermixed_args([folder, *arguments])
    began, (mutants, wrong) = time.monotonic(), load()
    if lists.only_looks(given, mutants, wrong):
        return True
    chosen, library = lists.choose(given, mutants), os.path.join(folder, "library")
    texts, switched = dict(calls()), [mutant for mutant in mutants if not mutant.alone]

    def program(*alone):
        write_tree(library, ["Package.swift", "Sources", "Tests"], [*switched, *alone], LEAK)
        write(folder, library)
        return build(folder, "O")

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        together = program()
        print(f"built in {time.monotonic() - began:.0f} s", flush=True)
        if not passes(pool, together, probes):
            print("FAILED  a probe fails where nothing is broken")
            return False

        def try_one(mutant):
            lines = covered_by(mutant)
            binary, number = (program(mutant), 0) if mutant.alone else (together, mutant.number)
            noticed = notice(pool, binary, number, probes, lines)
            missed = [] if mutant.alone and noticed else [line for line in lines if line not in noticed]
            said = "".join(f"\n        calls.txt:{line} does not: {texts[line]}" for line in missed)
            return "MISSED" if missed else "caught", f"{len(noticed)} of {len(lines)} calls notice{said}"

        return lists.try_all(sorted(chosen, key=lambda mutant: mutant.alone), try_one, given, 1)[1]


def main():
    if sys.argv[1:] != ["--check"]:
        sys.exit(__doc__)
    lists.only_looks(lists.options(__doc__).parse_intermixed_args(), *load())


if __name__ == "__main__":
    sys.exit(main())
