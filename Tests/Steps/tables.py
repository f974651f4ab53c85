#!/usr/bin/env python3
"""Writes what documents say of the steps of scripts/test, from the steps and from passed.txt.

    tables.py            writes the table of Tests/README.md, and the time of all steps in README.md
    tables.py --check    says where they differ
"""
import os, re, sys

from selection import ROOT, passed
from steps import STEPS

sys.path.append(os.path.join(ROOT, "Tests"))
from marks import filled_one


def step_table(took):
    lines = ["| step | what it is | runs | last took |", "|---|---|---|--:|"]
    for step in STEPS:
        commands = ", ".join(f"`{re.sub(r' *{[a-z]+}', '', command)}`" for command in step.commands)
        when = "always" if step.always else "by change"
        lines.append(f"| {step.name}, {when} | {step.about} | {commands} | {took.get(step.name, '?')} s |")
    return "\n".join(lines)


def time_of_all(took):
    if not took:
        return "`scripts/test --all` runs every step."
    minutes = round(int(took["total"]) / 60)
    return (f"`scripts/test` runs the steps that a change can affect. All of them, `scripts/test --all`, last took\n"
            f"{minutes} minutes on {took['processors']} processors ([step by step](Tests/README.md)).")


def write(only_check=False):
    """The documents that differed."""
    took, differ = passed(), []
    for path, text in (("Tests/README.md", step_table(took)), ("README.md", time_of_all(took))):
        document = os.path.join(ROOT, path)
        wanted = filled_one(document, "steps", text)
        if wanted != open(document).read():
            differ.append(path)
            if not only_check:
                open(document, "w").write(wanted)
    return differ


def main():
    checks = "--check" in sys.argv
    differ = write(checks)
    for path in differ if checks else ():
        print(f"{path}: it does not say what the steps say; Tests/Steps/tables.py writes it")
    return checks and differ != []


if __name__ == "__main__":
    sys.exit(main())
