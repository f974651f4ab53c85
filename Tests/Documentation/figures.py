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
BEGIN, END = "<!-- figures: {} -->", "<!-- end of figures -->"

sys.path.insert(0, str(ROOT / "Benchmarks"))
import report  # noqa: E402
from report_pages.words import MORE_IS_BETTER, quantity, span  # noqa: E402

C_PEERS = ("pthread_mutex", "pthread adaptive", "absl::Mutex", "nsync_mu", "parking_lot")


class Row:
    """What is measured, the subject and its peer by the names that scripts/bench gives them, and how tables call them.

    `peer` is None for a figure that stands alone, and several names where the best of them counts. With `readme` the
    row is in the README too, in the words that it holds.
    """

    def __init__(self, what, group, metric, here, peer=None, language="swift", names=None, readme=None):
        self.what, self.group, self.metric, self.language = what, group, metric, language
        self.here, self.peers = here, (peer,) if isinstance(peer, str) else peer or ()
        self.names = names or (f"`{here}`", f"`{peer}`")
        self.readme = readme

    def _value(self, run, subject):
        return run.get((self.language, self.group, subject, self.metric))

    def measured(self, run):
        """(here, peer) in one run, or None where one is missing or the peer's is 0; a row may be without a peer."""
        here = self._value(run, self.here)
        peers = [value for peer in self.peers if (value := self._value(run, peer)) is not None]
        if here is None or (self.peers and not peers):
            return None
        best = (max if self.metric in MORE_IS_BETTER else min)(peers) if peers else None
        return None if best == 0 else (here, best)

    def all_measured(self, runs):
        return [pair for run in runs if (pair := self.measured(run))]

    def ratios(self, runs):
        return [here / peer for here, peer in self.all_measured(runs) if peer]

    def losing(self, runs):
        middle = statistics.median(self.ratios(runs))
        return middle < 1 if self.metric in MORE_IS_BETTER else middle > 1


PLAIN, LOCALS = "uncontended increment", "a loop over a local"
SITES = "increment of a property of a class"
URGENT = "urgent thread among 8, 10 us sections, its waits"
ORDERED, STREAM = "async work, from submission to end", "AsyncStream + one consumer"
WRITER = "writer among 4 readers, 1 us sections, its waits"
WRITES = "enqueued write and its share of the drain"
MUTEX = "Synchronization.Mutex"
OPS = "operations a second"


def lock_rows():
    with_lock = ("`PriorityMutex.withLock`", f"`{MUTEX}`")
    yield Row(f"uncontended lock, in {LOCALS}", PLAIN, "ns", "PriorityMutex", MUTEX, names=with_lock,
              readme=f"uncontended lock, in {LOCALS}")
    yield Row("uncontended lock, as a property of a class", SITES, "ns", "PriorityMutex", MUTEX, names=with_lock,
              readme="uncontended lock of a property of a class")
    yield Row("uncontended re-entrant section", PLAIN, "ns", "CriticalSection.execute", "NSRecursiveLock",
              readme="uncontended re-entrant section")
    yield Row("uncontended lock and unlock", "uncontended lock and unlock", "ns", "csk_gate FAST", "pthread_mutex",
              language="c", names=("`csk_gate`", "`pthread_mutex`"))
    yield Row("instructions of an uncontended lock and unlock", "instructions per operation", "instructions",
              "csk_gate FAST", "pthread_mutex", language="c", names=("`csk_gate`", "`pthread_mutex`"))
    sections = "100 ns sections"
    yield Row(f"{OPS}, 8 threads, {sections}", f"8 threads, {sections}", "Mops/s", "PriorityMutex",
              "NIOLockedValueBox", readme=f"{OPS}, 8 threads, {sections}")
    yield Row(f"{OPS}, 8 threads, {sections}", f"8 threads, {sections}", "Mops/s", "csk_gate FAST", "pthread_mutex",
              language="c", names=("`csk_gate`", "`pthread_mutex`"))
    for threads in (4, 8, 16):
        yield Row(f"{OPS}, {threads} threads, {sections}", f"{threads} threads, {sections}", "Mops/s",
                  "csk_gate FAST", C_PEERS, language="c", names=("`csk_gate`", "the best lock in C"),
                  readme=f"{OPS}, 8 threads, {sections}" if threads == 8 else None)
    for threads in (2, 4, 8, 16, 32):
        yield Row(f"{OPS}, {threads} threads, empty sections", f"{threads} threads, empty sections", "Mops/s",
                  "csk_gate FAST", "pthread_mutex", language="c", names=("`csk_gate`", "`pthread_mutex`"))
    urgent = "p99 wait of an urgent thread among 8"
    for subject, name in (("PriorityMutex", "`PriorityMutex`"), ("PriorityMutex strict", "`PriorityMutex`, STRICT")):
        for peer, peer_name in (("NIOLockedValueBox", "`NIOLock`"), (MUTEX, f"`{MUTEX}`")):
            yield Row(urgent, URGENT, "p99 us", subject, peer, names=(name, peer_name),
                      readme=urgent if subject == "PriorityMutex" else None)
    late = "how late a timeout of 1 ms is"
    yield Row(late, "timeout of 1 ms", "late us", "PriorityMutex", "NSLock", readme=late)


