#!/usr/bin/env python3
"""Tests how steps are run: the order, what ends them, what is said of them, and when they are noted as passed."""
import contextlib, io, os, select, subprocess, sys, tempfile, threading, time
from unittest import mock

import process, record, run, selection
from selection_test import repository
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
        Step("good", ("echo a line", "printf 'nothing is skipped: so'"), ""),
        Step("bad", ("echo error: so >&2; exit 3", "echo goes on"), ""), Step("broken", None, ""),
        Step("without", ("echo 'skipped: nothing here'", "echo and more"), ""),
        Step("both", ("echo 'skipped: nothing here'", "false"), "")])
    expect("how steps end", results, {"good": "passed", "bad": "FAILED", "broken": "FAILED", "without": "skipped",
                                      "both": "FAILED"})
    expect("whether all have passed", passed, False)
    expect("how often a line is printed", printed.count("good | a line"), 1)
    for line in ("good | nothing is skipped: so", "bad | error: so", "bad | goes on", "==> why bad failed",
                 "\n2:error: so", "it ended with status 3"):
        expect(f"whether {line!r} is printed", line in printed, True)
    expect("steps that pass", run_steps([Step("good", ("true",), "")])[1], True)


class Closed(io.StringIO):
    def write(self, text):
        raise BrokenPipeError


def test_unread():
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(Closed()):
        one = run.Run([Step("good", ("echo a line",), "")], 1, lambda step: step.commands)
        one.folder = folder
        one.all()
    expect("where nobody reads", [result for result, _ in one.results.values()], ["passed"])


def test_last_line():
    """It may come between the last look and the end."""
    ended, shown, texts = threading.Event(), [], ["", "late\n"]

    class Late:
        def read(self):
            ended.set()
            return texts.pop(0) if texts else ""

    process.follow(Late(), shown.append, ended)
    expect("what comes late", shown, ["late"])


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
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(process, "LIMIT", 1):
        own = os.path.join(folder, "own")
        results, _, printed = run_steps([
            Step("hangs", (f"bash -c 'setsid sleep 100 & echo $! >{own}; wait' & tail -f /dev/null",), "")])
        expect("whether what has left its group is ended", ends(open(own).read().strip()), True)
        with mock.patch.object(process, "end_hanging", lambda process, log: None):
            expect("what ends after the limit", run_steps([Step("slow", ("sleep 1.3",), "")])[0], {"slow": "FAILED"})
    expect("a step that hangs", results, {"hangs": "FAILED"})
    expect("whether it is said", "it has not ended after 1 s" in printed, True)
    expect("whether stacks are asked for", "==> threads of process" in printed, True)
    expect("whether it took too long", time.monotonic() - began < 60, True)


def test_interrupt():
    program = """import process, run, threading
from steps import Step

class Begins:
    held, tried = threading.Lock(), threading.Event()
    def acquire(self):
        self.held.acquire()
    def __enter__(self):
        if self.held.locked():
            self.tried.set()
        self.held.acquire()
    def __exit__(self, *_):
        self.held.release()

process.BEGINS = Begins()
try:
    commands = "timeout 5 cat && { setsid sleep 100 & echo $!; wait; }", "echo begins"
    run.Run([Step("long", commands, ""), Step("next", commands[1:], "")], 1, lambda step: step.commands).all()
except KeyboardInterrupt:
    Begins.tried.wait(5)  # until the next command would begin
"""
    # A command gets no input, whatever the runner has.
    runner = subprocess.Popen([sys.executable, "-c", program], cwd=os.path.dirname(os.path.abspath(__file__)),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    number = next((line.split()[-1] for line in runner.stdout if line.startswith("long | ")), None)
    runner.terminate()
    printed, _ = runner.communicate()
    expect("whether an interrupt ends what runs", (number or "").isdigit() and ends(number), True)
    expect("whether something begins behind an interrupt", "begins" in printed, False)


def test_chosen_in_part():
    steps = [Step("a", (), "", after=("b",)), Step("b", (), "", after=("c",)), Step("c", (), "")]
    expect("what a step runs behind", run.predecessors(steps[0], steps), {"b", "c"})


def test_left_running():
    with tempfile.TemporaryDirectory() as folder:
        own = os.path.join(folder, "own")
        run_steps([Step("leaves", (f"trap '' TERM; sleep 100 & echo $! >{own}",), "")])
        expect("whether what a step leaves running is ended", ends(open(own).read().strip()), True)
    gone, there = subprocess.Popen(["true"], start_new_session=True), subprocess.Popen(["sleep", "100"])
    gone.wait()
    process.end(gone, [there.pid])
    expect("whether the rest is ended where the first is gone", ends(there.pid), True)
    there.kill()
    there.wait()


STEPS = (Step("good", ("echo all",), "", fast=True), Step("other", ("echo all",), "", fast=("echo fast",)),
         Step("slow", ("echo all",), ""), Step("bad", ("false",), ""))


def main_with(arguments, steps):
    """The status, the trees that are given to be noted, and what was printed."""
    noted, printed, trees = [], io.StringIO(), iter(["before", "behind"])
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed), \
            contextlib.redirect_stderr(printed), mock.patch.multiple(run, STEPS=steps, ROOT=folder), \
            mock.patch.object(selection, "STEPS", steps), \
            mock.patch.multiple(record, clean_tree=lambda: next(trees), write=lambda tree, *_: noted.append(tree)), \
            mock.patch.object(sys, "argv", ["run.py", *arguments]):
        try:
            status = int(run.main())
        except SystemExit as ended:
            status = ended.code
    return status, noted, printed.getvalue()


