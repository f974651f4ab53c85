#!/usr/bin/env python3
"""Takes one fence, look, wake, check or ordering at a time out of the kernel and reports which client of the explorer
notices, and after how many schedules.

    mutants.py BUILD_FOLDER [OPTION ...] [NAME ...]    all mutants, or those chosen; --help lists what chooses
        --files FILE ...    those of these files of the kernel, and those that the clients of these files notice
        --record            tries all clients, and notes in mutants_caught.txt which noticed
    mutants.py --check                                 only looks whether each mutant's text stands in its file, once

The mutants are in mutants/, in the form that Tests/Mutants/lists.py describes. One explorer has them all, and those of
loops.py (Tests/Mutants/switched.py). The client that mutants_caught.txt names is tried first, and all of them when that
one does not notice. Exits 1 when a mutant survives, or is stale.
"""
import concurrent.futures, os, re, shutil, subprocess, sys, tempfile, time

from build import HERE, KERNEL, ROOT, build

sys.path.append(os.path.join(os.path.dirname(HERE), "Mutants"))
import lists
from switched import blamed, environment, is_switchable, write_tree

SOURCES = os.path.relpath(KERNEL, ROOT)
KERNELS, LOOPS = os.path.join(HERE, "mutants", "*.mutants"), os.path.join(HERE, "loops.mutants")
RECORD = os.path.join(HERE, "mutants_caught.txt")
# Most are caught by a few schedules of the right client; only what survives those is tried for longer.
EFFORTS = (["--limit", "1000", "--random", "500"], ["--limit", "10000", "--random", "10000"],
           ["--limit", "50000", "--random", "30000"])
CAUGHT = re.compile(r"^(\w+) (?:(random|exhaustive) (\d+) |crashed )")
# The clients that can notice, by the beginning of the file's name; all where none is named.
CLIENTS = {
    "gate_await": ["await_*"],
    "gate_conditions": ["await_*"],
    "gate_order": ["await_*"],
    "gate_pass": ["pass_*", "fork_*"],
    "fork": ["fork_*"],
    "queue_lock": ["fork_*", "gate_*", "mutex_*", "heap_*", "timer_*"],
    "service": ["timer_*", "rcu_*", "pool_*", "watchdog_*", "fork_*"],
    "timer": ["timer_*", "fork_*", "async_*", "gate_*"],
    "rwlock": ["rwlock_*", "pool_*", "work_end_*", "fork_*"],
    "reads": ["rwlock_*", "fork_*"],
    "pool": ["pool_*", "work_end_*", "fork_*"],
    "workqueue": ["workqueue_*", "work_end_*", "served_*", "suspended_*", "fork_*"],
    "delayed": ["delayed_*"],
    "pqueue": ["pqueue_*"],
    "rcu": ["rcu_*"],
    "tls": ["tls_*"],
    "block": ["block_*"],
    "thread": ["tls_*"],
    "sem": ["sem_*", "fork_*"],
    "order": ["lock_order_*"],
    "watchdog": ["watchdog_*"],
    "watch": ["looks_*"],
    "tasks": ["tasks_*"],
    "cond": ["cond_*"],
    "waiter": ["gate_*", "sem_*", "rwlock_*", "async_*", "lane_*", "adopt_*", "close_*", "later_*", "mutex_*",
               "fork_*"],
    "trampoline": ["later_*", "lane_*", "gate_*", "async_*", "adopt_*", "close_*"],
    "gate": ["later_*", "pass_*", "lane_*", "gate_*", "async_*", "adopt_*", "close_*", "mutex_*", "fork_*",
             "await_*"],
}


def made_of(base, header):
    """The objects of the folder that the header is a part of."""
    names = set()
    for name in os.listdir(base):
        if name.endswith(".d") and re.search(rf"/{re.escape(header)}\b", open(os.path.join(base, name)).read()):
            names.add(name[:-2])
    return names


def files_of(client):
    """The sources that may have the client, whose name ends with that of a policy in most."""
    stem = re.sub(r"_(fast|compact|strict)$", "", client)
    return {file[:-2] for file in os.listdir(HERE)
            if re.fullmatch(r"clients_\w+\.c", file) and re.search(rf"\b{stem}", open(os.path.join(HERE, file)).read())}


def affected(text, base, client):
    """The objects to compile anew, for one client where it is known, since most of a header's are other clients."""
    if text.within:
        return {"k_" + source for source in text.within}
    if not text.path.endswith(".h"):
        return {"k_" + os.path.basename(text.path)[:-2]}
    names, files = made_of(base, os.path.relpath(text.path, SOURCES)), files_of(client) if client else set()
    return {name for name in names if not files or not name.startswith("clients_") or name in files}