def value_rows():
    names = ("`QueueSafeValue`", f"`{MUTEX}`")
    set_ = "QueueSafeValue.wait.set"
    yield Row(f"uncontended `set`, in {LOCALS}", PLAIN, "ns", set_, MUTEX, names=names,
              readme=f"uncontended `set`, in {LOCALS}")
    yield Row("uncontended `set`, as a property of a class", SITES, "ns", set_, MUTEX, names=names,
              readme="uncontended `set` of a property of a class")
    yield Row("`set` of a value with a reference", PLAIN, "ns", f"{set_}, reference", MUTEX, names=names)
    yield Row("`set` of a value with a reference, whose result is used", PLAIN, "ns", f"{set_}, reference used", MUTEX,
              names=names, readme="uncontended `set` of a reference, whose result is used")


def read_write_rows():
    plain, biased = "`csk_rwlock`", "`csk_rwlock`, biased"
    pthread, best = "`pthread_rwlock`", "the best other lock in C"
    others = ("ck_pflock", "absl::Mutex", "nsync_mu", "parking_lot")
    for metric in ("ns", "instructions"):
        group = "uncontended read" if metric == "ns" else "instructions per operation"
        end = "" if metric == "ns" else ", read"
        what = "uncontended read" if metric == "ns" else "instructions of an uncontended read"
        readme = "uncontended read of a read-write lock" if metric == "ns" else None
        for subject, name in (("csk_rwlock FAST", plain), ("csk_rwlock biased", biased)):
            yield Row(what, group, metric, subject + end, "pthread_rwlock" + end, language="c", names=(name, pthread),
                      readme=readme if subject.endswith("FAST") else None)
    yield Row(f"{OPS}, 2 threads that only read", "2 threads, reads only", "Mops/s", "csk_rwlock biased",
              "pthread_rwlock", language="c", names=(biased, pthread))
    for threads in (2, 8):
        mix = f"{threads} threads, 90 reads to 10 writes"
        yield Row(f"{OPS}, {mix}", mix, "Mops/s", "csk_rwlock FAST", "pthread_rwlock", language="c",
                  names=(plain, pthread))
        yield Row(f"{OPS}, {mix}", mix, "Mops/s", "csk_rwlock FAST", others, language="c", names=(plain, best),
                  readme=f"{OPS}, {mix}" if threads == 2 else None)
    for subject, name in (("FAST", plain), ("STRICT", "`csk_rwlock`, STRICT"), ("biased", biased)):
        yield Row("p99 wait of a writer among 4 readers", WRITER, "p99 us", f"csk_rwlock {subject}", "pthread_rwlock",
                  language="c", names=(name, pthread))
    yield Row("an enqueued write with its share of the drain", WRITES, "ns", "ReadWriteCoordinator.enqueueWrite",
              "DispatchQueue.async, barrier", names=("`ReadWriteCoordinator.enqueueWrite`", "`async(flags: .barrier)`"))


