#!/usr/bin/env python3
"""Makes a Swift function of each call in calls.txt and each kind of capture or value, builds them optimized, and runs
them. See scripts/lifetimes.
"""
import argparse, os, re, subprocess, sys, time

from check import Checker, lines_of
from mutants import run_mutants

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# What a closure captures: its name, what makes it, and what uses it.
CAPTURES = [
    ("counted", "let a = Counted(t)", "a.use(t)"),
    ("several", "let a = Plain(t), b = Counted(t), c = [Counted(t), Counted(t)]", "a.use(t); b.use(t); c.use(t)"),
    ("plain", "let a = Plain(t)", "a.use(t)"),
    ("structure", "let a = Holder.make(t)", "a.use(t)"),
    ("closure", "let b = Counted(t), c = Plain(t); let a: @Sendable () -> Void = { b.use(t); c.use(t) }", "a()"),
    ("variable", "nonisolated(unsafe) var n = whole; let a = Counted(t)",
     "n &+= 1; if !(1...99 ~= n &- whole) { Tally.add(t.changed) }; a.use(t)"),
]
KINDS = ["Counted", "Holder", "Plain", "[Counted]", "[String: Counted]", "String", "Action"]
GENERIC = {"ThingHeld", "StoreHeld", "ElementsHeld"}


class Probe:
    def __init__(self, number, family, words, call, kind, line):
        self.number, self.family, self.words, self.call, self.kind, self.line = number, family, words, call, kind, line

    @property
    def name(self):
        return f"{self.call}  [{self.kind[0] if isinstance(self.kind, tuple) else self.kind}]"

    @property
    def is_async(self):
        return "async" in self.words

    def swift(self):
        """The function, and the line that tries it."""
        family, call, before = self.family, self.call, ""
        if isinstance(self.kind, tuple):
            before, call = self.kind[1] + "; " if self.kind[1] else "", call.replace("WORK", self.kind[2])
        else:
            call = call.replace("VALUE", f"{self.kind}.make(t)").replace("KIND", self.kind)
            if family in GENERIC:
                family += f"<{self.kind}>"
        if self.words[0] == "drop":
            call = "_ = " + call
        times = (".anyNumber" if "any" in self.words else ".times(0)" if self.words[0] == "drop" else ".times(1)")
        effects, tries = ("async throws ", "try await ") if self.is_async else ("throws ", "try ")
        function = (f"@inline(never) func {self.words[0]}_{self.number}(_ h: {family}, _ t: Tally) {effects}"
                    f"{{ {before}{call} }}\n")
        label = "later" if self.is_async else "now"
        quoted = self.name.replace("\\", "\\\\").replace('"', '\\"')
        return function, (f'    check({self.number}, "{quoted}", {family}.self, {times}, '
                          f"{label}: {{ {tries}{self.words[0]}_{self.number}($0, $1) }})\n")


def read():
    probes, family = [], None
    for number, line in lines_of("calls.txt"):
        if line.startswith("=="):
            family = line[2:].strip()
            continue
        words, call = line.split(": ", 1)
        words = words.split()
        if words[0] in ("kept", "used"):
            kinds = CAPTURES if "WORK" in call else [("counted", "", "")]
        else:
            kinds = KINDS + (["Unique"] if "unique" in words else [])
        for kind in kinds[:2] if "few" in words else kinds:
            probes.append(Probe(len(probes), family, words, call, kind, number))
    return probes


def write(folder, library):
    """Writes the package."""
    sources = os.path.join(folder, "Sources", "probes")
    os.makedirs(sources, exist_ok=True)
    manifest = open(os.path.join(HERE, "Package.swift")).read().replace('"../.."', f'"{library}"')
    files = {os.path.join(folder, "Package.swift"): manifest}
    for name in os.listdir(os.path.join(HERE, "Support")):
        files[os.path.join(sources, name)] = open(os.path.join(HERE, "Support", name)).read()
    probes, tries, families = read(), [], {}
    for probe in probes:
        function, line = probe.swift()
        families.setdefault(probe.family, []).append(function)
        tries.append(line)
    head = "// Written by probes.py.\nimport Dispatch\nimport SwiftSync\n\n"
    for family, functions in families.items():
        files[os.path.join(sources, f"{family}Probes.swift")] = head + "".join(functions)
    groups = [tries[at:at + 50] for at in range(0, len(tries), 50)]
    files[os.path.join(sources, "All.swift")] = head + "".join(
        f"private func probe{index}() {{\n{''.join(group)}}}\n" for index, group in enumerate(groups)) + (
        "func probeAll() {\n" + "".join(f"    probe{index}()\n" for index in range(len(groups))) + "}\n")
    for path, text in files.items():
        if not os.path.exists(path) or open(path).read() != text:
            open(path, "w").write(text)
    for name in os.listdir(sources):
        if os.path.join(sources, name) not in files:
            os.remove(os.path.join(sources, name))
    return probes


