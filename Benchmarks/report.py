"""Prints the targets of a run of scripts/bench with what was reached, and draws what it measured.

    Benchmarks/report.py ROWS                 the targets
    Benchmarks/report.py ROWS --page FILE     the same, and the report, a page that needs nothing beside itself
    Benchmarks/report.py ROWS --svg DIR       throughput, tail, fairness and the urgent thread's wait, for documents

Lines that begin with # say what a run was measured on; Tests/Documentation/figures.py shows them in the documents.
"""
import argparse
import sys
from pathlib import Path

from report_pages import page, pictures
from report_pages.rows import Run, values as load

class Medians:
    """The medians of one run's rows."""

    def __init__(self, rows):
        self.rows = rows

    def get(self, group, subject, metric="ns", language="swift"):
        return self.rows.get((language, group, subject, metric))

    def throughput(self, subject, threads, language="swift", sections="100 ns sections"):
        return self.get(f"{threads} threads, {sections}", subject, "Mops/s", language)

    def best_peer(self, threads):
        peers = ["pthread_mutex", "pthread adaptive", "absl::Mutex", "nsync_mu", "parking_lot"]
        return max((value for peer in peers if (value := self.throughput(peer, threads, "c"))), default=None)


READ_WRITE_PEERS = ("pthread_rwlock", "pthread, writers", "ck_pflock", "absl::Mutex", "nsync_mu", "parking_lot")


def ratio(first, second):
    return None if first is None or not second else first / second


# Each of these yields a target's name, its value in this run, and what it should be.

def uncontended_targets(run):
    plain = "uncontended increment"
    mutex = run.get(plain, "Synchronization.Mutex")
    yield "PriorityMutex.withLock / Synchronization.Mutex", ratio(run.get(plain, "PriorityMutex"), mutex), "<=", 0.65
    yield ("PriorityMutex.withLock, instructions",
           run.get("instructions per operation", "PriorityMutex", "instructions"), "<=", 20)
    yield "PriorityMutex, allocations to create", run.get("creation", "PriorityMutex(0)", "allocations"), "<=", 1
    yield ("QueueSafeValue set / Synchronization.Mutex",
           ratio(run.get(plain, "QueueSafeValue.wait.set"), mutex), "<=", 0.7)
    for subject, what in (("reference", "value with a reference"), ("reference used", "whose result is used")):
        yield (f"QueueSafeValue set, {what} / Synchronization.Mutex",
               ratio(run.get(plain, f"QueueSafeValue.wait.set, {subject}"), mutex), "<=", 1.8)
    yield "QueueSafeValue set, allocations", run.get(plain, "QueueSafeValue.wait.set", "allocations"), "<=", 0
    yield ("QueueSafeValue, allocations to create",
           run.get("creation", "QueueSafeValue(value: 0)", "allocations"), "<=", 2)
    yield ("CriticalSection.execute / NSRecursiveLock",
           ratio(run.get(plain, "CriticalSection.execute"), run.get(plain, "NSRecursiveLock")), "<=", 0.6)
    yield "CriticalSection re-entry, ns", run.get(plain, "CriticalSection re-entry"), "<=", 2
    for kind in ("ThreadLocalValue", "ThreadLocalValue, reference"):
        for group, most in (("read", 5), ("replaced", 8)):
            local = f"thread-local value, {group}"
            yield f"{kind}, {group}, ns", run.get(local, kind), "<=", most
            yield (f"{kind}, {group} / ThreadSpecificVariable",
                   ratio(run.get(local, kind), run.get(local, "ThreadSpecificVariable")), "<=", 1)


