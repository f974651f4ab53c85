"""Lines over an axis, and one value for each subject."""

import itertools
from typing import NamedTuple

from .svg import OURS, PEERS, Drawing, Scale, around
from .words import digits, duration, is_ours, short

WIDTH = 400


class Point(NamedTuple):
    x: float
    y: float
    low: float
    high: float


class Series(NamedTuple):
    subject: str
    kind: str  # the class of its colour: ours-1, peer-3
    points: list


def kinds(subjects, group=""):
    """A colour's class for each subject."""
    ours, peers = itertools.count(), itertools.count()
    return {subject: f"ours-{next(ours) % OURS + 1}" if is_ours(subject, group) else f"peer-{next(peers) % PEERS + 1}"
            for subject in subjects}


def apart(places, least, top, bottom):
    """Places at least so far from each other, near those wanted, between top and bottom; in the given order."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    found = [0.0] * len(places)
    at = top - least
    for index in order:
        at = found[index] = max(places[index], at + least)
    at = bottom + least
    for index in reversed(order):
        at = found[index] = min(found[index], at - least)
    return found


def axis_words(value, unit):
    """A tick's label."""
    if unit == "time":
        return duration(value).replace("1.0 ", "1 ").replace("3.0 ", "3 ")
    return f"{value:g}"


def lines(name, title, description, series, x_ticks, x_words, y_words, unit="", log=False):
    """`x_ticks` are (place, label); places are those of the points, drawn evenly."""
    labels, left, top, bottom = 124, 46, 26, 262
    drawing = Drawing(name, title, description, WIDTH, 306)
    right = WIDTH - labels
    y = Scale(*around([value for one in series for point in one.points for value in point[1:]], log), bottom, top, log)
    x = Scale(x_ticks[0][0], x_ticks[-1][0], left + 6, right - 4)
    drawing.text(4, 14, y_words, "small")
    for tick in y.ticks():
        drawing.line(left, y(tick), right, y(tick), "grid")
        drawing.text(left - 5, y(tick) + 4, axis_words(tick, unit), "small end")
    for place, label in x_ticks:
        drawing.line(x(place), bottom, x(place), bottom + 4, "grid")
        drawing.text(x(place), bottom + 17, label, "small middle")
    drawing.text((left + right) / 2, bottom + 36, x_words, "small middle")
    # Peers first, so that this library's lines lie above them.
    for one in sorted(series, key=lambda one: one.kind.startswith("ours")):
        ours, shape = one.kind.startswith("ours"), int(one.kind[-1]) - 1
        for point in one.points:
            if point.low < point.high:
                drawing.line(x(point.x), y(point.low), x(point.x), y(point.high), f"spread {one.kind}")
        drawing.path([(x(point.x), y(point.y)) for point in one.points], one.kind + (" ours" if ours else ""))
        for point in one.points:
            drawing.mark(x(point.x), y(point.y), one.kind, shape, 4 if ours else 3)
    ends = [y(one.points[-1].y) for one in series]
    for one, end, place in zip(series, ends, apart(ends, 13.5, top, bottom + 22)):
        last = x(one.points[-1].x)
        drawing.line(last + 5, end, right + 6, place, f"leader {one.kind}")
        kind = one.kind + (" head" if one.kind.startswith("ours") else "")
        drawing.text(right + 9, place + 4, short(one.subject), kind, labels - 10)
    return drawing


class Bar(NamedTuple):
    subject: str
    kind: str
    value: float
    low: float
    high: float
    words: str  # the value, with its unit


def bars(name, title, description, entries, x_words, unit="", log=False):
    """A mark for each subject, on a stem from the axis."""
    left, right, row, top = 146, WIDTH - 62, 23, 8
    bottom = top + row * len(entries)
    drawing = Drawing(name, title, description, WIDTH, bottom + 38)
    shown = [value for entry in entries for value in (entry.low, entry.value, entry.high) if value > 0] or [1]
    least, most = around(shown, log)
    if log and any(entry.value <= 0 for entry in entries):
        least /= 10
    x = Scale(least, most, left, right, log)
    for tick in x.ticks():
        drawing.line(x(tick), top, x(tick), bottom, "grid")
        drawing.text(x(tick), bottom + 15, axis_words(tick, unit), "small middle")
    drawing.text((left + right) / 2, bottom + 32, x_words, "small middle")
    for index, entry in enumerate(entries):
        y, ours = top + row * index + row / 2, entry.kind.startswith("ours")
        kind = f"end head {entry.kind}" if ours else "end"
        drawing.text(left - 8, y + 4, short(entry.subject, 20), kind, left - 10)
        drawing.line(left, y, x(entry.value), y, f"stem {entry.kind}")
        if entry.low < entry.high:
            drawing.line(x(entry.low), y, x(entry.high), y, f"whisker {entry.kind}")
        drawing.mark(x(entry.value), y, entry.kind, int(entry.kind[-1]) - 1, 4.4 if ours else 3.6)
        drawing.text(WIDTH - 2, y + 4, entry.words, "small end")
    return drawing


def fairness_words(value):
    return digits(value) if value else "0"
