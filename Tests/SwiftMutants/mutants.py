#!/usr/bin/env python3
"""Breaks one promise of the Swift layer at a time, and reports which test notices.

More than 400 lines: reading, choosing, building, running and recording all turn on the form of a mutant.

    mutants.py BUILD_FOLDER [NAME ...]    the mutants whose names contain one of these texts; without any, all
        --turn N            of all mutants, the N whose turn it is: each commit tries others, until all had theirs
        --changed REVISION  those of the files that have changed since, uncommitted changes included; first those of
                            --turn
        --some N --seed S   N that are drawn
        --seconds S         begins no further mutant so long after the build; says how many it has left out
        --record            tries the whole suite where no test is known, or where the known one fails to notice, and
                            notes which did
        --check             only looks whether each mutant's text stands in its file, once
        --list              prints them

A mutant stands in a file THEME.mutants:

    = the promise that it breaks, which is its name
    @ the file, inside Sources/SwiftSync
    - whole lines, which stand there once   or   - a line, or a part of it, with the «expression» that is replaced
    + what takes their place                     + what takes the place of the expression
    ~ why nobody could notice, if that is so
    ? the tests to begin with where none is known: a name, or a part of one
    ! alone                                       where it needs a build of its own

Neither indentation nor the word `unsafe` before an expression matters. All are built into one copy of the tree,
switched at run time: lines become `if swiftMutant(17) { new } else { old }`, an expression
`(swiftMutant(17) ? new : old)`. So one build serves all, and a mutant costs the time of one test: the one that
`caught.txt` names, or the whole suite when that one does not notice. A crash or a hang is noticed too.

Exits 1 when one survives that is not explained, or when one is stale.
"""
import argparse, collections, glob, os, random, re, signal, subprocess, sys, time, zlib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SOURCES = "Sources/SwiftSync"
RECORD = os.path.join(HERE, "caught.txt")
COPIED = ["Sources", "Tests/SwiftSyncTests", "Tests/MainThreadProgram", "Tests/TopLevelProgram", "Package.swift"]
# A hang under a mutant is a failure soon.
WAIT_UNTIL = "Tests/SwiftSyncTests/Support/WaitUntil.swift"
LONGEST_WAIT = "longestWait = Duration.seconds(600)"
LONGEST_WAIT_OF_A_MUTANT = "longestWait = Duration.seconds(5)"
SWITCH = """\
import Glibc

/// Which mutant is alive in this process; 0: none.
@usableFromInline let livingSwiftMutant: Int32 = getenv("SWIFT_MUTANT").map { atoi($0) } ?? 0

@usableFromInline func swiftMutant(_ number: Int32) -> Bool { livingSwiftMutant == number }
"""


class Mutant:
    """One change of one file, and where in the file it is: `begin..<end`, once `find` has found it."""

    def __init__(self, theme, line, name):
        self.theme, self.line, self.name = theme, line, name
        # From the name, so that a new mutant changes no other's place in the copy.
        self.number = zlib.crc32(name.encode()) & 0x7FFFFFFF
        self.path, self.old, self.new, self.hints, self.equivalent, self.alone = None, [], [], [], None, False
        self.begin = self.end = None

    @property
    def is_expression(self):
        return any("«" in line for line in self.old)

    def pattern(self):
        # The file may say `unsafe` wherever an expression may begin; it stays outside of what is replaced.
        begins = re.compile(r"(^|[ (\[{«])(?=[\w!$&(.-])")
        parts = []
        for line in self.old:
            pieces = re.split("([«»\0])", begins.sub("\\1\0", line.strip()).replace("«\0", "\0«"))
            parts.append("".join({"«": "(", "»": ")", "\0": "(?:unsafe )?"}.get(piece) or re.escape(piece)
                                 for piece in pieces))
        text = r"[ \t]*\n\s*".join(parts)
        return re.compile(text if self.is_expression else r"^([ \t]*" + text + r"[ \t]*\n)", re.M)

    def find(self, source):
        """None, or what is wrong."""
        found = list(self.pattern().finditer(source))
        if len(found) != 1:
            return (f"stale: its text stands {len(found)} times in {self.path}, and should stand once; write its `-` "
                    "lines as the source is now, or drop the mutant if the promise is gone")
        self.begin, self.end = found[0].span(1)
        return None

    def replaced(self, text):
        """The mutant and what it replaces, `text`, which may hold further mutants."""
        new = "\n".join(self.new)
        if self.is_expression:
            return f"(swiftMutant({self.number}) ? ({new}) : ({text}))"
        if not new.strip():
            return f"if !swiftMutant({self.number}) {{\n{text}}}\n"
        return f"if swiftMutant({self.number}) {{\n{new}\n}} else {{\n{text}}}\n"

    def alone_in(self, source):
        new = "\n".join(self.new) + ("" if self.is_expression else "\n")
        return source[:self.begin] + new + source[self.end:]


