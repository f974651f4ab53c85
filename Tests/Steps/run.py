#!/usr/bin/env python3
"""Runs everything that a change can affect, two steps at a time, and ends with a table and what failed steps said.
Exits with 1 if anything failed. What each step prints stands in .build/steps too, a file for each.

  scripts/test                       what has changed since the tree that last passed in full can affect
                                     (Tests/Steps/passed.txt); says why each step runs
  scripts/test --all                 all; and, if all pass and nothing is uncommitted, notes the tree as passed
  scripts/test --only NAME,...       the steps whose names begin so: scripts/test --only setup,build
  scripts/test --fast                while you work: builds what has changed, the Swift tests, unoptimized, the C tests
                                     that don't take seconds each, races that must not compile, what texts and numbers
                                     say, and the layout
  --selected                         with any of these: only says what would run. Where the kernel's sources have
                                     changed it builds the explorer first, to see which clients enter them: a minute
  --lanes N                          with any of these: so many steps at a time (default 2)
"""
import argparse, contextlib, os, signal, sys, threading, time

import record, tables
from process import end_all, run_within_limit
from selection import ROOT, everything, selection_of_change
from steps import STEPS

# What tells why a step failed.
TELLING = ("✘", "error:", "rror:", "atal", "FAIL", "ailed", "not caught", "Sanitizer", "signal code", "Crash")


def predecessors(step, steps=STEPS):
    """The names of those of `after`, and of theirs: also where the step between is not chosen."""
    by_name, found, look = {one.name: one for one in steps}, set(), list(step.after)
    for name in look:
        if name not in found:
            found.add(name)
            look += by_name[name].after if name in by_name else ()
    return found


class Run:
    """The chosen steps: which of them wait, which run, and how each has ended."""

    def __init__(self, steps, lanes, fill):
        self.steps, self.lanes, self.fill = steps, lanes, fill
        self.waiting, self.running, self.results = list(steps), {}, {}
        self.changed = threading.Condition()
        self.began = time.monotonic()
        self.folder = os.path.join(ROOT, ".build", "steps")
        os.makedirs(self.folder, exist_ok=True)

    def log(self, step):
        return os.path.join(self.folder, step.name.replace(" ", "-") + ".log")

    def ready(self):
        """The first step whose predecessors have ended, as far as they are chosen."""
        names = {step.name for step in self.waiting} | set(self.running)
        return next((step for step in self.waiting if not names & predecessors(step)), None)

    def say(self, text):
        """Nothing where nobody reads any more."""
        with self.changed, contextlib.suppress(BrokenPipeError):
            print(text, flush=True)

    def all(self):
        """An interrupt or SIGTERM ends what runs, and nothing begins behind it."""
        workers = [threading.Thread(target=self.work, daemon=True) for _ in range(self.lanes)]
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            for worker in workers:
                worker.start()
            for worker in workers:
                while worker.is_alive():
                    worker.join(0.5)
        except BaseException:
            end_all()
            raise

    def work(self):
        while True:
            with self.changed:
                while (step := self.ready()) is None and self.waiting:
                    self.changed.wait()
                if step is None:
                    return
                self.waiting.remove(step)
                self.running[step.name] = time.monotonic()
            self.say(f"==> {step.name}")
            try:
                result = self.one(step)
            except Exception as error:
                result = "FAILED"
                self.say(f"{step.name}: {error!r}")
            with self.changed:
                seconds = round(time.monotonic() - self.running.pop(step.name))
                self.results[step.name] = (result, seconds)
                self.changed.notify_all()
            self.say(f"<== {step.name}: {result} after {seconds} s")

    def one(self, step):
        """Passed, FAILED or skipped. A command that can't run here says so in its last line, "skipped: why"."""
        path, passed, skipped = self.log(step), True, False
        with open(path, "w") as log:
            for command in self.fill(step):
                log.write(f"$ {command}\n")
                log.flush()
                passed = run_within_limit(command, log, lambda line: self.say(f"{step.name} | {line}"), ROOT) and passed
                last = open(path, errors="replace").read().rstrip("\n").split("\n")[-1]
                skipped = skipped or last.startswith("skipped: ")
        return "FAILED" if not passed else "skipped" if skipped else "passed"

    def table(self):
        """Says how each step has ended; whether all have passed."""
        failed = [step for step in self.steps if self.results[step.name][0] == "FAILED"]
        total = round(time.monotonic() - self.began)
        print(f"\n{'step':32} {'result':8} {'seconds':>7}")
        for step in self.steps:
            result, seconds = self.results[step.name]
            print(f"{step.name:32} {result:8} {seconds:7}")
        print(f"{'total':32} {'FAILED' if failed else 'passed':8} {total:7}", flush=True)
        for step in failed:
            self.show_failure(step)
        return not failed, total

    def show_failure(self, step):
        print(f"\n==> why {step.name} failed")
        lines = open(self.log(step), errors="replace").read().split("\n")
        telling = [f"{at}:{line}" for at, line in enumerate(lines, 1) if any(part in line for part in TELLING)]
        print("\n".join([*telling[:60], "...", *lines[-26:]]), flush=True)


