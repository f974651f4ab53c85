"""What a change selects of the steps, and within a step. What can't be mapped selects everything.

A change is what differs from the tree that passed.txt names: the last one that passed in full.
"""
import fnmatch, os, re, subprocess, sys
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PASSED = os.path.join(HERE, "passed.txt")
sys.path.append(os.path.join(ROOT, "Tests", "Explorer"))
from build import UNEXPLORED
from reached import functions_of, reached
from changes import changed_since, git
from steps import EVERYTHING, READ_ALWAYS, STEPS

REACHED = os.path.join(ROOT, ".build", "explorer-functions")
KERNEL_CODE = re.compile(r"Sources/CSyncKernel/(src|include)/.*\.[ch]$")
CLIENT_FILE = re.compile(r"Tests/Explorer/clients_\w+\.c$")


@dataclass
class Selection:
    """By step why it is selected. `clients`: patterns of their names, or None: all. `tree`: what has changed since."""
    reasons: dict = field(default_factory=dict)
    tree: str = None
    clients: list = None
    notes: list = field(default_factory=list)


def passed():
    """By name what the record says; empty without a record."""
    return dict(line.split("\t") for line in read(PASSED).splitlines() if "\t" in line)


def matches(path, patterns):
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def steps_of(path):
    """The steps that depend on it; None where nothing says."""
    found = [step.name for step in STEPS if not step.always and matches(path, step.inputs)]
    return found if found or matches(path, READ_ALWAYS) else None


def read(path):
    try:
        return open(os.path.join(ROOT, path), errors="replace").read()
    except OSError:
        return ""


def changed_functions(old, new):
    """Names of the functions that are not as they were; None where something else has changed too."""
    (before, rest_before), (now, rest_now) = functions_of(old), functions_of(new)
    if rest_before != rest_now or before.keys() != now.keys():
        return None
    return {name for name in now if now[name] != before.get(name)}


def entered_by(path, functions, entered):
    """The clients that enter one of the functions; None where that is not known."""
    of_file = [clients for (file, _), clients in entered.items() if file == path]
    if functions is None:
        # A header's types and macros are everywhere.
        return set().union(*of_file) if of_file and path.endswith(".c") else None
    found = set()
    for name in functions:
        there = [clients for (file, function), clients in entered.items()
                 if function == name and (file == path or name.startswith("csk_"))]
        if not there:
            return entered_by(path, None, entered)
        found |= set().union(*there)
    return found


def clients_in(path):
    """Patterns of their names: some macros make several of one."""
    names = re.findall(r"^[A-Z_]+\((\w+),", read(path), re.M)
    return {*names, *(name + "_*" for name in names)}


def clients_of(paths, text_before, text_now, entered):
    """The clients that a change of these paths can affect, and None with the reason where these may be all."""
    found = set()
    for path in paths:
        if CLIENT_FILE.match(path):
            found |= clients_in(path)
        elif KERNEL_CODE.match(path):
            if os.path.basename(path)[:-2] in UNEXPLORED and path.endswith(".c"):
                continue
            functions = changed_functions(text_before(path), text_now(path))
            try:
                clients = entered_by(path, functions, entered()) if functions is None or functions else set()
            except subprocess.CalledProcessError:
                return None, "the explorer that tells of functions does not build, or a client fails"
            except SystemExit as ended:
                return None, ended.code
            if clients is None:
                return None, f"{path}: not only functions that clients enter have changed"
            found |= clients
        elif "schedules" in (steps_of(path) or ()):
            return None, f"{path} is part of all clients"
    return found, None


def refine(selection, clients, why):
    """The explorer's clients, where the change says which."""
    if clients is None:
        selection.notes.append(f"all clients of the explorer: {why}")
    elif clients:
        selection.clients = sorted(clients)
        selection.notes.append(f"{len(clients)} clients of the explorer enter what has changed")
    else:
        for step in STEPS:
            if "{clients}" in " ".join(step.commands):
                selection.reasons.pop(step.name, None)
        selection.notes.append("no client of the explorer enters what has changed")


def code_of(text):
    """What steps take from a document: its samples, their settings, and its commands."""
    return re.findall(r"^ *```.*?^ *```|<!--.*?-->", text, re.M | re.S)


def select(paths, tree, text_now=read, entered=lambda: reached(REACHED)):
    """What a change of these paths since the tree selects. `entered` gives by function the clients that enter it, when
    it is asked."""
    selection = Selection({step.name: "always" for step in STEPS if step.always}, tree)
    before = lambda path: git("show", f"{tree}:{path}") or ""
    for path in paths:
        # Of guides docc reads the prose too.
        if path.endswith(".md") and ".docc/" not in path and code_of(before(path)) == code_of(text_now(path)):
            continue
        steps = steps_of(path)
        if steps is None:
            return everything(f"all steps depend on {path}" if matches(path, EVERYTHING) else
                              f"no step of Tests/Steps/steps.py names {path}")
        for step in steps:
            selection.reasons.setdefault(step, path)
    if "schedules" in selection.reasons:
        refine(selection, *clients_of(paths, before, text_now, entered))
    return selection


def everything(why):
    return Selection({step.name: "all" for step in STEPS}, notes=[f"everything: {why}"])


def selection_of_change():
    tree = passed().get("tree")
    if tree is None:
        return everything("there is no record of what has passed")
    if git("rev-parse", "--git-dir") is None:
        return everything("this is no git repository, which would tell what has changed")
    if git("cat-file", "-e", tree) is None:
        return everything("this clone lacks the tree that has passed: it is shallow (git fetch --unshallow), or its "
                          "history was rewritten")
    paths = changed_since(tree)
    selection = select(paths, tree)
    differ = "1 file differs" if len(paths) == 1 else f"{len(paths)} files differ"
    selection.notes.insert(0, f"{differ} from the tree that last passed in full, {passed().get('date')}")
    return selection