def parse(path):
    mutants = []
    for number, line in enumerate(open(path).read().split("\n"), 1):
        mark, text = line[:1], line[2:]
        if mark == "=":
            mutants.append(Mutant(os.path.basename(path)[:-8], number, text.strip()))
        elif mark == "@":
            mutants[-1].path = f"{SOURCES}/{text.strip()}"
        elif mark == "-":
            mutants[-1].old.append(text)
        elif mark == "+":
            mutants[-1].new.append(text)
        elif mark == "?":
            mutants[-1].hints.append(text.strip())
        elif mark == "~":
            mutants[-1].equivalent = f"{mutants[-1].equivalent or ''} {text.strip()}".strip()
        elif line.startswith("! alone"):
            mutants[-1].alone = True
        elif line.strip() and mark != "#":
            sys.exit(f"{path}:{number}: what is this? {line}")
    return mutants


def load():
    """All mutants in the order of their files, and what makes the lists wrong."""
    mutants = [mutant for file in sorted(glob.glob(os.path.join(HERE, "*.mutants"))) for mutant in parse(file)]
    wrong = []
    for name, count in collections.Counter(m.name for m in mutants).items():
        if count > 1:
            lines = ", ".join(f"{m.theme}.mutants:{m.line}" for m in mutants if m.name == name)
            wrong.append(f"{name}: the name is there {count} times: {lines}")
    texts = {}
    for mutant in mutants:
        path = os.path.join(ROOT, mutant.path or "")
        if path not in texts:
            texts[path] = open(path).read() if os.path.isfile(path) else None
        error = (f"there is no {mutant.path}" if texts[path] is None
                 else mutant.find(texts[path]) if mutant.old else "it replaces nothing")
        if error:
            pass
        elif not mutant.is_expression and mutant.old[-1].strip().startswith(("defer", "let ", "var ", "guard let")):
            error = "what it ends with has a meaning for the lines that follow: take an expression, or those lines too"
        if error:
            wrong.append(f"Tests/SwiftMutants/{mutant.theme}.mutants:{mutant.line}: {mutant.name}: {error}")
    if open(os.path.join(ROOT, WAIT_UNTIL)).read().count(LONGEST_WAIT) != 1:
        wrong.append(f"{WAIT_UNTIL} does not hold `{LONGEST_WAIT}`")
    return mutants, wrong


# ---------------------------------------------------------------- the copy


def nested(mutants):
    """What fits into one source: each mutant with those inside its text.

    Where two overlap otherwise the later gets a build of its own.
    """
    roots, stack = [], []
    for mutant in sorted(mutants, key=lambda m: (m.begin, -m.end)):
        while stack and stack[-1][0].end <= mutant.begin:
            stack.pop()
        if stack and stack[-1][0].end < mutant.end:
            mutant.alone = True
            continue
        node = (mutant, [])
        (stack[-1][1] if stack else roots).append(node)
        stack.append(node)
    return roots


def generate(source, nodes, begin, end):
    parts, at = [], begin
    for mutant, inside in nodes:
        parts += [source[at:mutant.begin], mutant.replaced(generate(source, inside, mutant.begin, mutant.end))]
        at = mutant.end
    return "".join(parts) + source[at:end]


def put(path, text):
    """Writes only what is new, so that builds are incremental."""
    if os.path.exists(path) and open(path).read() == text:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def manifest(text):
    """Without the legacy tests, which test the same."""
    return re.sub(r"        // What users of the libraries that came before.*?\n        \),\n", "", text, flags=re.S)


