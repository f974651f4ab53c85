"""Writes the tables of docs/measurements.md and of the README's "Measured" from recorded runs of scripts/bench.

    python3 Tests/Documentation/plot.py            writes the tables, then the plot of the README's
    python3 Tests/Documentation/plot.py --check    fails if a table is not what the recorded runs give, or none is
                                                   recorded; plants both faults, and fails if one is not noticed

`scripts/bench --record N` keeps the rows of N whole runs in docs/measurements/, one file each, with what they were
measured on. A ratio is that of one run; where the runs differ, a table shows the least and the largest. Each table
stands between `<!-- figures: NAME -->` and `<!-- end of figures -->`. A row whose subject or peer was not measured
is left out. Without a recorded run the tables stay as they are.
"""

import re
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNS = ROOT / "docs/measurements"
DOCUMENT, README = ROOT / "docs/measurements.md", ROOT / "README.md"

sys.path[:0] = [str(ROOT / "Benchmarks"), str(ROOT / "Tests")]
import report  # noqa: E402
from report_pages.rows import stated  # noqa: E402
from report_pages.words import quantity, span  # noqa: E402
from marks import filled  # noqa: E402
from rows import TABLES  # noqa: E402


def table(head, rows):
    columns = "|".join("--:" if name in ("ratio", "measured", "aim") else "---" for name in head)
    return "\n".join([f"| {' | '.join(head)} |", f"|{columns}|", *(f"| {' | '.join(row)} |" for row in rows)])


def section(rows, runs):
    lines = []
    for row in rows:
        pairs = row.all_measured(runs)
        if not pairs:
            continue
        cells = [row.names[0], row.names[1] if row.peers else ""]
        for side in range(2 if row.peers else 1):
            cells[side] += ", " + quantity(statistics.median(pair[side] for pair in pairs), row.metric)
        lines.append((row.what, *cells, span(row.ratios(runs)) if row.peers else ""))
    return table(("what", "here", "beside", "ratio"), lines)


def readme_rows(runs):
    """The rows of the README's tables that were measured, and the ratios of each."""
    return [(row, found) for rows in TABLES.values() for row in rows() if row.readme and (found := row.ratios(runs))]


def readme_table(runs, verdict):
    return table(("what", "here", "beside", "ratio"), [
        (row.readme, *row.names, span(found)) for row, found in readme_rows(runs) if row.verdict(runs) == verdict])


def short_of_aim(runs):
    """What scripts/bench calls SHORT: the median of the runs misses the aim."""
    found = {}
    for run in runs:
        for name, value, sense, bound in report.targets(run):
            if value is not None:
                found.setdefault((name, sense, bound), []).append(value)
    lines = []
    for (name, sense, bound), values in found.items():
        middle = statistics.median(values)
        if middle > bound if sense == "<=" else middle < bound:
            lines.append((name, span(values), f"{'at most' if sense == '<=' else 'at least'} {bound:g}"))
    return table(("what", "measured", "aim"), lines) if lines else "No aim was missed."


def conditions(paths):
    """What the runs say of themselves: the first lines of each file."""
    found = {}
    for path in paths:
        for name, value in filter(None, map(stated, path.read_text().split("\n"))):
            found.setdefault(name, []).append(value)
    rows = [(name, "; ".join(dict.fromkeys(values))) for name, values in found.items()]
    return table(("", ""), [("runs", str(len(paths))), *rows])


# ---- A machine with more processors -------------------------------------------------------------------------------

LOCKS = ("csk_gate FAST", "csk_gate COMPACT", "csk_mutex", "pthread_mutex", "parking_lot")
SEMAPHORES = ("csk_sem", "sem_t", "std::counting_semaphore", "moodycamel")
RWLOCKS = ("csk_rwlock FAST", "csk_rwlock STRICT", "csk_rwlock biased", "pthread_rwlock", "ck_pflock", "parking_lot")
QUEUES = ("csk_pqueue", "moodycamel")
# Each table: its subjects, and its rows (group, metric).
MORE_TABLES = {
    "more processors: locks": (LOCKS, [
        (f"{threads} threads, {sections} sections", "Mops/s")
        for sections in ("empty", "100 ns") for threads in (2, 4, 8, 16, 32)]),
    "more processors: waits": (LOCKS, [
        (group, metric) for group in ("urgent thread among 8, 10 us sections, its waits",
                                      "urgent thread among 16, 10 us sections, its waits",
                                      "32 threads, 100 ns sections, waits") for metric in ("p50 us", "p99 us")]),
    "more processors: semaphores": (SEMAPHORES, [
        ("semaphore of one, 2 threads, 100 ns sections", "Mops/s"),
        ("semaphore of one, 8 threads, 100 ns sections", "Mops/s"),
        ("semaphore of two, 8 threads, 1 us sections", "Mops/s"),
        ("semaphore of two, urgent thread among 8, 10 us sections, its waits", "p99 us")]),
    "more processors: read-write locks": (RWLOCKS, [
        *((f"{threads} threads, {mix}", "Mops/s")
          for mix in ("reads only", "99 reads to 1 write", "90 reads to 10 writes") for threads in (2, 8)),
        ("writer among 8 readers, 1 us sections, its waits", "p99 us")]),
    "more processors: queues": (QUEUES, [
        (f"items through a queue, {ends}", "ns") for ends in ("1 to 1", "4 to 1", "4 to 4")]),
}