def call_site_targets(run):
    """Beside a peer in a `let` property where the value can be exchanged, since a `Mutex` can't be held so."""
    constant, through = "let property of a class", "through a protocol"
    same = {form: form for form in (constant, "property of an actor", "static property", "capture", through)}
    beside = same | {"var property of a class": constant, "array element": constant}
    kinds = [("PriorityMutex", "Synchronization.Mutex", 0.6, 1.4)]
    kinds += [(f"QueueSafeValue.wait.{call}", "Synchronization.Mutex", 0.8, 1.4)
              for call in ("set", "set(newValue:)", "get", "map")]
    kinds += [(subject, "pthread_rwlock", most, None)
              for subject, most in (("ReadWriteLock", 0.8), ("ReadWriteLock, biased", 0.5),
                                    ("ReadWriteCoordinator.read", 0.8))]
    for subject, peer, most, exchanged in kinds:
        for form, place in beside.items():
            bound = most if form in same else exchanged
            if form == through and subject == "PriorityMutex":
                bound = 0.8
            operation = "one read" if peer == "pthread_rwlock" else "one call"
            if bound:
                yield (f"{subject}, {form} / {peer}",
                       ratio(run.get(f"{operation}, {form}", subject), run.get(f"{operation}, {place}", peer)), "<=",
                       bound)


def contended_targets(run):
    def beside(subject, peer, threads=8):
        return ratio(run.throughput(subject, threads), run.throughput(peer, threads))

    yield "8 threads, 100 ns: PriorityMutex / NIOLock", beside("PriorityMutex", "NIOLockedValueBox"), ">=", 1.5
    for peer in ("DispatchSemaphore(1)", "DispatchQueue.sync", "actor (await)"):
        yield f"8 threads, 100 ns: PriorityMutex / {peer}", beside("PriorityMutex", peer), ">=", 1
    gate, urgent = "csk_gate FAST", "urgent thread among 8, 10 us sections, its waits"
    for threads in (4, 8, 16):
        yield (f"{threads} threads, 100 ns: gate FAST / best C peer",
               ratio(run.throughput(gate, threads, "c"), run.best_peer(threads)), ">=", 0.9)
    yield ("100 ns: PriorityMutex, 32 threads / 2 threads",
           ratio(run.throughput("PriorityMutex", 32), run.throughput("PriorityMutex", 2)), ">=", 0.85)
    yield ("100 ns: gate FAST, 32 threads / 2 threads",
           ratio(run.throughput(gate, 32, "c"), run.throughput(gate, 2, "c")), ">=", 0.85)
    for threads in (2, 4, 8, 16, 32):
        empty = [run.throughput(subject, threads, "c", "empty sections") for subject in (gate, "pthread_mutex")]
        yield f"{threads} threads, empty: gate FAST / pthread_mutex (aim)", ratio(*empty), ">=", 2.4
    for subject, nio, standard in (("PriorityMutex", 0.1, 0.5), ("PriorityMutex strict", 0.1, 0.1)):
        p99 = run.get(urgent, subject, "p99 us")
        yield f"urgent p99: {subject} / NIOLock", ratio(p99, run.get(urgent, "NIOLockedValueBox", "p99 us")), "<=", nio
        yield (f"urgent p99: {subject} / Synchronization.Mutex",
               ratio(p99, run.get(urgent, "Synchronization.Mutex", "p99 us")), "<=", standard)
    late = [run.get("timeout of 1 ms", subject, "late us") for subject in ("PriorityMutex", "NSLock")]
    yield "timeout of 1 ms: late, PriorityMutex / NSLock", ratio(*late), "<=", 0.4
    early = "timeouts of 1 ms: never early"
    for subject in ("PriorityMutex", "CriticalSection"):
        yield f"{early}, {subject}, us", run.get(early, subject, "least late us"), ">=", 0


def waiting_targets(run):
    urgent, gate = "urgent thread among 8, 10 us sections, its waits", "csk_gate FAST"
    for subject, most in ((gate, 30), ("csk_gate STRICT", 25)):
        yield f"urgent thread among 8, p99 us: {subject}", run.get(urgent, subject, "p99 us", "c"), "<=", most
    eight = "8 threads, 100 ns sections, waits"
    yield "8 threads, 100 ns: p99.99 of the waits, us", run.get(eight, gate, "p99.99 us", "c"), "<=", 1000
    longest = [run.get(eight, subject, "max us", "c") for subject in (gate, "parking_lot")]
    yield "8 threads, 100 ns: longest wait / parking_lot's", ratio(*longest), "<=", 1
    for threads, least in ((8, 0.3), (32, 0.1)):
        served = run.get(f"{threads} threads, 100 ns sections, waits", gate, "least/most served", "c")
        yield f"{threads} threads, 100 ns: least / most served", served, ">=", least
    for threads in (2, 8, 32):
        empty = [run.throughput(subject, threads, "c", "empty sections") for subject in (gate, "parking_lot")]
        yield f"{threads} threads, empty: gate FAST / parking_lot", ratio(*empty), ">=", 1


