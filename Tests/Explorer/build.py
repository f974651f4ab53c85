#!/usr/bin/env python3
"""Builds the explorer: the kernel's unmodified sources behind hooks.h, the clients, and the program that runs them.

    build.py FOLDER             prints the program's path
    build.py --races FOLDER     the same, with the kernel's plain accesses seen, for --model rc11
    build.py --functions FOLDER the same, unoptimized, for explore --functions
"""
import concurrent.futures, glob, os, re, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
KERNEL = os.path.join(ROOT, "Sources", "CSyncKernel")
EXPLORED = ["base", "thread_number", "fork", "queue_lock", "service", "arrivals", "heap", "report", "hooks",
            "probe", "announce", "pool_watch", "trampoline", "waiter", "observer", "subscriber", "wait_thread",
            "wait_callback", "yield", "text",
            "gate", "gate_order", "gate_queue", "gate_leave", "gate_async",
            "gate_lane", "gate_turn", "gate_pass", "gate_conditions", "gate_watch", "mutex", "pqueue", "pqueue_line",
            "pqueue_async", "thread_exit", "rwlock", "rwlock_wait", "rwlock_queue", "rwlock_bias", "rwlock_async",
            "rwlock_watch", "cond", "gate_await", "profile", "stack", "sem", "sem_queue", "sem_async", "sem_note",
            "sem_holder", "workqueue", "workqueue_order", "workqueue_refuse",
            "workqueue_wait", "delayed", "snapshot", "marks", "inspect", "inspect_objects", "inspect_pool",
            "inspect_tasks"]
# Through kernel_NAME.c, which brings static state back to how a process begins, or gives the source the explorer's
# memory.
STATEFUL = ["timer", "reads", "pool", "pool_growth", "rwlock_work", "workqueue_serve",
            "workqueue_life", "rcu", "rcu_readers", "rcu_own", "rcu_reclaim", "rcu_watch", "rcu_map", "tls", "block",
            "name", "slots", "metrics", "waits", "watch", "listed", "tasks", "platform", "ordering", "order",
            "order_graph", "order_print", "watchdog", "deadlock", "inspect_server", "small_file"]
# What nobody explores: what the system and liburcu answer, and what is written, printed or sent of what others have
# read.
UNEXPLORED = ["load_time", "platform_census", "platform_clock", "platform_fork", "platform_threads", "platform_visit",
              "quota", "rcu_liburcu", "inspect_print", "deadlock_graph", "deadlock_print", "deadlock_text", "folded",
              "openmetrics", "places", "pprof", "symbols"]
# Clients leave a gate a few times, and each departure looks whether a waiter is late. A mutex is tried once before it
# is waited for. What a second yield shows, the first one does. Clients queue a few works, and a long inbox has three.
# Few stand before one who is under a limit, and a long row of them has three. A thread that has taken a gate by a look
# stays away before the next one. Tasks that run pass one that waits twice.
KNOBS = ["-DGATE_DEPARTURES=1", "-DGATE_BRIEF_NS=1000000", "-DGATE_PASSED_OVER_NS=INT64_C(1000000)",
         "-DCSK_PQUEUE_TRIES=1", "-DCSK_YIELDS=1", "-DCSK_LOOK_PIECE=1", "-DCSK_NO_PROBES", "-DCSK_WORK_PIECE=2",
         "-DCSK_ARRIVALS_STEPS=2", "-DGATE_PASSES=2"]
LIBRARY = ["core", "choices", "fibers", "graph", "trace", "allocation", "accesses", "system", "explorer",
           "platform_explored", "pthread_explored", "spin", "turns", "model_sb", "model_rc11", "rc11_psc", "rc11_races",
           "strategy", "partly", "litmus", "litmus_tests", "weaken", "entered", "main"]
# What stands in for a part of the kernel, and is not checked for races itself.
MODELS = ["rcu_model"]