def work_queue_rows():
    dispatch, loop = "DispatchQueue.async", "EventLoop.execute"
    for group in ("serial queue, 1 producer", "serial queue, 4 producers"):
        for peer, name in ((dispatch, "`DispatchQueue.async`"), (loop, "NIO's `execute`")):
            yield Row(f"a task of a {group}", group, "ns", "WorkQueue.async", peer, names=("`WorkQueue.async`", name),
                      readme=f"a task of a {group}" if peer == dispatch else None)
    yield Row("a task of a concurrent queue, 4 producers", "concurrent queue, 4 producers", "ns", "ConcurrentWorkQueue",
              "DispatchQueue, concurrent", names=("`ConcurrentWorkQueue.async`", "`DispatchQueue`"))
    yield Row("a task with a priority", "task with a priority", "ns", "WorkQueue.async(priority:)", "OperationQueue",
              readme="a task with a priority")
    for what, group in (("queueing where the worker sleeps", "enqueue, consumer parked"),
                        ("a round trip from a thread", "round trip from a blocked thread")):
        for peer, name in ((dispatch, "`DispatchQueue.async`"), (loop, "NIO's `execute`")):
            yield Row(what, group, "ns", "WorkQueue.async", peer, names=("`WorkQueue.async`", name))
    for span in (1, 5, 50):
        yield Row(f"how late a delay of {span} ms is", f"delay of {span} ms, late by", "ns", "WorkQueue.async(after:)",
                  "EventLoop.scheduleTask", names=("`WorkQueue.async(after:)`", "NIO's `scheduleTask`"))
    yield Row("an urgent task behind 10 000 of 10 us each, until it begins",
              "high priority behind 10 000 low ones of 10 us", "ns", "WorkQueue.async(priority: .high)")
    yield Row("600 queues that block at once, until all have begun",
              "600 queues that block at once, until all have begun", "ns", "WorkQueue")


def ordered_rows():
    stream = "`AsyncStream` with one consumer"
    subjects = (
        ("FIFOQueue.enqueue", "`FIFOQueue.enqueue`", "async work in order, from submission to end"),
        ("ActorQueue.enqueue", "`ActorQueue.enqueue`", None),
        ("Task(on: FIFOQueue)", "`Task(on:)` over a FIFO queue", None),
        ("Task(on: ActorQueue)", "`Task(on:)` over an actor queue", None),
        ("CancellableQueue over FIFOQueue", "`CancellableQueue` over a FIFO queue", "a cancellable task"),
        ("CancellableQueue over ActorQueue", "`CancellableQueue` over an actor queue", "a cancellable task"),
        ("Task { await actor.f() }", "`Task { await actor.f() }`, for comparison", None),
    )
    for subject, name, readme in subjects:
        yield Row("a piece of work, from submission to end", ORDERED, "ns", subject, STREAM, names=(name, stream),
                  readme=readme)
    for subject in ("FIFOQueue.enqueueAndWait", "ActorQueue.enqueueAndWait"):
        yield Row("waiting from a task, p50", "waiting for ordered work from a task", "p50 us", subject)


def task_queue_rows():
    push = "task queue, push that runs and releases at once"
    for subject, what in (("TaskQueue.push, idle", "a push that runs and releases at once"),
                          ("TaskQueue.push, idle, long tag", "the same with a tag of more than 15 bytes")):
        yield Row(what, push, "ns", subject, "DispatchQueue.sync", names=("`TaskQueue.push`", "`DispatchQueue.sync`"))
    yield Row("a push with 100 000 pending", "task queue, 5000 pushes behind others", "ns", "100 000 pending before",
              "none pending before", names=("`TaskQueue.push`", "the same with none pending"))
    yield Row("a push and its share of the drain", "task queue, push and its share of the drain", "ns",
              "TaskQueue.push", "DispatchQueue.async")


def thread_local_rows():
    nio, foundation = "`ThreadSpecificVariable` (NIO)", "`Thread.current.threadDictionary`"
    for subject, what in (("ThreadLocalValue", "a thread's number"),
                          ("ThreadLocalValue, reference", "a thread's reference")):
        for group in ("read", "replaced"):
            for peer, name in (("ThreadSpecificVariable", nio), ("threadDictionary", foundation)):
                yield Row(f"{what}, {group}", f"thread-local value, {group}", "ns", subject, peer,
                          names=("`ThreadLocalValue`", name),
                          readme=f"{what}, {group}" if (group, name) == ("read", nio) else None)


