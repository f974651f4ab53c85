"""The rows of the tables of measurements: which figure stands in which table, beside which peer, in which words."""
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "Benchmarks"))
import report  # noqa: E402
from report_pages.rows import verdict  # noqa: E402
from report_pages.words import MORE_IS_BETTER  # noqa: E402

C_PEERS = ("pthread_mutex", "pthread adaptive", "absl::Mutex", "nsync_mu", "parking_lot")
C_SEMAPHORES = ("sem_t", "std::counting_semaphore", "pthread_cond", "absl::Mutex", "nsync_cv", "moodycamel")


class Row:
    """What is measured, the subject and its peer by the names that scripts/bench gives them, and how tables call them.

    `peer` is None for a figure that stands alone, and several names where the best of them counts. Of several groups
    the first counts that was measured. With `readme` the row is in the README too, in the words that it holds.
    """

    def __init__(self, what, group, metric, here, peer=None, language="swift", names=None, readme=None):
        self.what, self.group, self.metric, self.language = what, group, metric, language
        self.here, self.peers = here, (peer,) if isinstance(peer, str) else peer or ()
        self.names = names or (f"`{here}`", f"`{peer}`")
        self.readme = readme

    def _value(self, run, subject):
        groups = (self.group,) if isinstance(self.group, str) else self.group
        found = (run.get((self.language, group, subject, self.metric)) for group in groups)
        return next((value for value in found if value is not None), None)

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

    def verdict(self, runs):
        """"faster", "slower" or "even", by the spread over the runs."""
        found = self.ratios(runs)
        if self.metric in MORE_IS_BETTER:
            found = [1 / ratio for ratio in found]
        return verdict(min(found), math.sqrt(min(found) * max(found)), max(found))


PLAIN, LOCALS = "uncontended increment", "a loop over a local"
# Where the call stands, as scripts/bench calls it, and in the words of the tables.
FORMS = {
    "let property of a class": "a `let` property of a class", "var property of a class": "a `var` property of a class",
    "property of an actor": "an actor's property", "static property": "a static property", "capture": "a capture",
    "array element": "an element of an array", "through a protocol": "through a protocol",
}
URGENT = "urgent thread among 8, 10 us sections, its waits"
ORDERED, STREAM = "async work, from submission to end", "AsyncStream + one consumer"
WRITER = "writer among 4 readers, 1 us sections, its waits"
WRITES = "enqueued write and its share of the drain"
MUTEX = "Synchronization.Mutex"
OPS = "operations a second"


def site_rows(what, here, peer, names, readme=None, operation="one call", others=()):
    """A row for each form; the README has the first, and the others that are named."""
    for form, place in FORMS.items():
        first = form == "let property of a class"
        yield Row(f"{what}, {place}", f"{operation}, {form}", "ns", here, peer, names=names,
                  readme=f"{readme} of {place}" if readme and (first or form in others) else None)