def semaphore_targets(run):
    alone, there = "semaphore, uncontended wait and signal", "semaphore, round trip of two threads"
    yield ("semaphore, wait and signal: csk_sem / sem_t",
           ratio(*(run.get(alone, subject, language="c") for subject in ("csk_sem", "sem_t"))), "<=", 1)
    for form in ("let property of a class", "capture"):
        both = [run.get(f"one permit, {form}", subject) for subject in ("PrioritySemaphore", "DispatchSemaphore")]
        yield f"PrioritySemaphore, {form} / DispatchSemaphore", ratio(*both), "<=", 0.95
    peers = [run.get(there, subject, language="c") for subject in ("sem_t", "absl::Mutex", "nsync_cv")]
    yield ("semaphore, round trip: csk_sem / best of glibc, absl and nsync",
           ratio(run.get(there, "csk_sem", language="c"), min(filter(None, peers), default=None)), "<=", 1.05)
    yield ("semaphore, round trip: PrioritySemaphore / DispatchSemaphore",
           ratio(*(run.get(there, subject) for subject in ("PrioritySemaphore", "DispatchSemaphore"))), "<=", 1.05)
    many = "semaphore of 4, urgent task among 1000, permits of 1 ms, its waits"
    yield ("urgent task among 1000 with permits of 1 ms, p99 us",
           run.get(many, "PrioritySemaphore", "p99 us"), "<=", 2000)
    for subject, what, least in (("PrioritySemaphore.withPermit", "semaphore of 1", 2),
                                 ("AsyncMutex.withLock", "async mutex", 3)):
        group = f"{what}, urgent task among 8, 1 us sections that suspend"
        both = [run.get(group, name, "Mops/s") for name in (subject, "actor with continuations")]
        yield f"{what}, 8 tasks, sections that suspend: operations / an actor's", ratio(*both), ">=", least


def condition_targets(run):
    buffer, predicates = "bounded buffer of 16, 8 to 8", "csk_gate_lock_when"
    if run.get(buffer, predicates, "Mops/s", "c") is None:
        return  # recorded before there were such rows
    for peer, least in (("absl::Mutex LockWhen", 1), ("pthread_cond", 2)):
        yield (f"{buffer}: {predicates} / {peer}",
               ratio(*(run.get(buffer, subject, "Mops/s", "c") for subject in (predicates, peer))), ">=", least)


def observation_targets(run):
    group, off = "8 threads, 100 ns sections, observed", "nothing on"
    if run.get(group, off, "Mops/s", "c") is None:
        return  # recorded before there were such rows
    profile = "contention profile, 10 us"
    yield (f"8 threads, 100 ns: {profile} / {off}",
           ratio(*(run.get(group, one, "Mops/s", "c") for one in (profile, off))), ">=", 0.98)
    group = "server, observed: GET of 50 connections"
    yield ("processor time of a GET: everything on / nothing on",
           ratio(*(run.get(group, one, "processor ns") for one in ("everything on", off))), "<=", 1.05)


def async_targets(run):
    for times, most in (("1 at a time", None), ("16 at a time", 1)):
        group = f"QueueSafeValue.async, {times}"
        ours, theirs = (run.get(group, subject) for subject in ("QueueSafeValue.async.set", "DispatchQueue.async"))
        if most is None:
            more = None if ours is None or theirs is None else ours - theirs
            yield "QueueSafeValue.async alone, ns more than DispatchQueue.async", more, "<=", 60
        else:
            yield f"{group} / DispatchQueue.async", ratio(ours, theirs), "<=", most
    ordered, tasks = "async work, from submission to end", "Task { await actor.f() }"
    for subject, most in (("Task(on: FIFOQueue)", 1.2), ("CancellableQueue over FIFOQueue", 0.9)):
        yield (f"{subject}, as fast as {tasks}", ratio(run.get(ordered, tasks), run.get(ordered, subject)), ">=", most)
    waits, ours = "suspending, urgent task among 64, 1 us sections", "QueueSafeValue.suspending"
    yield ("suspending, 64 tasks: urgent p50 / semaphore of continuations",
           ratio(*(run.get(waits, subject, "p50 us") for subject in (ours, "semaphore of continuations"))), "<=", 1)
    yield ("suspending, 64 tasks: operations / an actor's",
           ratio(*(run.get(waits, subject, "Mops/s") for subject in (ours, "actor"))), ">=", 0.9)
    for group, least in (("serial queue, 1 producer", 4), ("serial queue, 4 producers", 2.5),
                         ("round trip from a blocked thread", 0.9)):
        yield (f"{group}: WorkQueue, as fast as DispatchQueue",
               ratio(run.get(group, "DispatchQueue.async"), run.get(group, "WorkQueue.async")), ">=", least)