def sources(kernel):
    """By object name: the file, and whether it sees the hooks."""
    folders = {os.path.basename(path)[:-2]: path for path in glob.glob(os.path.join(kernel, "src", "*", "*.c"))}
    if missing := [name for name in EXPLORED if name not in folders]:
        sys.exit(f"the kernel has no source for what EXPLORED of Tests/Explorer/build.py names: {', '.join(missing)}")
    files = {"k_" + name: (folders[name], True) for name in EXPLORED}
    for name in STATEFUL:
        files["k_" + name] = (os.path.join(HERE, f"kernel_{name}.c"), True)
    files.update({name: (os.path.join(HERE, name + ".c"), True) for name in MODELS})
    files.update({name: (os.path.join(HERE, name + ".c"), False) for name in LIBRARY})
    clients = sorted(name[:-2] for name in os.listdir(HERE) if re.fullmatch(r"clients_\w+\.c", name))
    files.update({name: (os.path.join(HERE, name + ".c"), True) for name in clients})
    return files


def is_fresh(target, command):
    """Whether the object was made by this very command, and nothing that it is made of is newer."""
    try:
        with open(target + ".command") as file:
            if file.read() != command:
                return False
        made = os.path.getmtime(target)
        parts = open(target[:-2] + ".d").read().replace("\\\n", " ").split(": ", 1)[1].split()
        return all(os.path.getmtime(os.path.join(ROOT, part)) < made for part in parts)
    except OSError:
        return False


def compile_object(target, command):
    """Unless it is fresh."""
    if not is_fresh(target, " ".join(command)):
        done = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        sys.stderr.write(done.stderr)
        done.check_returncode()
        with open(target + ".command", "w") as file:
            file.write(" ".join(command))


def build(kernel, folder, reuse=None, only=None, warnings=("-w",), jobs=1, races=False, optimize="-O2",
          functions=False, more=None):
    """Compiles what `only` names, all without it; other objects come from the folder `reuse`. With `races` the kernel's
    sources call for each plain access what rc11_races.c has, with `functions` for each function what entered.c
    has, unoptimized. Beside each object stands what it was made of (`.d`) and how; it is compiled anew when any of that
    has changed. `more` is of the form of `sources`.

    Returns the program's path.
    """
    os.makedirs(folder, exist_ok=True)
    if functions:
        optimize = "-O0"
    includes = ["-I" + HERE, "-I" + os.path.join(kernel, "include"), "-I" + os.path.join(kernel, "src")]

    def compile_one(item):
        name, (path, hooked) = item
        if only is not None and name not in only:
            return os.path.join(reuse, name + ".o")
        target = os.path.join(folder, name + ".o")
        hooks = ["-include", os.path.join(HERE, "hooks.h")] if hooked else []
        shown = os.path.relpath(path, ROOT) if path.startswith(ROOT + os.sep) else path
        if races and name.startswith("k_"):
            hooks += ["-g", "-fsanitize=thread", "-U__SANITIZE_THREAD__"]
        # Clients, too, hold inline functions of the kernel's headers.
        if functions and hooked:
            hooks += ["-g1", "-finstrument-functions", "-finstrument-functions-exclude-file-list=Tests/Explorer"]
        # A mutant of a header may be one in some of the sources only.
        seen = [f"-DSEEN_IN_{name[2:]}"] if name.startswith("k_") else []
        flags = ["-std=gnu11", optimize, "-MMD", "-D_GNU_SOURCE", *seen, *KNOBS, *includes, *warnings, *hooks]
        command = ["cc", *flags, "-c", shown, "-o", os.path.abspath(target)]
        compile_object(target, command)
        return target

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        objects = list(pool.map(compile_one, {**(more or {}), **sources(kernel)}.items()))
    program = os.path.join(folder, "explore")
    # The addresses of a race's code, and of functions, are those that addr2line wants.
    options = ["-no-pie"] if races or functions else []
    # Without optimization functions remain that nobody calls, and what they would call is not there.
    options += ["-Wl,--unresolved-symbols=ignore-all"] if functions else []
    subprocess.run(["cc", *options, "-o", program, *objects], check=True)
    return program


if __name__ == "__main__":
    arguments = sys.argv[1:]
    kind = arguments.pop(0) if arguments[:1] in (["--races"], ["--functions"]) else None
    if len(arguments) != 1:
        sys.exit(__doc__)
    # A hooked macro casts to the type it found, qualifiers and all, and its value is not always used.
    strict = ("-Wall", "-Wextra", "-Werror", "-Wno-ignored-qualifiers", "-Wno-unused-value")
    print(build(KERNEL, arguments[0], warnings=strict, jobs=os.cpu_count(), races=kind == "--races",
                functions=kind == "--functions"))