def lock_rows():
    with_lock = ("`PriorityMutex.withLock`", f"`{MUTEX}`")
    yield Row(f"uncontended lock, in {LOCALS}", PLAIN, "ns", "PriorityMutex", MUTEX, names=with_lock)
    yield from site_rows("uncontended lock", "PriorityMutex", MUTEX, with_lock,
                         readme="uncontended lock", others=("static property",))
    yield from site_rows("uncontended section", "CriticalSection.execute", "NSRecursiveLock",
                         ("`CriticalSection.execute`", "`NSRecursiveLock`"),
                         readme="uncontended re-entrant section")
    yield Row(f"uncontended re-entrant section, in {LOCALS}", PLAIN, "ns", "CriticalSection.execute",
              "NSRecursiveLock")
    yield Row("uncontended lock and unlock", "uncontended lock and unlock", "ns", "csk_gate FAST", "pthread_mutex",
              language="c", names=("`csk_gate`", "`pthread_mutex`"))
    yield Row("instructions of an uncontended lock and unlock", "instructions per operation", "instructions",
              "csk_gate FAST", "pthread_mutex", language="c", names=("`csk_gate`", "`pthread_mutex`"))
    sections = "100 ns sections"
    yield Row(f"{OPS}, 8 threads, {sections}", f"8 threads, {sections}", "Mops/s", "PriorityMutex",
              "NIOLockedValueBox", readme=f"{OPS}, 8 threads, {sections}")
    for threads in (2, 4, 8):
        contended = f"{OPS}, {threads} threads, {sections}"
        yield Row(contended, f"{threads} threads, {sections}", "Mops/s", "PriorityMutex", MUTEX,
                  readme=contended if threads != 4 else None)
    yield Row(f"{OPS}, 8 threads, {sections}", f"8 threads, {sections}", "Mops/s", "csk_gate FAST", "pthread_mutex",
              language="c", names=("`csk_gate`", "`pthread_mutex`"))
    for threads in (4, 8, 16):
        yield Row(f"{OPS}, {threads} threads, {sections}", f"{threads} threads, {sections}", "Mops/s",
                  "csk_gate FAST", C_PEERS, language="c", names=("`csk_gate`", "the best lock in C"),
                  readme=f"{OPS}, 8 threads, {sections}" if threads == 8 else None)
    for threads in (2, 4, 8, 16, 32):
        yield Row(f"{OPS}, {threads} threads, empty sections", f"{threads} threads, empty sections", "Mops/s",
                  "csk_gate FAST", "pthread_mutex", language="c", names=("`csk_gate`", "`pthread_mutex`"))
        yield Row(f"{OPS}, {threads} threads, empty sections", f"{threads} threads, empty sections", "Mops/s",
                  "csk_gate FAST", C_PEERS, language="c", names=("`csk_gate`", "the best lock in C"),
                  readme=f"{OPS}, {threads} threads, empty sections" if threads in (2, 8) else None)
    yield Row(f"uncontended lock, STRICT, in {LOCALS}", PLAIN, "ns", "PriorityMutex strict", MUTEX,
              names=("`PriorityMutex`, STRICT", f"`{MUTEX}`"), readme=f"uncontended lock, STRICT, in {LOCALS}")
    urgent = "p99 wait of an urgent thread among 8"
    for subject, name in (("PriorityMutex", "`PriorityMutex`"), ("PriorityMutex strict", "`PriorityMutex`, STRICT")):
        for peer, peer_name in (("NIOLockedValueBox", "`NIOLock`"), (MUTEX, f"`{MUTEX}`")):
            yield Row(urgent, URGENT, "p99 us", subject, peer, names=(name, peer_name),
                      readme=urgent if subject == "PriorityMutex" else None)
    late = "how late a timeout of 1 ms is"
    yield Row(late, "timeout of 1 ms", "late us", "PriorityMutex", "NSLock", readme=late)
    yield from semaphore_rows()
    yield from condition_rows()


def condition_rows():
    names = {"absl::Mutex LockWhen": "`absl::Mutex`, `LockWhen`", "pthread_cond": "`pthread_cond_wait`",
             "absl::CondVar": "`absl::CondVar`"}
    pairs = (("csk_gate_lock_when", ("absl::Mutex LockWhen", "pthread_cond")),
             ("csk_cond", ("absl::CondVar", "pthread_cond")))
    turn = "hand-over to one of 8 that wait, each for something else"
    for here, peers in pairs:
        for peer in peers:
            both = (f"`{here}`", names[peer])
            for each in (1, 2, 8):
                group = f"bounded buffer of 16, {each} to {each}"
                yield Row(f"items a second, {group}", group, "Mops/s", here, peer, language="c", names=both)
            yield Row(turn, turn, "ns", here, peer, language="c", names=both)


def semaphore_rows():
    ours, dispatch, kernel = "PrioritySemaphore", "DispatchSemaphore", ("`csk_sem`", "the best semaphore in C")
    yield from site_rows("uncontended `blockingWait` and `signal`", ours, dispatch, (f"`{ours}`", f"`{dispatch}`"),
                         operation="one permit")
    yield from site_rows("uncontended `blockingWithPermit`", f"{ours}.blockingWithPermit", dispatch,
                         (f"`{ours}.blockingWithPermit`", f"`{dispatch}`"), operation="one permit")
    for what, group in (("uncontended wait and signal of a semaphore", "semaphore, uncontended wait and signal"),
                        ("a round trip of two threads by semaphores", "semaphore, round trip of two threads")):
        yield Row(what, group, "ns", "csk_sem", C_SEMAPHORES, language="c", names=kernel)
    yield Row("a round trip of two threads by semaphores", "semaphore, round trip of two threads", "ns", ours, dispatch)
    for group in ("semaphore of one, 2 threads, 100 ns sections", "semaphore of one, 8 threads, 100 ns sections",
                  "semaphore of two, 8 threads, 1 us sections"):
        yield Row(f"{OPS}, {group}", group, "Mops/s", "csk_sem", C_SEMAPHORES, language="c", names=kernel)
    crowd = "semaphore of two, 8 threads, 1 us sections"
    yield Row(f"{OPS}, {crowd}", crowd, "Mops/s", ours, dispatch)
    urgent = "semaphore of two, urgent thread among 8, 10 us sections, its waits"
    for metric in ("p50 us", "p99 us"):
        what = f"{metric.split()[0]} wait of an urgent thread among 8 for one of two permits"
        yield Row(what, urgent, metric, "csk_sem", C_SEMAPHORES, language="c", names=kernel)
        yield Row(what, urgent, metric, ours, dispatch)
    peers = (("actor with continuations", "an actor with continuations"),
             ("semaphore of continuations", "a semaphore of continuations"))
    for metric in ("p50 us", "p99 us"):
        for peer, name in peers:
            yield Row(f"{metric.split()[0]} wait of an urgent task among 1000, permits of 1 ms",
                      "semaphore of 4, urgent task among 1000, permits of 1 ms, its waits", metric, ours, peer,
                      names=(f"`{ours}`", name))
    for peer, name in peers:
        yield Row("`withPermit` of a task", "semaphore, withPermit of a task", "ns", f"{ours}.withPermit", peer,
                  names=(f"`{ours}.withPermit`", name))
    for subject, what in (("PrioritySemaphore.withPermit", "semaphore of 1"),
                          ("PrioritySemaphore.withPermit", "semaphore of 2"), ("AsyncMutex.withLock", "async mutex")):
        for tasks in (8, 64):
            group = f"{what}, urgent task among {tasks}, 1 us sections that suspend"
            for peer, name in peers:
                names = (f"`{subject}`", name)
                yield Row(f"{what}, p50 wait of an urgent task among {tasks}", group, "p50 us", subject, peer,
                          names=names)
                yield Row(f"{OPS}, {what}, {tasks} tasks", group, "Mops/s", subject, peer, names=names)


