"""Breaks one thing at a time that keeps what a user gave, in a copy of the library, and looks whether a probe notices.
`scripts/lifetimes mutants`. kept.mutants has the changes, in the form of Tests/SwiftMutants.
"""
import importlib.util, os, shutil, sys, time

from check import HERE, ROOT

path = os.path.join(os.path.dirname(HERE), "SwiftMutants", "mutants.py")
specification = importlib.util.spec_from_file_location("swift_mutants", path)
swift_mutants = importlib.util.module_from_spec(specification)
specification.loader.exec_module(swift_mutants)


def copy_of_library(folder):
    library = os.path.join(folder, "library")
    shutil.rmtree(library, ignore_errors=True)
    os.makedirs(library)
    shutil.copy(os.path.join(ROOT, "Package.swift"), library)
    for name in ("Sources", "Tests"):
        shutil.copytree(os.path.join(ROOT, name), os.path.join(library, name), symlinks=True)
    return library


def stale(mutants):
    wrong = []
    for mutant in mutants:
        error = mutant.find(open(os.path.join(ROOT, mutant.path)).read())
        if error:
            wrong.append(f"Tests/Lifetimes/kept.mutants:{mutant.line}: {mutant.name}: {error}")
    return wrong


def run_mutants(folder, write, build, run, names):
    """Returns how many mutants no probe notices. `write`, `build` and `run` are those of probes.py."""
    mutants = swift_mutants.parse(os.path.join(HERE, "kept.mutants"))
    wrong = stale(mutants)
    if wrong:
        print("\n".join(wrong))
        return len(wrong)
    library, survived = copy_of_library(folder), 0
    mutants = [mutant for mutant in mutants if not names or any(name in mutant.name for name in names)]
    for number, mutant in enumerate(mutants, 1):
        began = time.monotonic()
        path = os.path.join(library, mutant.path)
        source = open(path).read()
        mutant.find(source)
        open(path, "w").write(mutant.alone_in(source))
        probes = write(folder, library)
        failed = run(build(folder, "O"), probes)
        open(path, "w").write(source)
        hints = [probes[index].name for index in failed if any(hint in probes[index].name for hint in mutant.hints)]
        result = f"noticed by {len(hints)} probes of {len(failed)}: {hints[0]}" if hints else "NOT NOTICED"
        survived += not hints
        print(f"[{number:2} of {len(mutants)}] {mutant.name}: {result} ({time.monotonic() - began:.0f} s)", flush=True)
    return survived


def main():
    wrong = stale(swift_mutants.parse(os.path.join(HERE, "kept.mutants")))
    print("\n".join(wrong + [f"kept.mutants: {len(wrong)} are stale"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