def queue_targets(run):
    ordered, stream = "async work, from submission to end", "AsyncStream + one consumer"
    for queue, most in (("FIFOQueue.enqueue", 0.4), ("ActorQueue.enqueue", 0.5)):
        yield f"{queue} / AsyncStream", ratio(run.get(ordered, queue), run.get(ordered, stream)), "<=", most
    yield "CancellableQueue, ns a task", run.get(ordered, "CancellableQueue over FIFOQueue"), "<=", 900
    wait = "FIFOQueue.enqueueAndWait"
    yield f"{wait}, p50 us", run.get("waiting for ordered work from a task", wait, "p50 us"), "<=", 1
    pushes = "task queue, push that runs and releases at once"
    yield "TaskQueue.push, idle, ns", run.get(pushes, "TaskQueue.push, idle"), "<=", 100
    pushes = "task queue, 5000 pushes behind others"
    yield ("TaskQueue.push behind 100 000 / behind none",
           ratio(run.get(pushes, "100 000 pending before"), run.get(pushes, "none pending before")), "<=", 1)
    for span in (1, 5, 50):
        late = [run.get(f"delay of {span} ms, late by", subject)
                for subject in ("WorkQueue.async(after:)", "EventLoop.scheduleTask")]
        yield f"delay of {span} ms: late, WorkQueue / EventLoop.scheduleTask", ratio(*late), "<=", 1
    enqueued = [run.get("enqueued write and its share of the drain", subject)
                for subject in ("ReadWriteCoordinator.enqueueWrite", "DispatchQueue.async, barrier")]
    yield "ReadWriteCoordinator.enqueueWrite / async(flags: .barrier)", ratio(*enqueued), "<=", 0.4
    yield ("ReadWriteCoordinator.enqueueWrite / WorkQueue.async",
           ratio(enqueued[0], run.get("enqueued write and its share of the drain", "WorkQueue.async")), "<=", 1.2)
    for title, least in (("99 reads to 1 write", 5), ("90 reads to 10 writes", 2)):
        for ours, barrier in (("blockingWrite", "sync"), ("enqueueWrite", "async")):
            yield (f"8 threads, {title}: coordinator, {ours} / Dispatch, {barrier} barrier",
                   ratio(*(run.get(f"closures, 8 threads, {title}", subject, "Mops/s") for subject in
                           (f"ReadWriteCoordinator.{ours}", f"DispatchQueue.{barrier}, barrier"))), ">=", least)


def snapshot_targets(run):
    reads = "2 threads read a published value"
    yield "Snapshot.read, ns", run.get("read of a published value", "Snapshot.read"), "<=", 2.5
    yield "Snapshot.read, allocations", run.get("read of a published value", "Snapshot.read", "allocations"), "<=", 0
    both = [run.get(reads, subject, "Mops/s") for subject in ("Snapshot.read", "urcu-bp in C")]
    yield "2 threads: Snapshot.read / urcu-bp in C", ratio(*both), ">=", 0.7
    # A grace period takes 10 000 us and more, and never ends while the reader is inside.
    yield ("Snapshot.update beside a reader inside, p99 us",
           run.get("updates of a Snapshot", "a reader inside", "p99 us"), "<=", 100)
    for keys in (1000, 10000, 100000):
        dictionary = f"dictionary of {keys} keys, 2 threads, 1 % writes"
        both = [run.get(dictionary, subject, "Mops/s") for subject in ("SnapshotDictionary", "Dictionary in Mutex")]
        yield f"{keys} keys: SnapshotDictionary / Dictionary in Mutex", ratio(*both), ">=", 5