def copy_tree(folder, mutants):
    """The tree with `mutants` in it."""
    by_path = {}
    for mutant in mutants:
        by_path.setdefault(mutant.path, []).append(mutant)
    wanted = {f"{SOURCES}/SwiftMutant.swift"}
    put(os.path.join(folder, SOURCES, "SwiftMutant.swift"), SWITCH)
    for top in COPIED:
        files = [top] if os.path.isfile(os.path.join(ROOT, top)) else [
            os.path.relpath(os.path.join(where, name), ROOT)
            for where, _, names in os.walk(os.path.join(ROOT, top)) for name in names]
        for path in files:
            try:
                text = open(os.path.join(ROOT, path)).read()
            except UnicodeDecodeError:
                continue
            if path == "Package.swift":
                text = manifest(text)
            elif path == WAIT_UNTIL:
                text = text.replace(LONGEST_WAIT, LONGEST_WAIT_OF_A_MUTANT)
            elif path in by_path:
                mine = by_path[path]
                lone = [m for m in mine if m.alone]
                if lone:
                    text = lone[0].alone_in(text)
                else:
                    text = generate(text, nested(mine), 0, len(text))
            wanted.add(path)
            put(os.path.join(folder, path), text)
    for top in ("Sources", "Tests"):
        for where, _, names in os.walk(os.path.join(folder, top)):
            for name in names:
                path = os.path.relpath(os.path.join(where, name), folder)
                if path not in wanted:
                    os.remove(os.path.join(folder, path))


