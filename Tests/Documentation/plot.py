"""Draws docs/measured.svg from the README's tables of ratios, so that the plot shows nothing that no row says; and
docs/pictures from the first recorded run.

    python3 Tests/Documentation/plot.py            writes the tables of measurements (figures.py), then the plots
    python3 Tests/Documentation/plot.py --check    fails if the tables or the pictures are not what the recorded runs
                                                   give, or the plot is not what the README's tables give; scripts/test
                                                   runs this
"""

import math
import re
import sys
from pathlib import Path

import figures
import report
from report_pages import ratios

README, PLOT, PICTURES = Path("README.md"), Path("docs/measured.svg"), Path("docs/pictures")
WIDTH, LEFT = 860, 470


def plain(cell):
    return re.sub(r"[`*]", "", cell).strip()


def split(cell, count):
    """The parts of a cell, as many as there are values: `a, read; b, read` beside `0.07; 0.74`."""
    parts = [part.strip() for part in plain(cell).split(";")]
    return parts if len(parts) == count else [plain(cell)] * count


def rows():
    """(what, here, beside, least, most) for each value of a table of ratios; less than 1: this library wins."""
    inside = False
    for line in README.read_text().split("\n"):
        if re.match(r"\| what \|.*\| ratio \|$", line):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|---"):
            what, here, beside, ratio = line.strip("|").split("|")
            values = [value.strip() for value in plain(ratio).split(";")]
            for part, peer, value in zip(split(what, len(values)), split(beside, len(values)), values):
                numbers = [float(number) for number in value.split(" to ")]
                if plain(what).startswith(("operations a second", "lookups a second")):
                    numbers = [1 / number for number in numbers]
                yield part, plain(here), peer, min(numbers), max(numbers)


def label(part, here):
    text = f"{here.split('.')[0]}: {part}"
    return text if len(text) <= 74 else text[:73].rstrip() + "…"


def drawn():
    found = sorted(rows(), key=lambda row: math.sqrt(row[3] * row[4]))
    if not found:
        sys.exit(f"{README}: error: no table of ratios was found")
    entries = []
    for part, here, beside, least, most in found:
        middle = math.sqrt(least * most)
        entries.append(ratios.Entry(label(part, here), least, middle, most, "faster" if middle < 1 else "slower",
                                    note=short(beside)))
    return ratios.drawn(
        "measured", "Time taken, as a share of what the other takes",
        f"The {len(found)} ratios of the README's tables, the smallest first.", entries, width=WIDTH, left=LEFT,
        margin=112, note="Ratios within one run on two processors; of operations a second the inverse.").alone()


def short(peer):
    """A peer's name as far as it fits."""
    for long_form, name in (("Dictionary in Synchronization.Mutex", "Mutex"), ("Synchronization.Mutex", "Mutex"),
                            ("AsyncStream with one consumer", "AsyncStream"), ("DispatchQueue.async", "Dispatch"),
                            ("ThreadSpecificVariable (NIO)", "NIO"), ("NIOLockedValueBox", "NIO"),
                            ("NSRecursiveLock", "NSRecursive…"), ("OperationQueue", "Operation…"),
                            ("the best lock in C", "best in C"), ("the best other lock in C", "best in C")):
        if peer == long_form:
            return name
    return peer


def pictures():
    """What each file should hold, and what it shows."""
    yield PLOT, drawn(), "the README's tables"
    run = figures.RUNS / "run-1.tsv"
    for name, text in report.main_drawings(report.Run(run)).items():
        if text is None:
            sys.exit(f"{run}: error: it has no rows for {name}")
        yield PICTURES / name, text, f"{run}"


def main():
    checking = "--check" in sys.argv[1:]
    faults = figures.check() if checking else figures.write()
    for path, text, source in pictures():
        if not checking:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            faults.append(f"{path}: error: it does not show {source}; run python3 Tests/Documentation/plot.py")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