def more_tables():
    """(name, text) of the tables of one run on a machine with more processors."""
    [path] = (RUNS / "more-processors").glob("*.tsv")
    run = report.load(path)
    yield "more processors: conditions", conditions([path])
    for name, (subjects, rows) in MORE_TABLES.items():
        yield name, table(("what", *subjects), [
            (f"{group}, {metric}" if metric.startswith("p") else group,
             *(quantity(run["c", group, subject, metric], metric) for subject in subjects)) for group, metric in rows])


# ---- Writing ------------------------------------------------------------------------------------------------------

def tables(paths):
    """(document, name of the table, its text)."""
    runs = [report.load(path) for path in paths]
    yield DOCUMENT, "conditions", conditions(paths)
    yield DOCUMENT, "short of the aim", short_of_aim(runs)
    for name, rows in TABLES.items():
        yield DOCUMENT, name, section(rows(), runs)
    for name, text in more_tables():
        yield DOCUMENT, name, text
    yield README, "faster here", readme_table(runs, "faster")
    yield README, "faster elsewhere", readme_table(runs, "slower")
    yield README, "too close to tell", readme_table(runs, "even")


def written(folder=RUNS):
    """The documents as they should be, and what is wrong with their marks. No documents where nothing is recorded."""
    paths = sorted(folder.glob("*.tsv"))
    texts, faults, made = {}, [], list(tables(paths)) if paths else []
    for document, name, table_text in made:
        text = texts.setdefault(document, document.read_text())
        texts[document], count = filled(text, re.escape(f"figures: {name}"), "figures", lambda _: table_text)
        if count != 1:
            faults.append(f"{document.relative_to(ROOT)}: error: <!-- figures: {name} --> stands there {count} times")
    for document, text in texts.items():
        known = {name for other, name, _ in made if other == document}
        for name in set(re.findall("<!-- figures: (.*?) -->", text)) - known:
            faults.append(f"{document.relative_to(ROOT)}: error: there are no figures {name!r}")
    return texts, faults


def write(folder=RUNS):
    texts, faults = written(folder)
    for document, text in texts.items():
        if document.read_text() != text:
            document.write_text(text)
    return faults


def lacking(folder):
    """The README's rows, and the aims, that a recorded run has not: a table would silently do without them."""
    for path in sorted(folder.glob("*.tsv")):
        run = report.load(path)
        for name, value, *_ in report.targets(run):
            if value is None:
                yield f"{path.name}: error: nothing was measured for the aim {name!r}"
        for rows in TABLES.values():
            for row in rows():
                if row.readme and not row.measured(run):
                    yield (f"{path.name}: error: {row.here!r} in {row.group!r} was not measured for the README: "
                           "scripts/bench --record N AREA")


def differences(folder=RUNS):
    """What is wrong with the documents, by the runs in that folder."""
    texts, faults = written(folder)
    if not texts:
        return ["docs/measurements: error: no run is recorded there: scripts/bench --record N"]
    return faults + list(lacking(folder)) + [
        f"{document.relative_to(ROOT)}: error: its tables are not those of docs/measurements/*.tsv; "
        "run python3 Tests/Documentation/plot.py" for document, text in texts.items() if document.read_text() != text]


def unnoticed():
    """The planted faults of which nothing is said: no run at all, runs with other values, runs that lack rows."""
    missed = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not differences(folder):
            missed.append("no run")
        for path in RUNS.glob("*.tsv"):
            lines = [line.split("\t") for line in path.read_text().split("\n")]
            for parts in lines:
                if len(parts) > 4:
                    parts[4] = f"{float(parts[4]) * 3:g}"
            (folder / path.name).write_text("\n".join("\t".join(parts) for parts in lines))
        if not differences(folder):
            missed.append("runs with other values")
        for path in folder.glob("*.tsv"):
            lines = (RUNS / path.name).read_text().split("\n")
            path.write_text("\n".join(line for line in lines if "let property" not in line))
        if not list(lacking(folder)):
            missed.append("runs without rows of call sites")
    return [f"{Path(__file__).relative_to(ROOT)}: error: a planted fault is not noticed: {fault}" for fault in missed]


def check():
    return differences() or unnoticed()
