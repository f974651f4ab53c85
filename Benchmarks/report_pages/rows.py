"""The rows of a file that scripts/bench wrote.

A line has the language, the group, the subject, the metric, the value, and, since report pages draw how much a value
varied, what each round gave by itself. Older files end with the value. Lines that begin with # say what a run was
measured on.
"""

import math
import re
import statistics
from typing import NamedTuple

from .words import MORE_IS_BETTER, digits, is_ours, is_variant


def stated(line):
    """(name, what it is) of a line that says what the run was measured on; None for any other line."""
    match = re.match(r"# (\w[^:]*): (.+)$", line)
    return match.groups() if match else None


class Cell(NamedTuple):
    value: float
    rounds: tuple

    def quartiles(self):
        return quartiles(self.rounds) if len(self.rounds) > 1 else (self.value, self.value)


def quartiles(values):
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    return first, third


class Run:
    def __init__(self, path):
        self.cells, self.conditions = {}, {}
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                self._take(line.rstrip("\n"), f"{path}:{number}")

    def _take(self, line, place):
        if line.startswith("#"):
            if found := stated(line):
                self.conditions[found[0]] = found[1]
        elif line:
            parts = line.split("\t")
            try:
                rounds = tuple(float(value) for value in parts[5].split()) if len(parts) == 6 else ()
                value = float(parts[4])
                if not all(map(math.isfinite, (value, *rounds))):
                    raise ValueError
                self.cells[tuple(parts[:4])] = Cell(value, rounds)
            except (IndexError, ValueError):
                raise SystemExit(f"{place}: error: not a row of scripts/bench: {line[:80]}") from None

    def get(self, language, group, subject, metric):
        return self.cells.get((language, group, subject, metric))

    def groups(self):
        """(language, group), in the order of the file."""
        return list(dict.fromkeys(key[:2] for key in self.cells))

    def metrics(self, language, group):
        return list(dict.fromkeys(key[3] for key in self.cells if key[:2] == (language, group)))

    def subjects(self, language, group, metric=None):
        return list(dict.fromkeys(
            key[2] for key in self.cells if key[:2] == (language, group) and metric in (None, key[3])))


def values(path):
    """{(language, group, subject, metric): value}."""
    return {key: cell.value for key, cell in Run(path).cells.items()}


TOO_CLOSE = 0.03


def verdict(low, middle, high):
    """Of a time as a share of the peer's: "faster", "slower", or "even", where that can't be told: 1 lies in the
    spread, as it is written, or within 3 % of the middle.
    """
    if abs(middle - 1) < TOO_CLOSE or float(digits(low)) <= 1 <= float(digits(high)):
        return "even"
    return "faster" if middle < 1 else "slower"


class Ratio(NamedTuple):
    """What this library takes for each unit of time that a peer takes: less than 1 is better, whatever the metric."""

    language: str
    group: str
    metric: str
    ours: str
    peer: str
    low: float
    middle: float
    high: float

    @property
    def verdict(self):
        return verdict(self.low, self.middle, self.high)


def ratio(run, language, group, metric, ours, peer):
    """None where one is missing or 0."""
    first, second = run.get(language, group, ours, metric), run.get(language, group, peer, metric)
    if metric in MORE_IS_BETTER:
        first, second = second, first
    if not first or not second or not first.value or not second.value:
        return None
    middle, low, high = first.value / second.value, None, None
    if len(first.rounds) == len(second.rounds) > 1 and all(first.rounds) and all(second.rounds):
        each = [a / b for a, b in zip(first.rounds, second.rounds)]
        low, high = quartiles(each)
        # Percentiles of a run are those of all samples together, and may lie beside those of most rounds.
        low, high = min(low, middle), max(high, middle)
    return Ratio(language, group, metric, ours, peer, low or middle, middle, high or middle)


def ours_and_peers(run, language, group, metric):
    subjects = run.subjects(language, group, metric)
    ours = [subject for subject in subjects if is_ours(subject, group)]
    # The empty call stands beside call sites to show what the call itself takes.
    return ours, [subject for subject in subjects
                  if not is_ours(subject, group) and "pending" not in subject and subject != "empty call"]


def best(run, language, group, metric, subjects):
    choose = max if metric in MORE_IS_BETTER else min
    return choose(subjects, key=lambda subject: run.get(language, group, subject, metric).value, default=None)


def beside_best(run, language, group, metric):
    """The plain form of each type of this library beside the best peer of its row."""
    ours, peers = ours_and_peers(run, language, group, metric)
    peer = best(run, language, group, metric, peers)
    found = [ratio(run, language, group, metric, subject, peer) for subject in ours if not is_variant(subject)]
    return [one for one in found if one] if peer else []
