"""The areas that scripts/bench measures: which groups of rows belong to each, and the words that stand above them."""

import re
from typing import NamedTuple


class Area(NamedTuple):
    name: str
    title: str
    groups: str  # a regular expression
    words: str


AREAS = (
    Area("locks", "Locks", r"^uncontended (increment|lock and unlock)$|^(one call|creation|instructions)\b"
         r"|^\d+ threads?, (100 ns|empty) sections(, direct hand-over)?$",
         "One thread at a time may be inside a lock. First what a lock costs when nobody else wants it, then how many "
         "operations a second all threads do together when they all want it."),
    Area("priority", "An urgent thread among others", r"^urgent thread among|^passes before a thread",
         "Some threads keep a lock busy with sections of 10 microseconds. Another thread comes every 200 microseconds, "
         "at high priority where the lock knows priorities. Its wait until it is inside is what its user notices."),
    Area("tail", "The tail and fairness", r"^\d+ threads?, 100 ns sections, waits$",
         "All threads want the same lock, each with 100 nanoseconds of work inside and as much outside. Most waits are "
         "short; the longest are what users complain about. A lock is fair when no thread is let in much more often "
         "than another."),
    Area("semaphores", "Semaphores", r"^semaphores?\b|^async mutex|^resource pool|^one permit,",
         "A number of permits: so many threads or tasks may be inside at once, the others wait. First what it costs to "
         "take one and give it back when nobody else wants any, then many that want the same, and an urgent one among "
         "them."),
    Area("conditions", "Conditions", r"^bounded buffer|^hand-over to one",
         "A thread waits inside a lock until what the lock protects is in a state that it waits for: until a predicate "
         "is true, about which the lock itself looks, or until another thread signals a condition variable. Items go "
         "through a buffer of 16 places, from so many threads to as many others, and a turn goes from one thread to "
         "another."),
    Area("read-write", "Read-write locks", r"^(uncontended|enqueued) (read|write)\b|^one read,"
         r"|reads (only|to)|^writer among",
         "Several readers may be inside at once, a writer only alone."),
    Area("snapshots", "Snapshots", r"published value|updates of a Snapshot|^dictionary of|Snapshot",
         "A value that many threads read and few replace. A reader of a snapshot takes no lock."),
    Area("queues", "Work queues", r"^serial queue|^concurrent queue|^enqueue, |^round trip|^task with a priority|"
         r"^high priority|^600 queues|^task queue|QueueSafeValue.async|^items through|^an item to|^jobs of",
         "Work and items that are handed to another thread."),
    Area("ordered", "Ordered async work", r"^async work|^waiting for ordered|^suspending",
         "Work of Swift's tasks that must run in the order in which it was submitted."),
    Area("timers", "Timers and timeouts", r"^delay of|^timeouts? of",
         "How much later than asked a delayed task begins, or a timed lock gives up."),
    Area("thread-local", "Thread-local values", r"^(one )?thread-local",
         "A value of which each thread has its own."),
    Area("observation", "Being observed", r", observed\b",
         "What it costs to have the library tell of waits: the same gate with nothing on, and while a contention "
         "profile, metrics or the order of locks are kept; and the processor time that the example server takes for a "
         "GET, with nothing and with everything on."),
    Area("server", "A server", r"^server",
         "The example server of this repository, which speaks the Redis protocol. Everything in it is the same but "
         "what protects the data."),
)

OTHER = Area("other", "Other rows", "", "Rows that belong to no area above.")


def is_call_site(group):
    """Whether the operation is measured where programs call it: "one call, let property of a class"."""
    return bool(re.search(r", ((let|var|static) property|property of|capture|array element|through a protocol)", group))


def area_of(group):
    for area in AREAS:
        if re.search(area.groups, group):
            return area
    return AREAS[0] if is_call_site(group) else OTHER
