"""The numbers that documents state, compared with what they count. documents.py calls it.

In GUARDED no number may stand that is neither in COUNTED nor part of a name, nor in a table that a script writes.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORDS = "no one two three four five six seven eight nine ten eleven twelve".split()


def text_of(name):
    return (ROOT / name).read_text()


def occurrences(name, pattern):
    """How many places of a file match."""
    return len(re.findall(pattern, text_of(name), re.M))


def stated(name, pattern):
    """The number that stands in a source, which the document repeats."""
    match = re.search(pattern, text_of(name))
    return int(match[1]) if match else None


def runs(pattern):
    return occurrences("Tests/Model/check", pattern)


def mutants():
    return sum(len(set(re.findall(r"^= (.*)$", path.read_text(), re.M)))
               for path in (ROOT / "Tests/Explorer/mutants").glob("*.mutants"))


def litmus_tests():
    return occurrences("Tests/Explorer/litmus_tests.c", r'^    \{ "')


def loops():
    listed = text_of("Tests/Explorer/loops_listed.py")
    spins = re.search(r"^SPINS = \{(.*?)^\}", listed, re.M | re.S)
    return sum(int(count) for count in re.findall(r": (\d+),$", spins[1], re.M)) if spins else None


def fewer_in_relacy():
    table = re.search(r"^FEWER = \{(.*?)^\}", text_of("Tests/Explorer/litmus_relacy.py"), re.M | re.S)
    return len(re.findall(r'^    "', table[1], re.M)) if table else None


MAIN, STRATEGY, EXPLORE = "Tests/Explorer/main.c", "Tests/Explorer/strategy.c", "scripts/explore"
VERIFIED, ORDERS, KERNEL = "docs/verification.md", "docs/who-goes-next.md", "Sources/CSyncKernel/src"
ARRIVALS = "Sources/CSyncKernel/include/csynckernel/arrivals.h"


# A document, what stands before and after a number there, and how many there are, by the number of the clients.
def counted(clients):
    return [
        (VERIFIED, r"(\w+) clients, half a page", clients),
        (VERIFIED, r"(\w+) mutants, each of which", mutants()),
        ("README.md", r"(\w+) mutants, each of which", mutants()),
        (VERIFIED, r"(\w+) runs must pass", runs("^try 0 ")),
        (VERIFIED, r"must pass, and (\w+) variants", runs("^try 1 ")),
        (VERIFIED, r"`check full` adds (\w+) larger sizes", runs("^    try 0 ")),
        ("Tests/README.md", r"(\w+) that must pass and \w+ variants", runs("^try 0 ")),
        ("Tests/README.md", r"that must pass and (\w+) variants", runs("^try 1 ")),
        ("Tests/README.md", r"(\w+) more sizes", runs("^    try 0 ")),
        (VERIFIED, r"\"in part\": ([\d ]+) are run", stated(MAIN, r"PART = (\d+)")),
        (VERIFIED, r"Each client has (\d+) random schedules", stated(MAIN, r"random_count = (\d+)")),
        (VERIFIED, r"has at most (\d+) of each client", stated(EXPLORE, r"--model rc11 --limit (\d+)")),
        (VERIFIED, r"stale reads, and (\d+) random ones", stated(EXPLORE, r"--model rc11 --limit \d+ --random (\d+)")),
        (VERIFIED, r"with at most (\w+) stale reads", stated(STRATEGY, r"search_stale = (\d+)")),
        (VERIFIED, r"at most (\w+) messages that are not", stated(STRATEGY, r"search_stale = (\d+)")),
        (VERIFIED, r"up to (\w+) such messages", stated(STRATEGY, r"STALE_MOST = (\d+)")),
        (VERIFIED, r"when it has more than ([\d ]+)\.", stated(MAIN, r"WHOLE = (\d+)")),
        (VERIFIED, r"runs (\d+) programs whose verdicts", litmus_tests()),
        (VERIFIED, r"bound, and by ([\d ]+) random schedules", stated("Tests/Explorer/litmus.c", r"RANDOM = (\d+)")),
        (VERIFIED, r"(\w+) end with less in Relacy", fewer_in_relacy()),
        (VERIFIED, r"more than (\d+) sequentially", stated("Tests/Explorer/rc11_psc.c", r"NODES_MAX = (\d+)")),
        (VERIFIED, r"sees the (\d+) newest", stated("Tests/Explorer/core.h", r"MAX_MESSAGES = (\d+)")),
        (VERIFIED, r"has come to (\d+) steps", stated("Tests/Explorer/turns.h", r"FAIR_FROM = (\d+)")),
        (VERIFIED, r"at ([\d ]+) steps, those", stated("Tests/Explorer/core.h", r"MAX_STEPS = (\d+)")),
        (VERIFIED, r"reported by the ([\d ]+) steps", stated("Tests/Explorer/core.h", r"MAX_STEPS = (\d+)")),
        (VERIFIED, r"those of the last (\d+)", stated("Tests/Explorer/turns.c", r"LAST = (\d+)")),
        (VERIFIED, r"(\w+) of them keep a thread awake", loops()),
        (ORDERS, r"without one an unnamed waiter (\d+) times", stated(ARRIVALS, r"CSK_BYPASS_UNNAMED = (\d+)")),
        (ORDERS, r"goes on after (\d+) works", stated(f"{KERNEL}/queue/workqueue_serve.c", r"QUANTUM = (\d+)")),
        (ORDERS, r"every (\d+)th item", stated(f"{KERNEL}/pool/pool.c", r"turn_of_lower = (\d+)")),
        ("docs/limits.md", r"is overtaken (\d+) times at most", stated(ARRIVALS, r"CSK_BYPASS_UNNAMED = (\d+)")),
    ]


GUARDED = (VERIFIED, "ARCHITECTURE.md")
# Names that hold a digit, what stands in backquotes, and the targets of links.
NAMES = re.compile(r"`[^`]*`|\]\([^)]*\)|\b(?:RC11|C11|rc11\.cat|x86-64|C\+\+\d\d|Swift 6|PLDI 2017|UTF-8"
                   r"|qemu 7\.2|riscv64|arm64|x86)(?![\w-])")
NUMBER = re.compile(rf"\b(?:\d[\d ]*\d|\d|{'|'.join(WORDS[4:])}|hundreds?|thousands|millions?)\b", re.I)
WRITTEN = re.compile(r"^<!-- (.+) -->\n.*?^<!-- end of \1 -->", re.M | re.S)


def blanked(pattern, text):
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def faults(clients):
    """(document, line, what is wrong). Where a number is not found, the others of its document are not judged."""
    spans, lacking = {name: [] for name in GUARDED}, set()
    for name, pattern, there in counted(clients):
        text = text_of(name)
        match = re.search(pattern.replace(" ", r"\s+").replace(r"\d\s+", r"\d "), text)
        if there is None:
            yield name, 1, f"the source of this number was not found: {pattern}"
        elif not match:
            lacking.add(name)
            yield name, 1, f"no number stands at: {pattern}"
        else:
            spans.get(name, []).append(match.span(1))
            if match[1].replace(" ", "") != str(there) and match[1] not in WORDS[there:there + 1]:
                yield name, line_of(text, match.start(1)), f"{match[1]} stands here, and there are {there}"
    for name in GUARDED:
        if name in lacking:
            continue
        text = text_of(name)
        plain = blanked(NAMES, blanked(WRITTEN, text))
        for match in NUMBER.finditer(plain):
            if not any(begin <= match.start() < end for begin, end in spans[name]):
                yield name, line_of(text, match.start()), f"{match[0]} is neither written nor checked by a script"


def line_of(text, place):
    return text[:place].count("\n") + 1
