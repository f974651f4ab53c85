"""Whether aims, findings and comparisons say what the rows say: by rows that were made better or worse on purpose, so
that it is known beforehand who is ahead. Which values are better is said here once more.
"""

import contextlib
import io
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Benchmarks"))
sys.path.insert(0, str(ROOT / "Tests/Documentation"))

import recorded  # noqa: E402
import report  # noqa: E402
from report_pages import compare, page, pictures  # noqa: E402
from report_pages.areas import OTHER, area_of  # noqa: E402
from report_pages.rows import Cell, Run, verdict  # noqa: E402
from report_pages.words import is_ours, quantity  # noqa: E402
from rows import TABLES  # noqa: E402

RECORDED = ROOT / "docs/measurements/run-1.tsv"
# A form of this library beside another, or a peer for comparison; the name alone doesn't say so.
FORMS = {"a reader inside", "no reader", "100 000 pending before", "none pending before"}
FOR_COMPARISON = {"Task { await actor.f() }"}


def more_is_better(metric):
    return metric.endswith("/s") or metric == "least/most served"


# ---- Aims ---------------------------------------------------------------------------------------------------------

def changed(values, chosen, better):
    """The rows, those that are chosen a thousand times as good or as bad."""
    def factor(metric):
        return 1000 if more_is_better(metric) == better else 0.001

    # None can be worse by a factor alone.
    return {key: value * factor(key[3]) + (not better and key[3] == "allocations") if chosen(key) else value
            for key, value in values.items()}


def aims(values):
    return {name: (value, sense, bound) for name, value, sense, bound in report.targets(values)}


def moves(values, chosen, better):
    """(aim, 1 where it came nearer, -1 where it went away), of the aims that moved."""
    after = aims(changed(values, chosen, better))
    for name, (value, sense, _) in aims(values).items():
        # A ratio of two of this library's is the same but for its last digits.
        if value is not None and not math.isclose(after[name][0], value, rel_tol=1e-9):
            yield name, 1 if (after[name][0] < value) == (sense == "<=") else -1


def aim_faults(values):
    found = list(report.targets(values))
    if len({name for name, *_ in found}) != len(found):
        yield "two aims have one name"
    for part in (part for part in vars(report) if part.endswith("_targets") and part != "print_targets"):
        if not {name for name, *_ in getattr(report, part)(report.Medians(values))} <= {name for name, *_ in found}:
            yield f"{part}: its aims are not among the others"
    early = {key for key in values if key[3] == "least late us"}

    def of_ours(key):
        return is_ours(key[2], key[1]) and key not in early

    for better, wanted in ((True, 1), (False, -1)):
        for name, move in moves(values, of_ours, better):
            if move != wanted:
                yield f"the aim {name!r} is {'missed' if better else 'met'} where this library is "\
                      f"{'faster' if better else 'slower'}"
    for name, (value, *_) in aims({key: -1 if key in early else value for key, value in values.items()}).items():
        if "never early" in name and value >= 0:
            yield f"the aim {name!r} is met by a timeout that is early"
    peers = {key[2] for key in values if not is_ours(key[2], key[1])} - FORMS
    for peer in peers:
        for better, wanted in ((True, -1), (False, 1)):
            for name, move in moves(values, lambda key: key[2] == peer, better):
                if move != wanted:
                    yield f"the aim {name!r} moves the wrong way with {peer}"
    for percentile in ("p50", "p99", "p99.99"):
        by_it = {name for name, _ in moves(values, lambda key: of_ours(key) and key[3] == f"{percentile} us", True)}
        for name in aims(values):
            if (percentile in re.findall(r"p\d[\d.]*\d", name)) != (name in by_it) and "a reader inside" not in name:
                yield f"the aim {name!r} and {percentile}: one is not made of the other"


