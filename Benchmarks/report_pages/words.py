"""How figures are written, and how subjects are called where room is scarce."""

import re

MORE_IS_BETTER = {"Mops/s", "requests/s", "least/most served", "% served"}


def digits(value):
    """Two significant digits below 10, none behind the point above: 0.056, 1.3, 27, 3400."""
    if value >= 9.95:
        return f"{value:.0f}"
    if value >= 1:
        return f"{value:.1f}"
    places = 2
    while places < 6 and value and value * 10 ** (places - 1) < 1:
        places += 1
    return f"{value:.{places}f}"


def span(values):
    """The least and the largest, or one figure where they read the same."""
    least, most = digits(min(values)), digits(max(values))
    return least if least == most else f"{least} to {most}"


def duration(nanoseconds):
    if nanoseconds == 0:
        return "0"
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if nanoseconds >= size:
            return f"{digits(nanoseconds / size)} {unit}"
    return f"{digits(nanoseconds)} ns"


def quantity(value, metric):
    """With its unit, as the documents write it."""
    if metric in ("instructions", "samples", "requests/s"):
        return f"{value:.0f}"
    if metric == "Mops/s":
        return f"{digits(value)} Mops/s"
    if metric == "% served":
        return f"{digits(value)} %"
    if metric in ("least/most served", "allocations"):
        return digits(value)
    return duration(value * (1000 if metric.endswith("us") else 1))


def is_ours(subject, group=""):
    if ", observed" in group:
        return subject != "nothing on"
    if group.startswith("server"):
        return subject in ("swiftsync", "snapshot")
    return bool(re.match(
        r"csk_|Priority(Mutex|Semaphore)|AsyncMutex|QueueSafeValue|CriticalSection|Snapshot|ReadWrite(Lock|Coordinator)"
        r"|(Concurrent)?WorkQueue|FIFOQueue|ActorQueue|Task\(on|CancellableQueue|TaskQueue|ThreadLocalValue"
        r"|BlockingPriorityQueue|ResourcePool", subject))


def is_variant(subject):
    """Not a type's plain form: its row stands in charts and tables, but counts in no summary."""
    return bool(re.search(r"strict|compact|biased|long tag|re-entry|reference|100 000 pending", subject, re.I))


SHORT = {
    "Synchronization.Mutex": "Mutex",
    "NIOLockedValueBox": "NIO lock",
    "NSRecursiveLock": "NSRecursive…",
    "DispatchSemaphore(1)": "DispatchSem.",
    "DispatchSemaphore": "DispatchSem.",
    "PrioritySemaphore": "P.Semaphore",
    "PrioritySemaphore.withPermit": "P.S. withPermit",
    "PrioritySemaphore.blockingWithPermit": "P.S. blocking…",
    "AsyncMutex.withLock": "AsyncMutex",
    "ResourcePool.withResource": "ResourcePool",
    "pool of continuations": "continuations",
    "semaphore of continuations": "continuations",
    "std::counting_semaphore": "std::counting…",
    "csk_gate_lock_when": "gate lock_when",
    "absl::Mutex LockWhen": "absl LockWhen",
    "DispatchQueue.sync": "Dispatch sync",
    "DispatchQueue.sync, concurrent": "Dispatch sync",
    "DispatchQueue.async": "Dispatch async",
    "DispatchQueue.asyncAfter": "Dispatch after",
    "EventLoop.execute": "NIO execute",
    "EventLoop.scheduleTask": "NIO schedule",
    "ThreadSpecificVariable": "NIO's variable",
    "AsyncStream + one consumer": "AsyncStream",
    "Task { await actor.f() }": "Task { await f }",
    "actor (await)": "actor",
    "pthread adaptive": "pthread adapt.",
    "PriorityMutex strict": "P.Mutex strict",
    "QueueSafeValue.wait.set": "QueueSafeValue",
    "QueueSafeValue.wait.set, reference": "…Value, reference",
    "QueueSafeValue.wait.set, reference used": "…Value, ref. used",
    "CriticalSection.execute": "CriticalSection",
    "CriticalSection re-entry": "…Section, re-entry",
    "CancellableQueue.enqueue": "Cancellable, work",
    "CancellableQueue over FIFOQueue": "Cancellable, FIFO",
    "CancellableQueue over ActorQueue": "Cancellable, actor",
    "WorkQueue.async(after:)": "WorkQueue after:",
    "ReadWriteCoordinator.read": "Coordinator.read",
    "ReadWriteCoordinator.blockingWrite": "…, blockingWrite",
    "ReadWriteCoordinator.enqueueWrite": "…, enqueueWrite",
    "DispatchQueue.sync, barrier": "Dispatch, sync",
    "DispatchQueue.async, barrier": "Dispatch, async",
    "ThreadLocalValue, reference": "…Value, reference",
    "csk_gate FAST": "gate FAST",
    "csk_gate COMPACT": "gate COMPACT",
    "csk_gate STRICT": "gate STRICT",
    "csk_rwlock FAST": "rwlock FAST",
    "csk_rwlock STRICT": "rwlock STRICT",
    "csk_rwlock biased": "rwlock biased",
}


def short(subject, most=15):
    """A subject's name as far as it fits beside a line."""
    name = SHORT.get(subject, subject)
    return name if len(name) <= most else name[:most - 1].rstrip() + "…"


def listed(parts):
    """"a", "a and b", "a, b and c"."""
    parts = list(parts)
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1]))) if parts else ""
