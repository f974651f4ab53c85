"""What changed between two runs beyond the noise.

For each row that both have, the share new / old of the medians of the rounds, with a bootstrap interval: rounds are
drawn with replacement from each run many times, and the middle 99 % of the shares so found are kept. A row changed if
its interval leaves out 1 and the share differs from 1 by 3 % or more. A row that has peers must have changed beside
them too: the same is asked of its rounds divided by the mean of the peers' in the same round. Rounds of one run don't
show all by which runs differ from each other (the machine's other work, where memory lies), so that a change counts
when it shows in a second pair of runs.
"""

import random
import statistics
from typing import NamedTuple

from .rows import Run, ours_and_peers
from .words import MORE_IS_BETTER, digits, is_ours, quantity

DRAWS, LEVEL, LEAST_CHANGE, FEWEST_ROUNDS = 1000, 0.99, 0.03, 5
NEITHER = {"samples", "times served"}  # more is neither better nor worse
EXACT = {"instructions", "allocations"}  # counted, not timed


class Change(NamedTuple):
    key: tuple
    old: float
    new: float
    low: float
    share: float
    high: float

    @property
    def better(self):
        return (self.share > 1) == (self.key[3] in MORE_IS_BETTER)


def drawn_medians(values, generator):
    return [statistics.median(generator.choices(values, k=len(values))) for _ in range(DRAWS)]


def interval(old, new, seed):
    """(low, share, high) of new / old. The same for the same values: draws depend on the row's name alone."""
    generator = random.Random(seed)
    shares = sorted(b / a for a, b in zip(drawn_medians(old, generator), drawn_medians(new, generator)) if a)
    if not shares:
        return None
    cut = int(len(shares) * (1 - LEVEL) / 2)
    return shares[cut], statistics.median(new) / statistics.median(old), shares[-1 - cut]


def change(key, old, new):
    """None where nothing changed beyond the noise."""
    if key[3] in EXACT:
        # One more than none is a change too; a part of one is what something else in the process allocated.
        if key[3] == "allocations" and abs(new.value - old.value) < 0.5:
            return None
        share = new.value / old.value if old.value else new.value + 1
        return Change(key, old.value, new.value, share, share, share) if abs(share - 1) >= LEAST_CHANGE else None
    if statistics.median(old.rounds) <= 0:
        return None
    found = interval(old.rounds, new.rounds, "\t".join(key))
    if not found or found[0] <= 1 <= found[2] or abs(found[1] - 1) < LEAST_CHANGE:
        return None
    return Change(key, statistics.median(old.rounds), statistics.median(new.rounds), *found)


def beside_peers(run, key):
    """Each round's value by the geometric mean of the peers' in that round; None without peers in the same rounds."""
    language, group, _, metric = key
    mine = run.cells[key].rounds
    rounds = [run.get(language, group, peer, metric).rounds for peer in ours_and_peers(run, language, group, metric)[1]]
    rounds = [each for each in rounds if len(each) == len(mine) and min(each) > 0]
    if not rounds or not is_ours(key[2], group):
        return None
    return [value / statistics.geometric_mean(theirs) for value, theirs in zip(mine, zip(*rounds))]


def stays_beside_peers(change, old, new):
    """Whether a change is more than what the machine did to the peers as well."""
    before, after = beside_peers(old, change.key), beside_peers(new, change.key)
    if not before or not after or statistics.median(before) <= 0:
        return True
    low, _, high = interval(before, after, "\t".join(change.key)) or (1, 1, 1)
    return low > 1 if change.share > 1 else high < 1


def comparable(key, old, new):
    if key[3] in EXACT:
        return True
    if key[3] in NEITHER or not old.value:
        return False
    return min(len(old.rounds), len(new.rounds)) >= FEWEST_ROUNDS


def compare(old, new):
    """(changes, how many rows were compared, how many both have but can't be)."""
    common = [key for key in old.cells if key in new.cells and key[3] not in NEITHER]
    fit = [key for key in common if comparable(key, old.cells[key], new.cells[key])]
    found = [one for key in fit if (one := change(key, old.cells[key], new.cells[key]))
             and stays_beside_peers(one, old, new)]
    return found, len(fit), len(common) - len(fit)


def lines(changes, title):
    if not changes:
        return
    yield f"\n{title}"
    for one in sorted(changes, key=lambda one: -abs(one.share - 1)):
        language, group, subject, metric = one.key
        yield (f"  {one.share:6.2f}x  ({digits(one.low)} to {digits(one.high)})  {group} ({language}): {subject}, "
               f"{metric}: {quantity(one.old, metric)} -> {quantity(one.new, metric)}")


def gone(old, new):
    """What to say of rows that only the first run has: what is measured no more got neither worse nor better."""
    rows = [key for key in old.cells if key not in new.cells]
    if not rows:
        return ""
    language, group, subject, metric = rows[0]
    return (("1 row of the first run is" if len(rows) == 1 else f"{len(rows)} rows of the first run are")
            + " not in the second" + (", such as " if len(rows) > 1 else ": ")
            + f"{group} ({language}): {subject}, {metric}")


def report(old_path, new_path):
    """Prints what changed. 0: nothing of this library got worse; 1: something did; 2: there is nothing to compare."""
    old, new = Run(old_path), Run(new_path)
    changes, compared, left_out = compare(old, new)
    for name in ("commit", "processors", "system", "compilers", "rounds of a run"):
        before, after = old.conditions.get(name), new.conditions.get(name)
        print(f"{name}: {before}" + (f" -> {after}" if before != after else ""))
    if not compared:
        print("no row can be compared: both files need the values of five rounds or more, which --quick has not")
        return 2
    ours = [one for one in changes if is_ours(one.key[2], one.key[1])]
    worse, better = [one for one in ours if not one.better], [one for one in ours if one.better]
    others = [one for one in changes if not is_ours(one.key[2], one.key[1])]
    for some, title in ((worse, "worse"), (better, "better"),
                        (others, "the peers, which show how much the machine itself changed")):
        print("\n".join(lines(some, title)), end="\n" if some else "")
    print(f"\n{compared} rows compared, new / old by the medians of the rounds, with 99 % bootstrap intervals: of this "
          f"library {len(worse)} worse, {len(better)} better; of the peers {len(others)} changed. About one row in a "
          "hundred changes by chance, and more where other programs ran.")
    if left_out:
        print(f"{left_out} rows that both have were left out: without the values of {FEWEST_ROUNDS} rounds or more, "
              "or 0.")
    if lacks := gone(old, new):
        print(lacks)
    return 1 if worse else 0
