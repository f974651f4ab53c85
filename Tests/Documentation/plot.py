"""Draws docs/measured.svg from the rows of the README's tables of ratios, and docs/pictures from the first recorded
run.

    python3 Tests/Documentation/plot.py            writes the tables of measurements (figures.py), then the plots
    python3 Tests/Documentation/plot.py --check    fails if the tables or the plots are not what the recorded runs give,
                                                   or a drawing of docs can't be read in every viewer; scripts/test
                                                   runs this
"""

import math
import sys
import xml.etree.ElementTree as tree
from pathlib import Path

import figures
import report
from report_pages import ratios
from report_pages.rows import verdict
from report_pages.words import MORE_IS_BETTER

sys.path.insert(0, str(figures.ROOT / "Tests/Report"))
import drawings  # noqa: E402

PLOT, PICTURES = Path("docs/measured.svg"), Path("docs/pictures")
WIDTH, LEFT = 860, 470


def rows():
    """(what, here, beside, least, most) for each row of the README's tables; less than 1: this library wins."""
    for row, found in figures.readme_rows([report.load(path) for path in sorted(figures.RUNS.glob("*.tsv"))]):
        shares = [1 / ratio for ratio in found] if row.metric in MORE_IS_BETTER else found
        yield row.readme.replace("`", ""), *(name.replace("`", "") for name in row.names), min(shares), max(shares)


def label(part, here):
    text = f"{here.split('.')[0]}: {part}"
    return text if len(text) <= 74 else text[:73].rstrip() + "…"


def drawn():
    found = sorted(rows(), key=lambda row: math.sqrt(row[3] * row[4]))
    if not found:
        sys.exit("Tests/Documentation/plot.py: error: no recorded run has a row of the README's tables")
    entries = []
    for part, here, beside, least, most in found:
        middle = math.sqrt(least * most)
        entries.append(ratios.Entry(label(part, here), least, middle, most, verdict(least, middle, most),
                                    note=short(beside)))
    return ratios.drawn(
        "measured", "Time taken, as a share of what the other takes",
        f"The {len(found)} ratios of the README's tables, the smallest first.", entries, width=WIDTH, left=LEFT,
        note="Ratios within one run on two processors; of operations a second the inverse. Grey squares: too close to "
             "tell.").alone()


def short(peer):
    """A peer's name as far as it fits."""
    for long_form, name in (("Dictionary in Synchronization.Mutex", "Mutex"), ("Synchronization.Mutex", "Mutex"),
                            ("AsyncStream with one consumer", "AsyncStream"), ("DispatchQueue.async", "Dispatch"),
                            ("DispatchQueue.sync, barrier", "Dispatch, barrier"),
                            ("a semaphore of continuations", "continuations"),
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


# What is planted in the plot, each of which must be noticed.
PLANTED = {
    "a colour from a variable": ('fill="#0550c8"', 'fill="var(--faster)"'),
    "a label over a mark": ('<text class="small end', '<text dx="-150" class="small end'),
    "a label that is cut": ('<text class="head"', '<text dx="700" class="head"'),
    "a tie that counts as faster": ("whisker even", "whisker faster"),
}


def unreadable():
    """Drawings of the documentation that some viewers show in black, or whose labels or verdicts are wrong."""
    for path in sorted(Path("docs").rglob("*.svg")):
        text = path.read_text(encoding="utf-8")
        if path.with_suffix(".dot").exists():
            found = ["a colour from a variable"] if "var(" in text else []  # the rest is dot's
        else:
            found = drawings.faults(tree.fromstring(text))
        yield from (f"{path}: error: {fault}" for fault in found)
    text = drawn()
    for fault, planted in PLANTED.items():
        changed = text.replace(*planted)
        if changed == text or not list(drawings.faults(tree.fromstring(changed))):
            yield f"Tests/Documentation/plot.py: error: a planted fault is not noticed: {fault}"


def main():
    checking = "--check" in sys.argv[1:]
    faults = figures.check() if checking else figures.write()
    for path, text, source in pictures():
        if not checking:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            faults.append(f"{path}: error: it does not show {source}; run python3 Tests/Documentation/plot.py")
    if checking:
        faults += unreadable()
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
