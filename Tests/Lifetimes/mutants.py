"""Breaks one thing at a time that keeps what a user gave, in a copy of the library, and looks whether probes notice.
`scripts/lifetimes mutants`. kept.mutants has the changes, in the form of Tests/SwiftMutants.

    mutants.py         only looks whether each mutant's text stands in its file, and whether each call has a mutant

A mutant covers the calls of calls.txt in which one of its `?` texts stands: in `FAMILY WORD: CALL`, where WORD is
`kept`, `value` and so on, and CALL has no `try` and no `await`. Of each of these calls a probe must notice. Those that
can live in one binary are built together, and switched by the environment. One with `! alone` has a build of its own:
what it breaks is broken only if the optimizer sees nothing else. There one call that notices is enough, and it covers
no call.

Each probe that is to notice waits for what should end, PATIENCE seconds at most. So the probes of the copy in which
nothing is broken have to pass with that patience, and while as many run beside them.
"""
import concurrent.futures, importlib.util, os, re, subprocess, sys, time

from check import HERE, ROOT, lines_of

path = os.path.join(os.path.dirname(HERE), "SwiftMutants", "mutants.py")
specification = importlib.util.spec_from_file_location("swift_mutants", path)
swift_mutants = importlib.util.module_from_spec(specification)
specification.loader.exec_module(swift_mutants)

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


def parse():
    return swift_mutants.parse(os.path.join(HERE, "kept.mutants"))


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


def faults(mutants):
    """Mutants that are stale or cover nothing, and calls without a mutant."""
    wrong, covered = [], set()
    for mutant in mutants:
        error = mutant.find(open(os.path.join(ROOT, mutant.path)).read())
        lines = covered_by(mutant)
        if not error and not all(any(hint in text for _, text in calls()) for hint in mutant.hints) or not lines:
            error = "one of its `?` texts stands in no call"
        if error:
            wrong.append(f"Tests/Lifetimes/kept.mutants:{mutant.line}: {mutant.name}: {error}")
        if not mutant.alone:
            covered.update(lines)
    wrong += [f"Tests/Lifetimes/calls.txt:{number}: no mutant covers it: {text}"
              for number, text in calls() if number not in covered]
    return wrong


class Copy:
    """The library with mutants in it."""

    def __init__(self, folder):
        self.library = os.path.join(folder, "library")

    def write(self, together, alone=None):
        """Writes only what is new, so that builds are incremental."""
        wanted, by_path = {}, {}
        for mutant in together:
            by_path.setdefault(os.path.join(ROOT, mutant.path), []).append(mutant)
        for mutant in together + ([alone] if alone else []):
            mutant.find(open(os.path.join(ROOT, mutant.path)).read())
        for top in ("Package.swift", "Sources", "Tests"):
            here = os.path.join(ROOT, top)
            for where, _, names in [("", [], [here])] if os.path.isfile(here) else os.walk(here):
                for path in (os.path.join(where, name) for name in names):
                    if not os.path.islink(path):
                        wanted[os.path.relpath(path, ROOT)] = open(path, "rb").read()
        for path, mine in by_path.items():
            source = open(path).read()
            text = swift_mutants.generate(source, swift_mutants.nested(mine), 0, len(source))
            wanted[os.path.relpath(path, ROOT)] = text.encode()
        if alone:
            wanted[alone.path] = alone.alone_in(open(os.path.join(ROOT, alone.path)).read()).encode()
        wanted[f"{swift_mutants.SOURCES}/SwiftMutant.swift"] = (swift_mutants.SWITCH + LEAK).encode()
        for where, _, names in os.walk(self.library):
            for name in names:
                if os.path.relpath(os.path.join(where, name), self.library) not in wanted:
                    os.remove(os.path.join(where, name))
        for short, content in wanted.items():
            path = os.path.join(self.library, short)
            if not os.path.exists(path) or open(path, "rb").read() != content:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                open(path, "wb").write(content)


def runs(program, number, first, last, seconds=LONGEST):
    """Whether these probes pass under the mutant."""
    command = [program, "--first", str(first), "--last", str(last), "--wait", str(PATIENCE), "--failures", "1"]
    environment = {**os.environ, "SWIFT_BACKTRACE": "enable=no", "SWIFT_MUTANT": str(number)}
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=seconds,
                              env=environment)
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


def run_mutants(folder, probes, write, build, names, seconds):
    """Whether each mutant is noticed. `probes` are those of probes.py, and `write` and `build` make their program."""
    began, all_mutants = time.monotonic(), parse()
    wrong = faults(all_mutants)
    if wrong:
        print("\n".join(wrong))
        return False
    mutants = [mutant for mutant in all_mutants if not names or any(name in mutant.name for name in names)]
    copy, caught, left_out = Copy(folder), 0, []
    texts = dict(calls())

    def program(alone=None):
        copy.write([mutant for mutant in all_mutants if not mutant.alone], alone)
        write(folder, copy.library)
        return build(folder, "O")

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        together = None
        for number, mutant in enumerate(sorted(mutants, key=lambda mutant: mutant.alone), 1):
            if time.monotonic() - began > seconds:
                left_out.append(mutant.name)
                continue
            if not mutant.alone and not together:
                together = program()
                print(f"built {time.monotonic() - began:.0f} s", flush=True)
                if not passes(pool, together, probes):
                    print("FAILED  a probe fails where nothing is broken")
                    return False
            binary, at = program(mutant) if mutant.alone else together, time.monotonic()
            lines = covered_by(mutant)
            noticed = notice(pool, binary, 0 if mutant.alone else mutant.number, probes, lines)
            missed = [] if mutant.alone and noticed else [line for line in lines if line not in noticed]
            caught += not missed
            print(f"[{number:2} of {len(mutants)}] {'MISSED ' if missed else ''}{mutant.name}: "
                  f"{len(noticed)} of {len(lines)} calls notice ({time.monotonic() - at:.0f} s)", flush=True)
            for line in missed:
                print(f"        calls.txt:{line} does not: {texts[line]}", flush=True)
    for name in left_out:
        print(f"left out, since {seconds} s are over: {name}")
    print(f"{caught} of {len(mutants) - len(left_out)} mutants caught; {time.monotonic() - began:.0f} s", flush=True)
    return caught == len(mutants) - len(left_out)


def main():
    wrong = faults(parse())
    print("\n".join(wrong + [f"kept.mutants: {len(wrong)} faults"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
