#!/usr/bin/env python3
"""Compiles snippets, and looks what the compiler has against them. See scripts/snippets."""
import os, sys, time

import contexts, proposed, races, written
from compiler import ROOT, Compiler
from symbols import functions

PARTS = {"refused": races.check, "written": written.check, "proposed": proposed.check,
         "calls": contexts.check}


def main():
    modules, names = sys.argv[1], sys.argv[2:] or list(PARTS)
    if unknown := [name for name in names if name not in PARTS]:
        sys.exit(f"there is no part {unknown[0]}; there are {', '.join(PARTS)}")
    began, faults = time.monotonic(), 0

    def say(text):
        print(f"[{time.monotonic() - began:3.0f} s] {text}", flush=True)

    compiler = Compiler(os.path.join(ROOT, ".build-snippets"), modules)
    public = functions(compiler)
    say(f"{len(public)} public functions and initializers")
    for name in names:
        wrong = PARTS[name](compiler, public, say)
        for text in wrong:
            print(f"FAILED  {text}", flush=True)
        faults += len(wrong)
    say(f"{faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