def read_write_targets(run):
    def rw(group, subject, metric="Mops/s"):
        return run.get(group, subject, metric, "c")

    read, kernel = "uncontended read", "csk_rwlock FAST"
    yield "rwlock: read / pthread_rwlock", ratio(rw(read, kernel, "ns"), rw(read, "pthread_rwlock", "ns")), "<=", 1
    yield ("rwlock: biased read / pthread_rwlock",
           ratio(rw(read, "csk_rwlock biased", "ns"), rw(read, "pthread_rwlock", "ns")), "<=", 0.55)
    reads = "2 threads, reads only"
    yield ("rwlock: 2 threads read, biased / pthread_rwlock",
           ratio(rw(reads, "csk_rwlock biased"), rw(reads, "pthread_rwlock")), ">=", 8)
    for threads in (2, 8):
        mix = f"{threads} threads, 90 reads to 10 writes"
        peers = [rw(mix, peer) or 0 for peer in READ_WRITE_PEERS]
        yield (f"rwlock: {threads} threads, 90:10 / pthread_rwlock",
               ratio(rw(mix, kernel), rw(mix, "pthread_rwlock")), ">=", 1)
        yield f"rwlock: {threads} threads, 90:10 / best C peer", ratio(rw(mix, kernel), max(peers)), ">=", 0.9
    waits = "writer among 4 readers, 1 us sections, its waits"
    yield "rwlock: writer's wait among 4 readers, p99 us", rw(waits, kernel, "p99 us"), "<=", 50
    best = min((value for peer in READ_WRITE_PEERS if (value := rw(waits, peer, "p99 us"))), default=None)
    yield "rwlock: writer's wait among 4 readers, p99 / best C peer", ratio(rw(waits, kernel, "p99 us"), best), "<=", 1


def targets(rows):
    run = Medians(rows)
    for group in (uncontended_targets, call_site_targets, contended_targets, waiting_targets, semaphore_targets,
                  condition_targets, observation_targets, queue_targets, async_targets, snapshot_targets,
                  read_write_targets):
        yield from group(run)


def print_targets(rows):
    print("targets, as ratios within this run")
    for name, value, sense, bound in targets(rows):
        if value is None:
            continue
        met = value <= bound if sense == "<=" else value >= bound
        print(f"  {name:<66} {value:8.3f}  {sense} {bound:<5} {'met' if met else 'SHORT'}")


# What the README may show.
MAIN = {"throughput": "throughput-swift-100", "tail": "waits-swift-8-threads-100-ns-section",
        "fairness": "fairness-swift-8", "urgent": "urgent-swift"}


def write_page(run, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page.page(run), encoding="utf-8")
    print(f"\nreport: {path}")


def main_drawings(run):
    """The main four by the names of their files; None where the run has no rows for one."""
    drawings = {picture.name: picture.drawing for picture in pictures.pictures(run)}
    return {f"{file}.svg": drawings[name].alone() if name in drawings else None for file, name in MAIN.items()}


def write_drawings(run, folder):
    """The main four. False where the run lacks one."""
    folder.mkdir(parents=True, exist_ok=True)
    drawings = main_drawings(run)
    for file, text in drawings.items():
        if text is not None:
            (folder / file).write_text(text, encoding="utf-8")
            print(folder / file)
        else:
            print(f"{file}: error: the run has no rows for it", file=sys.stderr)
    return None not in drawings.values()


def main(arguments):
    parser = argparse.ArgumentParser(description="The targets of a run, and what can be drawn of it.")
    parser.add_argument("rows", help="what scripts/bench wrote, such as Benchmarks/results/latest.tsv")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the report there")
    parser.add_argument("--svg", type=Path, metavar="DIR", help="write the main four drawings there")
    options = parser.parse_args(arguments)
    if not options.svg:
        print_targets(load(options.rows))
    run = Run(options.rows)
    if options.page:
        write_page(run, options.page)
    return 0 if not options.svg or write_drawings(run, options.svg) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