# How the package is built: the flags that each kind of build adds to `-c release`.
BUILDS = {"O": [], "Osize": ["-Xswiftc", "-Osize"], "Ounchecked": ["-Xswiftc", "-Ounchecked"]}


def build(folder, kind, shared=False):
    """`shared`: in the folder of all packages that use the library as it is, and not changed or by other flags."""
    scratch = os.path.join(folder, kind)
    command = ["swift", "build", "-c", "release", "--package-path", folder, "--scratch-path", scratch, *BUILDS[kind]]
    if shared:
        command = [os.path.join(ROOT, "scripts", "build-release"), folder]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode != 0:
        errors = [line for line in done.stdout.splitlines() if "error:" in line]
        sys.exit("\n".join(errors[:20] or done.stdout.splitlines()[-40:]) + "\nprobes: the build failed")
    return os.path.join(done.stdout.split()[-1] if shared else os.path.join(scratch, "release"), "probes")


# Each probe that fails waits 5 s for what should end, so a run stops after so many.
MOST_FAILURES = 20


def run(program, probes):
    """What is wrong, by the probe's number: of MOST_FAILURES probes at most, and then the others are left out."""
    wrong, at = {}, 0
    environment = {**os.environ, "SWIFT_BACKTRACE": "enable=no"}
    while at < len(probes) and len(wrong) < MOST_FAILURES:
        command = [program, "--first", str(at), "--failures", str(MOST_FAILURES - len(wrong))]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                  timeout=60 + 5 * MOST_FAILURES, env=environment)
            output, errors, status = done.stdout, done.stderr, done.returncode
        except subprocess.TimeoutExpired as expired:
            output, errors, status = (expired.stdout or b"").decode(errors="replace"), "", "it hangs"
        last = at
        for line in output.splitlines():
            if found := re.match(r"begin (\d+) ", line):
                last = int(found[1])
            elif found := re.match(r"wrong (\d+) (.*)", line):
                wrong[int(found[1])] = found[2].rpartition("]: ")[2]
        if re.search(r"^end \d+$", output, flags=re.M):
            break
        said = [line for line in errors.splitlines() if "Fatal error" in line]
        wrong[last] = f"the program ended with {status}{': ' + said[0] if said else ''}"
        at = last + 1
    return wrong


def report(wrong, probes):
    """One line for each call."""
    by_line = {}
    for number, text in sorted(wrong.items()):
        by_line.setdefault(probes[number].line, []).append((probes[number], text))
    for line, some in by_line.items():
        kinds = ", ".join(p.kind[0] if isinstance(p.kind, tuple) else p.kind for p, _ in some)
        print(f"FAILED  calls.txt:{line}: {some[0][0].family}: {some[0][0].call}\n"
              f"        with {kinds}: {some[0][1]}", flush=True)


def look(checker, kind):
    """What is wrong besides; returns how much."""
    wrong = checker.wait()
    if not wrong:
        wrong += checker.on_the_stack()
        if kind == "O":
            required = checker.symbols()
            wrong += checker.believed_not_to_escape(required) + checker.without_probe(required) + checker.casts()
    for text in wrong:
        print(f"FAILED  {text}")
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--mutants", nargs=argparse.REMAINDER, help="what Tests/Lifetimes/mutants.py takes")
    options = parser.parse_args()
    folder = os.path.abspath(options.folder)
    if options.mutants is not None:
        return 0 if run_mutants(options.mutants, folder, read(), write, build) else 1
    failed = False
    for kind in BUILDS if options.all else ["O"]:
        began = time.monotonic()
        probes = write(folder, ROOT)
        program = build(folder, kind, shared=kind == "O")
        built = time.monotonic()
        checker = Checker(ROOT, folder, os.path.dirname(program), probes)
        checker.start(kind, f"-{kind}")
        wrong = run(program, probes)
        report(wrong, probes)
        least = "at least " if len(wrong) == MOST_FAILURES else ""
        print(f"-{kind}: {least}{len(wrong)} of {len(probes)} probes failed; built in {built - began:.0f} s, "
              f"run in {time.monotonic() - built:.0f} s", flush=True)
        found = look(checker, kind)
        print(f"-{kind}: {found} more faults; {time.monotonic() - began:.0f} s in all", flush=True)
        failed |= bool(wrong) or found > 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