class Explorer:
    """The explorer with all mutants in it, of which those that must be are built alone."""

    def __init__(self, folder, jobs):
        self.folder, self.jobs = os.path.abspath(folder), jobs
        self.tree = os.path.join(self.folder, "tree")
        self.living = {"living": (os.path.join(self.tree, "living.c"), False)}
        self.program = os.path.join(self.folder, "explore")

    def build(self, mutants):
        began = time.monotonic()
        for mutant in mutants:
            mutant.alone = not is_switchable(mutant)
        while True:
            together = [mutant for mutant in mutants if not mutant.alone]
            write_tree(self.tree, SOURCES, together)
            try:
                build(self.tree, self.folder, jobs=self.jobs, optimize="-O1", more=self.living)
                break
            except subprocess.CalledProcessError as error:
                culprits = blamed(error.stderr or "", together) or sys.exit("the explorer does not build")
                for mutant in culprits:
                    mutant.alone = True
        print(f"{len(together)} of {len(mutants)} mutants are in one explorer, built in "
              f"{time.monotonic() - began:.0f} s", flush=True)

    def build_alone(self, mutant, folder, client):
        """Builds what the mutant changes, in the folder; the rest is there."""
        kernel = os.path.join(folder, "kernel")
        if not os.path.exists(kernel):
            shutil.copytree(KERNEL, kernel, copy_function=os.symlink, ignore=shutil.ignore_patterns("man"))
            for path in mutant.paths:
                target = os.path.join(kernel, os.path.relpath(path, SOURCES))
                os.remove(target)  # a link to the kernel's own
                lists.put(target, mutant.changed(path, lists.read(os.path.join(ROOT, path))))
        only = set().union(*(affected(text, self.folder, client) for text in mutant.texts))
        return build(kernel, folder, self.folder, only, optimize="-O1", more=self.living)

    def run(self, mutant, efforts, choices):
        """What the explorer says last, which tries the clients of each choice with each effort until one fails; None
        where the mutant does not compile."""
        folder = tempfile.mkdtemp(prefix="mutant.")
        try:
            for clients in choices:
                program = self.program
                if mutant.alone:
                    program = self.build_alone(mutant, folder, clients[0] if len(clients) == 1 else None)
                for effort in efforts:
                    done = subprocess.run([program, "--quiet", *effort, *clients], capture_output=True, text=True,
                                          env=environment(0 if mutant.alone else mutant.number))
                    if done.returncode == 1:
                        return done
            return done
        except subprocess.CalledProcessError:
            return None
        finally:
            shutil.rmtree(folder)

    def passes_without(self, clients):
        """Whether what is built so passes where no mutant is alive. A copy that is not as the kernel fails soon."""
        def one(part):
            return not part or subprocess.run([self.program, "--quiet", "--limit", "200", "--random", "100", *part],
                                              env=environment(0)).returncode == 0

        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            passed = all(pool.map(one, [clients[part::self.jobs] for part in range(self.jobs)]))
        print(f"without a mutant {len(clients)} clients {'pass' if passed else 'FAIL'} in "
              f"{time.monotonic() - began:.0f} s", flush=True)
        return passed


def patterns(mutant):
    text = mutant.texts[0]
    file = text.within[0] if text.within else os.path.basename(text.path)
    return [pattern for prefix, some in CLIENTS.items() if file.startswith(prefix) for pattern in some]


def judged(run):
    """What came of a mutant, what says so, and the client that noticed."""
    if run is None:
        return "BROKEN", "does not compile", None
    # One line from the explorer before the trace.
    lines = [line for line in run.stdout.splitlines() if CAUGHT.match(line)]
    if run.returncode != 1 or not lines:
        return "SURVIVED", run.stderr.strip(), None
    return "caught", lines[0][:140], CAUGHT.match(lines[0])[1]


def load(given, record, of_loops=False):
    """The mutants of the kernel or of its loops, all that are built with them, and what makes them wrong."""
    everyone, wrong = lists.load([KERNELS, LOOPS], SOURCES)
    mutants = [mutant for mutant in everyone if (mutant.theme == "loops") == of_loops]
    return mutants, everyone, wrong + (lists.unrecorded(record, mutants) if given.check else [])


def main():
    given = lists.options(__doc__).parse_intermixed_args()
    mutants, everyone, wrong = load(given, RECORD)
    if lists.only_looks(given, mutants, wrong):
        return 0
    record = lists.read_record(RECORD)

    def files(mutant):
        client = record.get(mutant.name)
        return mutant.paths + ([f"Tests/Explorer/{name}.c" for name in files_of(client)] if client else [])

    chosen = lists.choose(given, mutants, files)
    explorer = Explorer(given.folder, given.jobs)
    explorer.build(everyone)
    known = {} if given.record else record
    if not explorer.passes_without(sorted({known[m.name] for m in chosen if m.name in known})):
        return 1

    def try_one(mutant):
        choices = [[known[mutant.name]]] if mutant.name in known else []
        result, detail, client = judged(explorer.run(mutant, EFFORTS, [*choices, patterns(mutant)]))
        if client and given.record:
            record[mutant.name] = client
        return result, detail

    _, caught = lists.try_all(chosen, try_one, given, given.jobs)
    if given.record:
        lists.write_record(RECORD, record, mutants)
    return not caught


if __name__ == "__main__":
    sys.exit(main())