class Copy:
    def __init__(self, folder):
        self.folder = os.path.join(os.path.abspath(folder), "tree")
        self.binary = os.path.join(self.folder, ".build/debug/SwiftSyncPackageTests.xctest")

    def build(self, mutants):
        """None, or what the compiler said."""
        copy_tree(self.folder, mutants)
        command = ["swift", "build", "--build-tests", "-Xswiftc", "-gnone", "-Xswiftc", "-suppress-warnings"]
        done = subprocess.run(command, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return None if done.returncode == 0 else done.stdout

    def test(self, mutant, filters, limit):
        """How the tests end under the mutant: ("passed" | "failed" | "crashed" | "hung" | "none", output, seconds)."""
        began = time.monotonic()
        arguments = [part for one in filters for part in ("--filter", one)]
        process = subprocess.Popen([self.binary, "--testing-library", "swift-testing", *arguments],
                                   cwd=self.folder, text=True, errors="replace",
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                                   env={**os.environ, "SWIFT_MUTANT": str(mutant), "SWIFT_BACKTRACE": "enable=no",
                                        "NO_COLOR": "1"})
        try:
            output, _ = process.communicate(timeout=limit)
            result = "passed" if process.returncode == 0 else "failed" if process.returncode > 0 else "crashed"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            result = "hung"
        ran = re.search(r"Test run with (\d+) tests?", output)
        if result in ("passed", "failed") and (not ran or ran[1] == "0") and "recorded an issue" not in output:
            result = "none" if "Test run started" in output else "crashed"
        return result, output, time.monotonic() - began


def blamed(error, copy, mutants):
    """The mutants on whose lines the compiler stopped."""
    found = set()
    for path, line in re.findall(r"^(\S+\.swift):(\d+):\d+: error:", error, flags=re.M):
        path = os.path.relpath(path, copy.folder)
        lines = open(os.path.join(copy.folder, path)).read().split("\n")
        for at in range(int(line) - 1, max(int(line) - 12, -1), -1):
            if numbers := re.findall(r"swiftMutant\((\d+)\)", lines[at]):
                found.update(int(number) for number in numbers)
                break
    return [mutant for mutant in mutants if mutant.number in found]


def build_together(copy, mutants):
    """Builds those that can live in one binary; gives them. The others are marked `alone`."""
    while True:
        together = [m for m in mutants if not m.alone]
        by_path = {}
        for mutant in together:
            by_path.setdefault(mutant.path, []).append(mutant)
        for mine in by_path.values():
            nested(mine)
        together = [m for m in together if not m.alone]
        error = copy.build(together)
        if error is None:
            return together
        culprits = blamed(error, copy, together)
        if not culprits:
            sys.exit(error + "\nmutants.py: the copy does not build")
        for mutant in culprits:
            mutant.alone = True
            print(f"            has a build of its own: {mutant.name}", flush=True)
            for line in re.findall(r"^\S+\.swift:\d+:\d+: error:.*", error, flags=re.M)[:3]:
                print(f"                {os.path.basename(line)}", flush=True)


# ---------------------------------------------------------------- trying


FAILED = re.compile(r"✘ Test (\w+)\(.*?\)(?: with .*?)? (?:recorded an issue|failed)")
STARTED = re.compile(r"◇ Test (\w+)\(.*?\) started")
ENDED = re.compile(r"[✔✘➜] Test (\w+)\(.*?\)(?: with .*?)? (?:passed|failed|skipped)")


def suspects(result, output):
    """Tests that may be those that notice."""
    failed = list(dict.fromkeys(FAILED.findall(output)))
    if result == "failed" and failed:
        return failed
    if result == "failed":
        # On a thread of its own a test is not known by its name.
        return list(dict.fromkeys(STARTED.findall(output)))
    ended = set(ENDED.findall(output))
    return failed + [
        name for name in dict.fromkeys(STARTED.findall(output)) if name not in ended and name not in failed]


class Runner:
    """Tries mutants in the binary of a copy."""

    def __init__(self, copy, record, is_recording, suite_seconds):
        self.copy, self.record, self.is_recording = copy, record, is_recording
        # What takes so long hangs: one test takes a second or two, the suite up to a minute on a busy machine.
        self.limit, self.suite_limit = 15, 300

    def try_one(self, mutant):
        """(result, which test, seconds). Once under the known test, then under the whole suite."""
        number, began = mutant.number if not mutant.alone else 0, time.monotonic()
        known = self.record.get(mutant.name)
        if known:
            result, output, _ = self.copy.test(number, [known], self.limit)
            if result == "none":
                return "STALE", f"its test {known} is not there", time.monotonic() - began
            if result != "passed":
                return result, known, time.monotonic() - began
        for filters in [*self.likely(mutant), []] if self.is_recording else [[]]:
            result, output, _ = self.copy.test(number, filters, self.suite_limit if not filters else 40)
            if result not in ("passed", "none"):
                break
        else:
            return "SURVIVED", "", time.monotonic() - began
        names = suspects(result, output)
        if self.is_recording:
            for name in names[:40]:
                single, _, _ = self.copy.test(number, [rf"/{name}\("], self.limit)
                if single not in ("passed", "none"):
                    self.record[mutant.name] = rf"/{name}\("
                    return single, name, time.monotonic() - began
            said = f"{result} in the suite, but no test alone: {' '.join(names[:4])}"
            return "UNSURE", said, time.monotonic() - began
        return result, f"in the whole suite: {' '.join(names[:3])}", time.monotonic() - began

    def likely(self, mutant):
        """Filters for the tests of the mutant's file, and for those of its folder."""
        folder, file = mutant.path.split("/")[-2:]
        stem = re.split(r"[+.]", file)[0]
        names = [name[:-6] for name in os.listdir(os.path.join(ROOT, "Tests/SwiftSyncTests", folder))
                 if name.endswith("Tests.swift")]
        near = [name for name in names if name.startswith(stem)]
        far = [name for name in names if name not in near]
        stages = [[f"/{name}.swift" for name in some] for some in (near, far) if some]
        return [mutant.hints, *stages] if mutant.hints else stages


def read_record():
    if not os.path.exists(RECORD):
        return {}
    return dict(line.rstrip("\n").rsplit(": ", 1) for line in open(RECORD) if ": " in line)


def write_record(record, mutants):
    with open(RECORD, "w") as file:
        file.writelines(f"{m.name}: {record[m.name]}\n" for m in mutants if m.name in record)


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def choose(options, mutants):
    chosen = []
    if options.names:
        chosen += [m for m in mutants if any(text in m.name for text in options.names)]
    if options.turn:
        first = int(git("rev-list", "--count", "HEAD")) * options.turn
        chosen += [mutants[(first + index) % len(mutants)] for index in range(min(options.turn, len(mutants)))]
    if options.changed:
        changed = set(git("diff", "--name-only", options.changed).split())
        chosen += [m for m in mutants if m.path in changed]
    if options.some:
        chosen += random.Random(options.seed).sample(mutants, min(options.some, len(mutants)))
    if not (options.names or options.turn or options.changed or options.some):
        chosen = list(mutants)
    return list(dict.fromkeys(chosen))


def table(mutants, results):
    themes = list(dict.fromkeys(m.theme for m in mutants))
    print(f"\n{'':16} {'mutants':>8} {'failed':>8} {'crashed':>8} {'hung':>8} {'equivalent':>11} {'survived':>9} "
          f"{'other':>6}")
    for theme in themes + ["all"]:
        mine = [results[m.name] for m in mutants if m.name in results and theme in (m.theme, "all")]
        counts = [sum(r == kind for r in mine) for kind in ("failed", "crashed", "hung", "equivalent", "SURVIVED")]
        print(f"{theme:16} {len(mine):8} {counts[0]:8} {counts[1]:8} {counts[2]:8} {counts[3]:11} {counts[4]:9} "
              f"{len(mine) - sum(counts):6}")


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--turn", type=int)
    parser.add_argument("--changed", metavar="REVISION")
    parser.add_argument("--some", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def load_or_exit():
    mutants, wrong = load()
    equivalent = sum(m.equivalent is not None for m in mutants)
    if equivalent * 20 > len(mutants):
        wrong.append(f"{equivalent} of {len(mutants)} mutants are called equivalent, more than 5 %")
    if wrong:
        sys.exit("\n".join(wrong) + f"\n{len(wrong)} mutants are stale or wrong")
    return mutants, equivalent


def seconds_without_mutant(copy, filters):
    baseline, output, seconds = copy.test(0, filters or ["TestStepTests"], 600)
    if baseline != "passed":
        print("".join(line + "\n" for line in output.splitlines() if "✘" in line) or output[-8000:])
        sys.exit(f"mutants.py: without a mutant the tests {baseline}")
    print(f"without a mutant they pass in {seconds:.1f} s", flush=True)
    return seconds


def try_mutant(mutant, copy, runner, recorded):
    """The result of one mutant, what says so, and the seconds that it took."""
    if mutant.alone and (error := copy.build([mutant])):
        print(error[-3000:])
        return "BROKEN", "does not compile", 0
    if mutant.equivalent and not recorded:
        return "equivalent", mutant.equivalent, 0
    result, detail, spent = runner.try_one(mutant)
    if result == "SURVIVED" and mutant.equivalent:
        return "equivalent", mutant.equivalent, spent
    if mutant.equivalent:
        return "WRONG", f"called equivalent, but {detail} notices", spent
    return result, detail, spent


def main():
    options = read_options()
    began = time.monotonic()
    mutants, equivalent = load_or_exit()
    if options.list:
        for mutant in mutants:
            why = f"\n{'':15}equivalent: {mutant.equivalent}" if mutant.equivalent else ""
            print(f"{mutant.theme:14} {mutant.name}" + why)
    if options.check or options.list:
        print(f"{len(mutants)} mutants, {equivalent} of them equivalent; each text stands where it should")
        return 0

    chosen = choose(options, mutants)
    record = read_record()
    copy = Copy(options.folder)
    together = build_together(copy, mutants)
    print(f"built {len(together)} mutants in {time.monotonic() - began:.0f} s", flush=True)

    results = {}
    seconds = seconds_without_mutant(copy, sorted({record[m.name] for m in chosen if m.name in record}))
    runner = Runner(copy, record, options.record, seconds)
    tries_began = time.monotonic()
    order = [m for m in chosen if not m.alone] + [m for m in chosen if m.alone]
    left_out = 0
    for index, mutant in enumerate(order, 1):
        if time.monotonic() - tries_began > options.seconds:
            left_out = len(order) - index + 1
            break
        result, detail, spent = try_mutant(mutant, copy, runner, options.record or record.get(mutant.name))
        results[mutant.name] = result
        print(f"[{index:3}/{len(order)}] {result:10} {mutant.name:90} {spent:5.1f} s  {detail[:110]}", flush=True)
        if options.record:
            write_record(record, mutants)
    table(mutants, results)
    good = sum(r in ("failed", "crashed", "hung", "equivalent") for r in results.values())
    if left_out:
        print(f"{left_out} were left out, since {options.seconds:.0f} s were over; all are tried by scripts/soak")
    print(f"{good} of {len(results)} Swift mutants caught, in {time.monotonic() - began:.0f} s")
    return 0 if good == len(results) and results else 1


if __name__ == "__main__":
    sys.exit(main())