def named(text):
    """The steps whose names begin as the text says."""
    beginnings = [part.strip() for part in text.split(",")]
    for beginning in beginnings:
        if not beginning or not any(step.name.startswith(beginning) for step in STEPS):
            names = "\n  ".join(step.name for step in STEPS)
            sys.exit(f"no step's name begins with '{beginning}'. The steps:\n  {names}")
    return [step for step in STEPS if step.name.startswith(tuple(beginnings))]


def fast_commands(step):
    return step.commands if step.fast is True else step.fast


def chosen(options):
    """The steps, and what fills in their commands; prints why they are chosen."""
    if options.only is not None:
        steps, fill, notes = named(options.only), filler(everything("")), []
        reasons = {step.name: "named" for step in steps}
    elif options.fast:
        steps, fill = [step for step in STEPS if step.fast], fast_commands
        notes, reasons = [], {step.name: "fast" if step.fast is True else "; ".join(step.fast) for step in steps}
    else:
        selection = everything("it was asked for") if options.all else selection_of_change()
        steps, fill = [step for step in STEPS if step.name in selection.reasons], filler(selection)
        notes, reasons = selection.notes, selection.reasons
    if options.selected or not (options.only or options.fast or len(steps) == len(STEPS)):
        notes = notes + [f"  {step.name:32} {reasons.get(step.name, '-')}" for step in STEPS]
    if notes:
        print("\n".join(notes), flush=True)
    return steps, fill


def filler(selection):
    clients = " ".join(f"'{client}'" for client in selection.clients or ())
    changed = f"--changed {selection.tree or 'HEAD~1'}"
    return lambda step: [command.format(clients=clients, changed=changed) for command in step.commands]


def lanes(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 on")
    return int(text)


def options_given():
    """Of the command line; exits with 2 where it is wrong."""
    parser = argparse.ArgumentParser(
        "scripts/test", "scripts/test [--all | --only NAME,... | --fast] [--selected] [--lanes N] [--help]",
        add_help=False)
    parser.add_argument("--help", "-h", action="store_true")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true")
    which.add_argument("--fast", action="store_true")
    which.add_argument("--only")
    parser.add_argument("--selected", action="store_true")
    parser.add_argument("--lanes", type=lanes, default=2)
    return parser.parse_args()


def main():
    options = options_given()
    if options.help:
        print(__doc__, end="")
        return 0
    steps, fill = chosen(options)
    if options.selected:
        return 0
    run = Run(steps, options.lanes, fill)
    before = record.clean_tree()
    run.all()
    passed, total = run.table()
    if options.all and passed and record.write(before, run.results, total):
        tables.write()
    return not passed


if __name__ == "__main__":
    sys.exit(main())
