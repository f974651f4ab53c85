#!/usr/bin/env python3
"""Breaks one promise of the Swift layer at a time, and reports which test notices.

    mutants.py BUILD_FOLDER [OPTION ...] [NAME ...]    all mutants, or those chosen; --help lists what chooses
        --record    tries the whole suite where no test is known, or where the known one fails to notice, and notes
                    which did
    mutants.py --check                                 only looks whether each mutant's text stands in its file, once

The mutants stand here in files THEME.mutants, in the form that Tests/Mutants/lists.py describes; a path begins in
Sources/SwiftSync, and what is tried first is a test's name, or a part of one. All are built into one copy of the tree,
and switched at run time (Tests/Mutants/switched_swift.py). So one build serves all, and a mutant costs the time of one
test: the one that `caught.txt` names, or the whole suite when that one does not notice. A crash or a hang is noticed
too. Exits 1 when one survives that is not explained, or when one is stale.
"""
import os, re, signal, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "Mutants"))
import lists
from lists import ROOT
from switched import environment
from switched_swift import SOURCES, by_path, nested, write_tree

RECORD = os.path.join(HERE, "caught.txt")
COPIED = ["Sources", "Tests/SwiftSyncTests", "Tests/MainThreadProgram", "Tests/TopLevelProgram", "Package.swift"]
# A hang under a mutant is a failure soon.
WAIT_UNTIL = "Tests/SwiftSyncTests/Support/WaitUntil.swift"
LONGEST_WAIT = b"longestWait = Duration.seconds(600)"
LONGEST_WAIT_OF_A_MUTANT = b"longestWait = Duration.seconds(5)"
CAUGHT = ("failed", "crashed", "hung", "equivalent")


def load():
    """All mutants in the order of their files, and what makes the lists wrong."""
    mutants, wrong = lists.load([os.path.join(HERE, "*.mutants")], SOURCES)
    for mutant in mutants:
        if any(not text.is_expression and text.old and
               text.old[-1].strip().startswith(("defer", "let ", "var ", "guard let")) for text in mutant.texts):
            wrong.append(f"{mutant.place}: {mutant.name}: what it ends with has a meaning for the lines that follow: "
                         "take an expression, or those lines too")
    if lists.read(os.path.join(ROOT, WAIT_UNTIL)).encode().count(LONGEST_WAIT) != 1:
        wrong.append(f"{WAIT_UNTIL} does not hold `{LONGEST_WAIT.decode()}`")
    equivalent = sum(mutant.equivalent is not None for mutant in mutants)
    if equivalent * 20 > len(mutants):
        wrong.append(f"{equivalent} of {len(mutants)} mutants are called equivalent, more than 5 %")
    return mutants, wrong, f", {equivalent} of them equivalent"


def edited(path, text):
    """Without the legacy tests, which test the same."""
    if path == "Package.swift":
        return re.sub(rb"        // What users of the libraries that came before.*?\n        \),\n", b"", text,
                      flags=re.S)
    return text.replace(LONGEST_WAIT, LONGEST_WAIT_OF_A_MUTANT) if path == WAIT_UNTIL else text


class Copy:
    def __init__(self, folder):
        self.folder = os.path.join(os.path.abspath(folder), "tree")
        self.binary = os.path.join(self.folder, ".build/debug/SwiftSyncPackageTests.xctest")

    def build(self, mutants):
        """None, or what the compiler said."""
        write_tree(self.folder, COPIED, mutants, edited=edited)
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
                                   env={**environment(mutant), "SWIFT_BACKTRACE": "enable=no", "NO_COLOR": "1"})
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
        for path, mine in by_path(together).items():
            nested(path, mine)
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

    def __init__(self, copy, record, is_recording):
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
        folder, file = mutant.paths[0].split("/")[-2:]
        stem = re.split(r"[+.]", file)[0]
        names = [name[:-6] for name in os.listdir(os.path.join(ROOT, "Tests/SwiftSyncTests", folder))
                 if name.endswith("Tests.swift")]
        near = [name for name in names if name.startswith(stem)]
        far = [name for name in names if name not in near]
        stages = [[f"/{name}.swift" for name in some] for some in (near, far) if some]
        return [mutant.hints, *stages] if mutant.hints else stages


def passes_without_mutant(copy, filters):
    began = time.monotonic()
    baseline, output, _ = copy.test(0, filters or ["TestStepTests"], 600)
    if baseline != "passed":
        print("".join(line + "\n" for line in output.splitlines() if "✘" in line) or output[-8000:])
        sys.exit(f"mutants.py: without a mutant the tests {baseline}")
    print(f"without a mutant they pass in {time.monotonic() - began:.1f} s", flush=True)


def try_mutant(mutant, copy, runner, tries_equivalent):
    """The result of one mutant, and what says so."""
    if mutant.alone and (error := copy.build([mutant])):
        print(error[-3000:])
        return "BROKEN", "does not compile"
    if mutant.equivalent and not tries_equivalent:
        return "equivalent", mutant.equivalent
    result, detail, _ = runner.try_one(mutant)
    if not mutant.equivalent:
        return result, detail
    return ("equivalent", mutant.equivalent) if result == "SURVIVED" else (
        "WRONG", f"called equivalent, but {detail} notices")


def main():
    given = lists.options(__doc__).parse_intermixed_args()
    began, (mutants, wrong, and_what) = time.monotonic(), load()
    if lists.only_looks(given, mutants, wrong, and_what):
        return 0
    chosen, record, copy = lists.choose(given, mutants), lists.read_record(RECORD), Copy(given.folder)
    together = build_together(copy, mutants)
    print(f"built {len(together)} mutants in {time.monotonic() - began:.0f} s", flush=True)
    passes_without_mutant(copy, sorted({record[m.name] for m in chosen if m.name in record}))
    runner = Runner(copy, record, given.record)

    def try_one(mutant):
        result = try_mutant(mutant, copy, runner, given.record or record.get(mutant.name))
        if given.record:
            lists.write_record(RECORD, record, mutants)
        return result

    # One at a time: some tests need the processors.
    return not lists.try_all(sorted(chosen, key=lambda mutant: mutant.alone), try_one, given, 1, CAUGHT)[1]


if __name__ == "__main__":
    sys.exit(main())