def test_main():
    for arguments, steps, wanted in [(["--all"], STEPS[:3], (0, ["before"])), (["--all"], STEPS, (1, [])),
                                     (["--only", "good,sl"], STEPS, (0, [])), (["--only", "good,b"], STEPS, (1, [])),
                                     (["--fast"], STEPS, (0, [])), (["--all", "--selected"], STEPS, (0, [])),
                                     (["--lanes", "1", "--only", "good"], STEPS, (0, [])),
                                     (["--lanes", "0"], STEPS, (2, [])), (["--lanes", "x"], STEPS, (2, [])),
                                     (["--help"], STEPS, (0, [])), (["--all", "--fast"], STEPS, (2, [])),
                                     (["good"], STEPS, (2, [])), (["--only", " good, sl"], STEPS, (0, []))]:
        expect(f"the status by {arguments}, and what is noted", main_with(arguments, steps)[:2], wanted)
    for wrong, names in [("none", "good,none"), ("", "good,"), ("", ""), ("Good", "Good")]:
        expect(f"what is said of the names {names!r}", main_with(["--only", names], STEPS)[0],
               f"no step's name begins with '{wrong}'. The steps:\n  good\n  other\n  slow\n  bad")
    for arguments, wanted in [(["--all"], ["everything: it was asked for", *(f"{step.name} all" for step in STEPS)]),
                              (["--fast"], ["good fast", "other echo fast", "slow -", "bad -"]),
                              (["--only", "o,b"], ["good -", "other named", "slow -", "bad named"])]:
        lines = [" ".join(line.split()) for line in main_with([*arguments, "--selected"], STEPS)[2].splitlines()]
        expect(f"what would run by {arguments}", lines, wanted)
    expect("what --help prints", "--lanes N" in main_with(["--help"], STEPS)[2], True)
    _, _, printed = main_with(["--fast"], STEPS)
    expect("what is fast", [line for line in ("good | all", "other | fast", "slow | all") if line in printed],
           ["good | all", "other | fast"])
    step, some = Step("", ("x {clients} {changed}",), ""), selection.Selection(tree="123", clients=["a", "b_*"])
    expect("a command for some clients", run.filler(some)(step), ["x 'a' 'b_*' --changed 123"])
    expect("a command for all", run.filler(selection.everything(""))(step), ["x  --changed HEAD~1"])


def test_record():
    with repository() as (folder, put, commit), mock.patch.multiple(record, STEPS=STEPS, PASSED=selection.PASSED):
        put(a="one")
        commit()
        put(a="two")
        commit()
        tree, earlier = (selection.git("rev-parse", f"{name}^{{tree}}").strip() for name in ("HEAD", "HEAD~1"))
        results = {step.name: ("passed", 7) for step in STEPS}

        def writes(tree, results):
            with contextlib.redirect_stdout(io.StringIO()):
                return record.write(tree, results, 8), selection.passed().get("tree")

        expect("a clean tree", record.clean_tree(), tree)
        expect("noted where a step has not run", writes(tree, {"good": ("passed", 7)}), (False, None))
        expect("noted where one was skipped", writes(tree, {**results, "slow": ("skipped", 0)}), (False, None))
        expect("noted where a commit came meanwhile", writes(earlier, results), (False, None))
        for file in ("a", "untracked"):
            put(**{file: "three"})
            expect(f"a tree where {file} has changed", record.clean_tree(), None)
            expect("noted where it was so from the start", writes(None, results), (False, None))
            expect("noted where it is so at the end", writes(tree, results), (False, None))
            put(a="two")
        os.remove(os.path.join(folder, "untracked"))
        expect("noted where all have passed", writes(tree, results), (True, tree))


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
    for test in (test_results, test_unread, test_last_line, test_order, test_chosen_in_part, test_limit, test_interrupt,
                 test_left_running, test_main, test_record):
        test()
    print(f"how steps are run: {faults} faults")
    return faults != 0


if __name__ == "__main__":
    sys.exit(main())
