#!/usr/bin/env python3
"""Tests how steps are run: the order, what ends them, and what is said of them."""
import contextlib, io, os, select, subprocess, sys, tempfile, time

import process, run
from steps import Step

faults = 0


def expect(what, found, wanted):
    global faults
    if found != wanted:
        faults += 1
        print(f"{what}: {found!r}, and should be {wanted!r}")


def run_steps(steps, lanes=2):
    """By name how each has ended, whether all have passed, and what was printed."""
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        one = run.Run(steps, lanes, lambda step: step.commands)
        one.folder = folder
        one.all()
        passed, _ = one.table()
    return {name: result for name, (result, _) in one.results.items()}, passed, printed.getvalue()


def test_results():
    results, passed, printed = run_steps([
        Step("good", ("true", "echo a line"), ""), Step("bad", ("echo error: so; exit 3", "echo goes on"), ""),
        Step("without", ("echo 'skipped: nothing here'", "echo and more"), "")])
    expect("how steps end", results, {"good": "passed", "bad": "FAILED", "without": "skipped"})
    expect("whether all have passed", passed, False)
    for line in ("good | a line", "bad | goes on", "==> why bad failed", "it ended with status 3"):
        expect(f"whether {line!r} is printed", line in printed, True)
    expect("steps that pass", run_steps([Step("good", ("true",), "")])[1], True)


def test_order():
    with tempfile.TemporaryDirectory() as folder:
        mark, meeting = os.path.join(folder, "mark"), os.path.join(folder, "meeting")
        os.mkfifo(meeting)
        results, _, _ = run_steps([
            Step("last", (f"[ -e {mark} ]",), "", after=("waits", "absent")),
            Step("waits", (f"timeout 10 cat {meeting} && touch {mark}",), ""),
            Step("comes", (f"timeout 10 bash -c 'echo >{meeting}'",), "")])
        expect("two run at a time, and one behind another", set(results.values()), {"passed"})


def test_limit():
    before, process.LIMIT = process.LIMIT, 1
    began = time.monotonic()
    results, _, printed = run_steps([Step("hangs", ("sleep 100 & tail -f /dev/null",), "")])
    process.LIMIT = before
    expect("a step that hangs", results, {"hangs": "FAILED"})
    expect("whether it is said", "it has not ended after 1 s" in printed, True)
    expect("whether stacks are asked for", "==> threads of process" in printed, True)
    expect("whether it took too long", time.monotonic() - began < 60, True)


def test_interrupt():
    program = ("import run; from steps import Step; "
               "run.Run([Step('long', ('echo $$; sleep 100',), '')], 1, lambda step: step.commands).all()")
    runner = subprocess.Popen([sys.executable, "-c", program], cwd=os.path.dirname(os.path.abspath(__file__)),
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    number = next((line.split()[-1] for line in runner.stdout if line.startswith("long | ")), None)
    runner.terminate()
    runner.communicate()
    expect("whether an interrupt ends what runs", number is not None and ends(number), True)


def test_chosen_in_part():
    steps = [Step("a", (), "", after=("b",)), Step("b", (), "", after=("c",)), Step("c", (), "")]
    expect("what a step runs behind", run.predecessors(steps[0], steps), {"b", "c"})


def test_left_running():
    with tempfile.TemporaryDirectory() as folder:
        own = os.path.join(folder, "own")
        run_steps([Step("leaves", (f"sleep 100 & echo $! >{own}",), "")])
        expect("whether what a step leaves running is ended", ends(open(own).read().strip()), True)


def ends(number):
    """Whether the process, which has got its signal, ends within some seconds."""
    try:
        process_file = os.pidfd_open(int(number))
    except ProcessLookupError:
        return True
    ended, _, _ = select.select([process_file], [], [], 5)
    os.close(process_file)
    return ended != []


def main():
    for test in (test_results, test_order, test_chosen_in_part, test_limit, test_interrupt, test_left_running):
        test()
    print(f"how steps are run: {faults} faults")
    return faults != 0


if __name__ == "__main__":
    sys.exit(main())