def print_faults(values):
    """What is printed is met or short, by the value and the aim that stand beside it."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        report.print_targets(values)
    lines = re.findall(r" (-?[\d.]+)  (<=|>=) ([\d.]+) +(met|SHORT)$", text.getvalue(), re.M)
    if len(lines) != sum(value is not None for value, *_ in aims(values).values()):
        yield f"{len(lines)} aims are printed"
    for value, sense, bound, verdict in lines:
        away = float(value) - float(bound) if sense == "<=" else float(bound) - float(value)
        if abs(away) > 0.001 and (away > 0) != (verdict == "SHORT"):
            yield f"{value} {sense} {bound} is said to be {verdict}"


def peer_faults():
    """A table that takes a peer for this library, or the other way round, would be the only one to say so."""
    for rows in TABLES.values():
        for row in rows():
            group = row.group if isinstance(row.group, str) else row.group[0]
            if row.here not in FORMS | FOR_COMPARISON and not is_ours(row.here, group):
                yield f"{row.here} is not known as this library's"


# ---- Findings -----------------------------------------------------------------------------------------------------

def won(path, by_this_library):
    """The run, with this library ten times as good as all of its peers, or as bad."""
    run = Run(path)

    def value(key):
        ours = is_ours(key[2], key[1])
        return 1 if not ours else 10 if more_is_better(key[3]) == by_this_library else 0.1

    run.cells = {key: cell if key[3] == "samples" else Cell(value(key), (value(key),) * len(cell.rounds))
                 for key, cell in run.cells.items()}
    return run


def finding_faults(path, by_this_library):
    run, whose = won(path, by_this_library), "this library" if by_this_library else "the peer"
    rights = wrongs = 0
    for picture in pictures.pictures(run):
        if picture.finding.endswith("is ahead."):
            right = ("This library is ahead." in picture.finding) == by_this_library
        elif counts := re.match(r"Of (\d+) comparisons, this library is faster in (\d+), the peer in (\d+)",
                                picture.finding):
            right = counts[2 if by_this_library else 3] == counts[1] and "0" in counts.groups()
            right = right and {row[2] for row in picture.table if len(row) > 1} == {
                "0.10x" if by_this_library else "10x"}
        else:
            continue
        rights, wrongs = rights + right, wrongs + (not right)
    if wrongs or not rights:
        yield f"{whose} is ahead in all rows, and {wrongs} of {wrongs + rights} findings say something else"
    found = pictures.overview(run)
    first = next(page.summary(found))
    counts = re.search(r"ahead in (\d+), behind in (\d+),", first)
    if counts is None or counts.groups() != ((str(len(found)), "0") if by_this_library else ("0", str(len(found)))):
        yield f"{whose} is ahead in all rows, and the summary says: {first}"
    if ("rows in which a peer is ahead" in page.page(run)) == by_this_library:
        yield f"{whose} is ahead in all rows, and the rows in which a peer is ahead say something else"


def tie_faults(path):
    """Who is ahead by what the rounds differ, or by 3 %, is not ahead: all rows are made even, with rounds around 1."""
    for rounds in ((1, 1, 1), (0.96, 1.01, 1.03), (1.02, 1.02, 1.02)):
        run = won(path, True)
        run.cells = {key: cell if key[3] == "samples" else
                     Cell(rounds[1], rounds) if is_ours(key[2], key[1]) else Cell(1, (1, 1, 1))
                     for key, cell in run.cells.items()}
        for picture in pictures.pictures(run):
            if picture.finding and "too close to tell" not in picture.finding.lower():
                yield f"rounds of {rounds} are no tie: {picture.finding}"
            if re.search("faster in [1-9]|the peer in [1-9]", picture.finding):
                yield f"rounds of {rounds} count: {picture.finding}"
        if {one.verdict for one in pictures.overview(run)} != {"even"}:
            yield f"rounds of {rounds} count in the summary"
    for low, high, right in ((0.98, 1.1, "even"), (0.9, 0.98, "faster"), (1.06, 1.2, "slower"), (1.01, 1.02, "even"),
                             (0.9, 0.996, "even"), (1.04, 1.3, "even")):
        if (found := verdict(low, math.sqrt(low * high), high)) != right:
            yield f"{low} to {high} is said to be {found}"


def unit_faults():
    for value, metric, text in ((1500, "ns", "1.5 us"), (2, "p99 us", "2.0 us"), (3000, "late us", "3.0 ms"),
                                (2.5e9, "ns", "2.5 s"), (0.5, "ns", "0.50 ns"), (17, "instructions", "17"),
                                (1.25, "Mops/s", "1.2 Mops/s"), (0.5, "least/most served", "0.50"),
                                (81234.5, "requests/s", "81234"), (2, "allocations", "2.0")):
        if quantity(value, metric) != text:
            yield f"{value} {metric} are written as {quantity(value, metric)}"
    for name, _, share in pictures.PERCENTILES:
        if abs(float(name[1:]) / 100 - share) > 1e-9:
            yield f"{name} stands for {share} of the waits"
    places = [x for _, x, _ in pictures.PERCENTILES] + [pictures.LONGEST]
    if places != sorted(places):
        yield "the percentiles are not in order"


def area_faults(values):
    for group in {key[1] for key in values}:
        if area_of(group) == OTHER:
            yield f"{group!r} belongs to no area of the report"


# ---- Comparisons of two runs --------------------------------------------------------------------------------------

def text_of(rows):
    """What scripts/bench would write; a row is (subject, metric, values of the rounds). One value is not of a round."""
    return "".join(f"c\tone group\t{subject}\t{metric}\t{sorted(rounds)[len(rounds) // 2]}"
                   f"{chr(9) + ' '.join(map(str, rounds)) if len(rounds) > 1 else ''}\n"
                   for subject, metric, rounds in rows)


def compared(before, after):
    """(status, what was printed)."""
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder) / "old.tsv", Path(folder) / "new.tsv"
        old.write_text(text_of(before))
        new.write_text(text_of(after))
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            return compare.report(old, new), output.getvalue()


def compare_faults():
    def rounds(middle, count=7):
        return [round(middle * (1 + share / 1000), 4) for share in range(-(count // 2), count - count // 2)]

    ours, peer = "csk_gate FAST", "pthread_mutex"
    for metric, before, after, expected, words, what in (
            ("ns", rounds(100), rounds(100), 0, " 0 worse, 0 better", "no change"),
            ("ns", rounds(100), rounds(105), 1, "\nworse\n", "5 % slower"),
            ("ns", rounds(100), rounds(102), 0, " 0 worse, 0 better", "2 % slower"),
            ("ns", rounds(100), rounds(90), 0, "\nbetter\n", "faster"),
            ("Mops/s", rounds(100), rounds(90), 1, "\nworse\n", "fewer operations a second"),
            ("Mops/s", rounds(100), rounds(110), 0, "\nbetter\n", "more operations a second"),
            ("requests/s", rounds(100), rounds(90), 1, "\nworse\n", "fewer requests a second"),
            ("ns", rounds(100, 4), rounds(150, 4), 2, "no row can be compared", "four rounds"),
            ("ns", [100], [150], 2, "no row can be compared", "values without rounds"),
            ("instructions", [17], [18], 1, "\nworse\n", "an instruction more of 17"),
            ("instructions", [100], [101], 0, " 0 worse", "an instruction more of 100"),
            ("allocations", [0], [1], 1, "\nworse\n", "an allocation more than none"),
            ("allocations", [2], [1], 0, "\nbetter\n", "an allocation less")):
        status, text = compared([(ours, metric, before)], [(ours, metric, after)])
        if status != expected or words not in text:
            yield f"scripts/bench compare ends with {status} for {what}, and says:\n{text}"
    both = [(ours, "ns", rounds(100)), (peer, "ns", rounds(100))]
    for after, words, what in (
            ([both[0], (peer, "ns", rounds(50))], "the peers, which show", "a peer got faster"),
            ([(ours, "ns", rounds(150)), (peer, "ns", rounds(150))], " 0 worse, 0 better", "the machine got slower"),
            (both[1:], f"1 row of the first run is not in the second: one group (c): {ours}", "a row is gone")):
        status, text = compared(both, after)
        if status != 0 or words not in text:
            yield f"scripts/bench compare ends with {status} where {what}, and says:\n{text}"


def script_faults():
    """scripts/bench hands on both files as they stand, and says no to what it can't do before it does anything."""
    def status(*arguments):
        return subprocess.run([ROOT / "scripts/bench", *arguments], capture_output=True, timeout=60).returncode

    with tempfile.TemporaryDirectory() as folder:
        fast, slow, gone = (Path(folder) / name for name in ("fast.tsv", "slow.tsv", "gone.tsv"))
        fast.write_text(text_of([("csk_gate FAST", "ns", [100] * 7)]))
        slow.write_text(text_of([("csk_gate FAST", "ns", [150] * 7)]))
        for arguments, expected in (((fast, slow), 1), ((slow, fast), 0), ((fast, gone), 2), ((fast,), 2)):
            if (found := status("compare", *arguments)) != expected:
                yield f"scripts/bench compare {' '.join(path.name for path in arguments)} ends with {found}"
    for options in (["--only", "neither"], ["no-such-area"], ["--record", "some"], ["--record", "3", "--quick"],
                    ["--record", "3", "--only", "c"]):
        if (found := status(*options)) != 2:
            yield f"scripts/bench {' '.join(options)} ends with {found}"