def value_rows():
    names = ("`QueueSafeValue`", f"`{MUTEX}`")
    set_ = "QueueSafeValue.wait.set"
    yield Row(f"uncontended `set`, in {LOCALS}", PLAIN, "ns", set_, MUTEX, names=names)
    yield from site_rows("uncontended `set`", set_, MUTEX, names, readme="uncontended `set`")
    for call in ("set(newValue:)", "get", "map"):
        yield from site_rows(f"uncontended `{call}`", f"QueueSafeValue.wait.{call}", MUTEX, names)
    for times in ("1 at a time", "16 at a time", "all at once"):
        what = f"an async `set`, {times}"
        yield Row(what, f"QueueSafeValue.async, {times}", "ns", "QueueSafeValue.async.set", "DispatchQueue.async",
                  names=("`QueueSafeValue.async(performIn:)`", "`DispatchQueue.async`"),
                  readme=what if times == "1 at a time" else None)
    yield Row("`set` of a value with a reference", PLAIN, "ns", f"{set_}, reference", MUTEX, names=names)
    yield Row("`set` of a value with a reference, whose result is used", PLAIN, "ns", f"{set_}, reference used", MUTEX,
              names=names, readme=f"uncontended `set` of a reference, whose result is used, in {LOCALS}")


def read_write_rows():
    plain, biased = "`csk_rwlock`", "`csk_rwlock`, biased"
    pthread, best = "`pthread_rwlock`", "the best lock in C"
    others = report.READ_WRITE_PEERS
    for metric in ("ns", "instructions"):
        group = "uncontended read" if metric == "ns" else "instructions per operation"
        end = "" if metric == "ns" else ", read"
        what = "uncontended read" if metric == "ns" else "instructions of an uncontended read"
        for subject, name in (("csk_rwlock FAST", plain), ("csk_rwlock biased", biased)):
            yield Row(what, group, metric, subject + end, "pthread_rwlock" + end, language="c", names=(name, pthread))
    for what in ("read", "write"):
        yield Row(f"uncontended {what}", f"uncontended {what}", "ns", "csk_rwlock FAST", others, language="c",
                  names=(plain, best), readme=f"uncontended {what} of a read-write lock")
    yield Row(f"{OPS}, 2 threads that only read", "2 threads, reads only", "Mops/s", "csk_rwlock biased",
              "pthread_rwlock", language="c", names=(biased, pthread))
    for here, name in (("ReadWriteLock", "`ReadWriteLock`"), ("ReadWriteLock, biased", "`ReadWriteLock`, biased"),
                       ("ReadWriteCoordinator.read", "`ReadWriteCoordinator.read`")):
        yield from site_rows("uncontended read", here, "pthread_rwlock", (name, pthread),
                             readme="uncontended read", operation="one read")
    for threads in (2, 8):
        for ratio in ("reads only", "99 reads to 1 write", "90 reads to 10 writes"):
            mix = f"{threads} threads, {ratio}"
            for peers, name in (("pthread_rwlock", pthread), (others, best)):
                shown = peers == others and (threads, ratio[:2]) in ((2, "90"), (8, "99"), (8, "90"))
                yield Row(f"{OPS}, {mix}", mix, "Mops/s", "csk_rwlock FAST", peers, language="c", names=(plain, name),
                          readme=f"{OPS}, {mix}" if shown else None)
    writer = "p99 wait of a writer among 4 readers"
    for subject, here in (("FAST", plain), ("STRICT", "`csk_rwlock`, STRICT"), ("biased", biased)):
        for peers, name in (("pthread_rwlock", pthread), (others, best)):
            yield Row(writer, WRITER, "p99 us", f"csk_rwlock {subject}", peers, language="c", names=(here, name),
                      readme=writer if subject == "FAST" and peers == others else None)
    yield Row("an enqueued write with its share of the drain", WRITES, "ns", "ReadWriteCoordinator.enqueueWrite",
              "DispatchQueue.async, barrier", names=("`ReadWriteCoordinator.enqueueWrite`", "`async(flags: .barrier)`"))
    yield Row("an enqueued write with its share of the drain", WRITES, "ns", "ReadWriteCoordinator.enqueueWrite",
              "WorkQueue.async", names=("`ReadWriteCoordinator.enqueueWrite`", "`WorkQueue.async`"))
    for title in ("99 reads to 1 write", "90 reads to 10 writes"):
        for ours, barrier in (("blockingWrite", "sync"), ("enqueueWrite", "async")):
            yield Row(f"{OPS}, 8 threads, {title}", f"closures, 8 threads, {title}", "Mops/s",
                      f"ReadWriteCoordinator.{ours}", f"DispatchQueue.{barrier}, barrier",
                      names=(f"`ReadWriteCoordinator.{ours}`", f"`DispatchQueue.{barrier}`, barrier"),
                      readme=f"{OPS}, 8 threads, {title}" if (ours, title[:2]) == ("blockingWrite", "90") else None)
        for subject in ("ReadWriteCoordinator.blockingWrite", "ReadWriteLock"):
            yield Row(f"{OPS}, 8 threads, {title}", f"closures, 8 threads, {title}", "Mops/s", subject,
                      "pthread_rwlock", names=(f"`{subject}`", pthread),
                      readme=f"{OPS}, 8 threads, {title}" if title[:2] == "90" else None)


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
    queue, others = "`csk_pqueue`", (("TBB bounded_queue", "TBB's bounded queue"),
                                     ("moodycamel", "moodycamel's blocking queue"))
    for peer, name in others:
        for sides in ("1 to 1", "4 to 1", "4 to 4"):
            yield Row(f"an item through a queue, {sides}", f"items through a queue, {sides}", "ns", "csk_pqueue", peer,
                      language="c", names=(queue, name))
        back = "an item to another thread and back"
        yield Row(f"{back}, p50", back, "p50 us", "csk_pqueue", peer, language="c", names=(queue, name))
    for peer, name in (("TBB task_arena", "TBB's task arena"), ("libuv uv_queue_work", "libuv's work queue")):
        for who in ("1 submitter", "4 submitters"):
            yield Row(f"a job of a pool, {who}", f"jobs of a pool, {who}", "ns", "csk_workqueue, wide", peer,
                      language="c", names=("`csk_workqueue`, wide", name))
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
    waits = "suspending, urgent task among 64, 1 us sections"
    for peer, name in (("actor", "an actor"), ("semaphore of continuations", "a semaphore of continuations")):
        for metric, what in (("p50 us", "p50 wait of an urgent task among 64"),
                             ("Mops/s", f"{OPS}, 64 tasks, 1 us sections")):
            yield Row(what, waits, metric, "QueueSafeValue.suspending", peer,
                      names=("`QueueSafeValue.suspending`", name), readme=what)
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
                yield Row(f"{what}, {group}, in {LOCALS}", f"thread-local value, {group}", "ns", subject, peer,
                          names=("`ThreadLocalValue`", name))
        yield from site_rows(f"{what}, read", subject, "ThreadSpecificVariable", ("`ThreadLocalValue`", nio),
                             readme=f"{what}, read,", operation="one thread-local value")


def rcu_rows():
    read = "read of a published value"
    yield from site_rows(read, "Snapshot.read", MUTEX, ("`Snapshot.read`", f"`{MUTEX}`"), operation="one read")
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


def observation_rows():
    names = {"contention profile, 10 us": "a contention profile, 10 us", "metrics": "metrics",
             "lock order": "lock order"}
    for threads in (2, 8):
        for subject, name in names.items():
            yield Row(f"{OPS}, {threads} threads, 100 ns sections", f"{threads} threads, 100 ns sections, observed",
                      "Mops/s", subject, "nothing on", language="c", names=(name, "nothing on"))
    yield Row("processor time of a GET, 50 connections", "server, observed: GET of 50 connections", "processor ns",
              "everything on", "nothing on", names=("everything on", "nothing on"))


TABLES = {
    "locks": lock_rows, "values": value_rows, "read-write lock": read_write_rows, "work queues": work_queue_rows,
    "ordered async work": ordered_rows, "TaskQueue": task_queue_rows, "thread-local values": thread_local_rows,
    "read-copy-update": rcu_rows, "being observed": observation_rows,
}
