"""Time taken as a share of what a peer takes, with its spread: in the report's areas, and in the README's plot."""

import math
from typing import NamedTuple

from .svg import Drawing, Scale, width_of
from .words import digits

HEAD, ROW = 25, 20
SHAPES = {"faster": 0, "slower": 3, "even": 1}


class Entry(NamedTuple):
    """A heading where `middle` is None."""

    label: str
    low: float = 0
    middle: float = None
    high: float = 0
    verdict: str = ""
    note: str = ""  # beside the mark instead of the ratio


def beside(entry):
    """What stands at the right end of its row."""
    return entry.note or f"{digits(entry.middle)}x"


def marks(drawing, entry, x, middle, left, width):
    wide = width > 600
    drawing.text(left - 8, middle + 4, entry.label, "end" if wide else "end tight", left - (22 if wide else 10))
    drawing.line(x(1), middle, x(entry.middle), middle, f"stem {entry.verdict}")
    if entry.low < entry.high:
        drawing.line(x(entry.low), middle, x(entry.high), middle, f"whisker {entry.verdict}")
    drawing.mark(x(entry.middle), middle, entry.verdict, SHAPES[entry.verdict], 4)
    drawing.text(width - 4, middle + 4, beside(entry), f"small end {entry.verdict}")


def groups(entries):
    """Headings with the entries below each."""
    found = []
    for entry in entries:
        if entry.middle is None or not found:
            found.append((entry if entry.middle is None else None, []))
        if entry.middle is not None:
            found[-1][1].append(entry)
    return found


def drawn(name, title, description, entries, width=400, left=206, note=""):
    """Blue circles: faster here; orange diamonds: the peer is; grey squares: even."""
    shown = [value for entry in entries if entry.middle for value in (entry.low, entry.high)]
    least, most = max(min(shown + [0.4]) * .8, 0.002), min(max(shown + [2.5]) * 1.25, 60)
    # Marks reach 5 beyond the axis.
    top, right = 22, width - 14 - max(width_of(beside(entry), "small") for entry in entries if entry.middle)
    bottom = top + sum(HEAD if entry.middle is None else ROW for entry in entries)
    drawing = Drawing(name, title, description, width, bottom + 38 + (18 if note else 0))
    x = Scale(least, most, left, right, log=True)
    drawing.text(x(1) - 8, 12, "faster here", "small faster end")
    drawing.text(x(1) + 8, 12, "peer faster", "small slower")
    close = (right - left) / math.log10(most / least) < 90
    ticks = [tick for tick in (0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)
             if least <= tick <= most and not (close and f"{tick:g}".endswith("3")) and tick != 30]
    for tick in ticks:
        drawing.text(x(tick), bottom + 15, f"{tick:g}", "small middle")
    drawing.text((left + right) / 2, bottom + 32, "time taken / time the peer takes", "small middle")
    y = top
    for head, below in groups(entries):
        if head:
            drawing.text(4, y + 17, head.label, "head", width - 8)
            y += HEAD
        for tick in ticks:
            drawing.line(x(tick), y, x(tick), y + ROW * len(below), "one" if tick == 1 else "grid")
        for entry in below:
            marks(drawing, entry, x, y + ROW / 2, left, width)
            y += ROW
    if note:
        drawing.text(12, bottom + 50, note, "small")
    return drawing
