"""Runs one command of a step: shows what it prints, and ends it when it hangs."""
import os, signal, subprocess, threading, time

# Seconds. The longest step takes less than a quarter of it: what takes longer hangs.
LIMIT = 1800
# What only starts others has no stacks that tell anything.
STARTERS = {"bash", "sh", "tee", "sed", "sleep", "ctest", "cmake", "ninja", "python3", "swift-test", "swift-build"}


def descendants(root):
    """The process, and all that it started, as far as their parents live."""
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True).stdout
    children = {}
    for line in listed.splitlines():
        process, parent = map(int, line.split())
        children.setdefault(parent, []).append(process)
    found = [root]
    for process in found:
        found += children.get(process, [])
    return found


def end_hanging(process, log):
    """Says what runs after the limit, with its stacks where gdb is there, and ends it."""
    running = descendants(process.pid)
    log.write(f"\nFAILED: it has not ended after {LIMIT} s. What runs:\n")
    log.flush()
    names = ",".join(map(str, running))
    subprocess.run(["ps", "-o", "pid,ppid,etimes,stat,wchan:24,args", "-p", names], stdout=log, stderr=log)
    for one in running:
        try:
            name = open(f"/proc/{one}/comm").read().strip()
        except OSError:
            continue
        if name not in STARTERS:
            log.write(f"\n==> threads of process {one}\n")
            log.flush()
            subprocess.run(["timeout", "60", "gdb", "-p", str(one), "-batch", "-ex", "thread apply all backtrace 24"],
                           stdout=log, stderr=log)
    end(process, running)


def end(process, running=()):
    """The process group, and what has left it."""
    for kill, one in [(os.killpg, process.pid), *((os.kill, one) for one in running)]:
        try:
            kill(one, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


RUNNING, BEGINS = set(), threading.Lock()


def end_all():
    """What runs now, and all that it has started. Nothing begins any more: whoever would, waits."""
    BEGINS.acquire()
    for process in list(RUNNING):
        end(process, descendants(process.pid))


def run_within_limit(command, log, show, folder):
    """Whether it has passed. What it prints goes into the log, a file, and from there to `show`, line by line: where
    whoever reads is slow, `swift test` loses lines that it writes into a pipe."""
    began, at, hangs = time.monotonic(), log.tell(), False
    with BEGINS:
        process = subprocess.Popen(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=subprocess.STDOUT, cwd=folder, start_new_session=True)
        RUNNING.add(process)
    ended = threading.Event()
    with open(log.name, errors="replace") as reader:
        reader.seek(at)
        tail = threading.Thread(target=follow, args=(reader, show, ended))
        tail.start()
        try:
            process.wait(timeout=LIMIT - (time.monotonic() - began))
        except subprocess.TimeoutExpired:
            hangs = True
            end_hanging(process, log)
            process.wait()
        finally:
            # What it left running would disturb the steps behind it.
            end(process)
            RUNNING.discard(process)
            ended.set()
            tail.join()
    if process.returncode != 0:
        log.write(f"it ended with status {process.returncode}\n")
    log.seek(0, os.SEEK_END)
    # It may still have ended by itself while its stacks were looked at.
    return process.returncode == 0 and not hangs


def follow(reader, show, ended):
    part = ""
    while True:
        last = ended.is_set()
        part += reader.read()
        *lines, part = part.split("\n")
        for line in lines:
            show(line)
        if last:
            if part:
                show(part)
            return
        ended.wait(0.2)