def recorded_faults():
    """Areas that are recorded anew replace the rows of their groups, instructions subject by subject, leave the others,
    and say when they were. Rows of another machine, compiler or length don't fit.
    """
    names = ("processors", "system", "compilers", "rounds of a run")
    head = "".join(f"# {name}: same\n" for name in names) + "# date: today\n# load before: 0\n"
    old, kept, mine, others = (f"c\t{row}\tns\t" for row in (
        "old\tlock", "kept\tlock", "instructions per operation\tmine", "instructions per operation\tother's"))
    first = f"# commit: one\n{head}{old}1\n{kept}1\n{mine}1\n{others}1\n"
    second = f"# commit: two\n{head}{old}2\n{mine}2\n"
    with tempfile.TemporaryDirectory() as folder:
        run, anew = Path(folder) / "run.tsv", Path(folder) / "anew.tsv"
        run.write_text(first)
        anew.write_text(second)
        text = recorded.merged(run, anew, ["locks"])
        if not text.endswith(f"\n{kept}1\n{others}1\n{old}2\n{mine}2\n") or text.count("\nc\t") != 4:
            yield f"recorded.py: the rows are\n{text}"
        if "# commit: one\n" not in text or "# area locks: commit two, today, load before 0\n" not in text:
            yield "recorded.py: the file does not say which area is of which commit"
        for name in names:
            anew.write_text(second.replace(f"# {name}: same", f"# {name}: other"))
            for call in (lambda: recorded.merged(run, anew, ["locks"]),
                         lambda: recorded.main(["--fits", str(run), str(anew)])):
                with contextlib.suppress(SystemExit):
                    call()
                    yield f"recorded.py: a run fits though {name} is another"


def faults(sample):
    """What is wrong; `sample` is a run that has each picture."""
    values = report.load(RECORDED)
    yield from aim_faults(values)
    yield from print_faults(values)
    yield from peer_faults()
    for by_this_library in (True, False):
        yield from finding_faults(sample, by_this_library)
    yield from tie_faults(sample)
    yield from unit_faults()
    yield from area_faults(values)
    yield from compare_faults()
    yield from script_faults()
    yield from recorded_faults()
