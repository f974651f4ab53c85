"""The record of what last passed in full, passed.txt: its tree, and how long each step took. `scripts/test --all` alone
writes it."""
import datetime, os

from selection import PASSED, git
from steps import STEPS


def clean_tree():
    """The tree of the last commit, if nothing differs from it; else None."""
    if git("status", "--porcelain") != "":
        return None
    return git("rev-parse", "HEAD^{tree}").strip()


def write(tree, results, total):
    """Whether the tree is noted."""
    if set(results) != {step.name for step in STEPS}:
        print("not noted as passed: not every step has run")
        return False
    if tree is None or tree != clean_tree():
        print("not noted as passed: what ran is not what is committed")
        return False
    skipped = [name for name, (result, _) in results.items() if result == "skipped"]
    if skipped:
        print(f"not noted as passed: skipped {', '.join(skipped)}")
        return False
    with open(PASSED, "w") as file:
        file.write("# What last passed in full, and in how many seconds. scripts/test --all writes it.\n")
        file.write(f"tree\t{tree}\ndate\t{datetime.date.today()}\nprocessors\t{os.cpu_count()}\ntotal\t{total}\n")
        file.writelines(f"{name}\t{seconds}\n" for name, (_, seconds) in results.items())
    print("noted as passed: commit Tests/Steps/passed.txt, and the times in README.md and Tests/README.md")
    return True