def rcu_rows():
    read = "read of a published value"
    yield Row(read, read, "ns", "Snapshot.read", "urcu-bp in C", names=("`Snapshot.read`", "liburcu in C"))
    yield Row(read, read, "ns", "Snapshot.read", MUTEX)
    yield Row(f"{OPS}, 2 threads that read a published value", "2 threads read a published value", "Mops/s",
              "Snapshot.read", "urcu-bp in C", names=("`Snapshot.read`", "liburcu in C"))
    yield Row("p99 of an update beside a reader inside", "updates of a Snapshot", "p99 us", "a reader inside",
              "no reader", names=("`Snapshot.update`", "the same without a reader"))
    for keys, written in ((1000, "1000"), (10000, "10 000"), (100000, "100 000")):
        what = f"lookups a second, 2 threads, 1 % writes, {written} keys"
        yield Row(what, f"dictionary of {keys} keys, 2 threads, 1 % writes", "Mops/s", "SnapshotDictionary",
                  "Dictionary in Mutex", names=("`SnapshotDictionary`", f"`Dictionary` in `{MUTEX}`"),
                  readme=what if keys == 10000 else None)


TABLES = {
    "locks": lock_rows, "values": value_rows, "read-write lock": read_write_rows, "work queues": work_queue_rows,
    "ordered async work": ordered_rows, "TaskQueue": task_queue_rows, "thread-local values": thread_local_rows,
    "read-copy-update": rcu_rows,
}


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


def readme_table(runs, losing):
    rows = [row for rows in TABLES.values() for row in rows() if row.readme and row.ratios(runs)]
    return table(("what", "here", "beside", "ratio"), [
        (row.readme, row.names[0], row.names[1], span(row.ratios(runs))) for row in rows if row.losing(runs) == losing])


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
    stated = {}
    for path in paths:
        for line in path.read_text().split("\n"):
            if match := re.match(r"# (\w[\w ]*): (.+)$", line):
                stated.setdefault(match[1], []).append(match[2])
    rows = [(name, "; ".join(dict.fromkeys(values))) for name, values in stated.items()]
    return table(("", ""), [("runs", str(len(paths))), *rows])


# ---- Writing ------------------------------------------------------------------------------------------------------

def tables(paths):
    """(document, name of the table, its text)."""
    runs = [report.load(path) for path in paths]
    yield DOCUMENT, "conditions", conditions(paths)
    yield DOCUMENT, "short of the aim", short_of_aim(runs)
    for name, rows in TABLES.items():
        yield DOCUMENT, name, section(rows(), runs)
    yield README, "faster here", readme_table(runs, losing=False)
    yield README, "faster elsewhere", readme_table(runs, losing=True)


def written(folder=RUNS):
    """The documents as they should be, and what is wrong with their marks. No documents where nothing is recorded."""
    paths = sorted(folder.glob("*.tsv"))
    texts, faults = {}, []
    for document, name, text in tables(paths) if paths else ():
        texts.setdefault(document, document.read_text())
        begin = BEGIN.format(name)
        pattern = re.compile(rf"({re.escape(begin)}\n).*?({re.escape(END)})", re.S)
        texts[document], count = pattern.subn(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", texts[document])
        if count != 1:
            faults.append(f"{document.relative_to(ROOT)}: error: {begin} stands there {count} times")
    for document, text in texts.items():
        known = {name for other, name, _ in tables(paths) if other == document}
        for name in set(re.findall(BEGIN.format("(.*?)"), text)) - known:
            faults.append(f"{document.relative_to(ROOT)}: error: there are no figures {name!r}")
    return texts, faults


def write(folder=RUNS):
    texts, faults = written(folder)
    for document, text in texts.items():
        if document.read_text() != text:
            document.write_text(text)
    return faults


def differences(folder=RUNS):
    """What is wrong with the documents, by the runs in that folder."""
    texts, faults = written(folder)
    if not texts:
        return ["docs/measurements: error: no run is recorded there: scripts/bench --record N"]
    return faults + [
        f"{document.relative_to(ROOT)}: error: its tables are not those of docs/measurements/*.tsv; "
        "run python3 Tests/Documentation/plot.py" for document, text in texts.items() if document.read_text() != text]


def unnoticed():
    """The planted faults of which `differences` says nothing: no run at all, and runs with other values."""
    missed = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not differences(folder):
            missed.append("no run")
        for path in RUNS.glob("*.tsv"):
            text = re.sub(r"\t(\d[\d.]*)$", lambda match: f"\t{float(match[1]) * 3:g}", path.read_text(), flags=re.M)
            (folder / path.name).write_text(text)
        if not differences(folder):
            missed.append("runs with other values")
    return [f"{Path(__file__).relative_to(ROOT)}: error: a planted fault is not noticed: {fault}" for fault in missed]


def check():
    return differences() or unnoticed()
