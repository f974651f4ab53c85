#!/usr/bin/env python3
"""Checks the documents themselves; scripts/test-docs calls it from the root of the repository. It takes seconds. With
--write it writes the tables that documents take from sources (source_tables.py).

- Each link among the documents leads to a file, a heading or an article that is there.
- Each place in the code that docs name as file: function, function is where the function is defined. Each row of
  who-goes-next.md has such a place.
- Each name in docs that stands in backquotes exists: files, functions, fields, types and constants in the sources
  or the tests. After the words client, mutant, model, variant, test and Swift mutant the names must be of that kind.
- ARCHITECTURE.md names each source of the kernel in the row of its layer.
- Numbers that documents state are those of the sources (numbers_stated.py); verification.md and ARCHITECTURE.md have no
  others.
- Each drawing in docs/design was made from the text beside it.
- Each table of a state word is that of its source.
- No line that somebody writes is longer than 120 columns. Tables, addresses, shown output and what can't be wrapped are
  exempt (`is_exempt`); sources in C and Swift are measured by scripts/format.
"""

import functools
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numbers_stated as numbers
import source_tables

ROOT = Path(__file__).resolve().parents[2]
DESIGN = ROOT / "docs/design"
CATALOGUE = ROOT / "Sources/SwiftSync/SwiftSync.docc"
COLUMNS = 120
SKIPPED = {".git", "__pycache__"}
SOURCES = {".c", ".h", ".cpp", ".hpp", ".swift", ".py", ".pml", ".cmake", ".mutants"}

failures = 0


def fail(path, line, text):
    global failures
    failures += 1
    print(f"{path.relative_to(ROOT)}:{line}: error: {text}", flush=True)


@functools.lru_cache(maxsize=None)
def files():
    """Every file of the repository that no build has made."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not name.startswith(".build"))
        found += [Path(folder, name) for name in sorted(names)]
    return found


def lines_of(path):
    """(number, line, language of its block of code, or None) of a document, but for the fences of blocks."""
    language = None
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if match := re.match(r"^\s*```(\w*)", line):
            language = match[1] if language is None else None
        else:
            yield number, line, language


def prose(path):
    """(number, line) of a document without its blocks of code."""
    return ((number, line) for number, line, language in lines_of(path) if language is None)


# ---- Links --------------------------------------------------------------------------------------------------------

@functools.lru_cache(maxsize=None)
def anchors(path):
    """What can follow the # in a link to this document, as GitHub makes it of the headings."""
    found, seen = set(), {}
    for _, line in prose(path):
        if match := re.match(r"^#{1,6} +(.*?) *#*$", line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1]).lower()
            name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            count = seen[name] = seen.get(name, -1) + 1
            found.add(f"{name}-{count}" if count else name)
        found.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return found


def check_links(path):
    for number, line in enumerate(path.read_text().split("\n"), 1):
        for name in re.findall(r"<doc:([^>#]+)", line):
            if not (CATALOGUE / f"{name}.md").exists():
                fail(path, number, f"there is no article {name}")
        for target in re.findall(r"(?:\]\(|^\[[^\]^]+\]: *|src=\"|href=\")([^)\"\s]+)", line):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            other = (path.parent / name).resolve() if name else path
            if not other.exists():
                fail(path, number, f"the link leads nowhere: {target}")
            elif anchor and other.suffix == ".md" and anchor not in anchors(other):
                fail(path, number, f"{other.name} has no heading #{anchor}")


# ---- Names --------------------------------------------------------------------------------------------------------

@functools.lru_cache(maxsize=None)
def words():
    """Every identifier of the sources, the tests and the scripts."""
    found = set()
    for path in files():
        parts = path.relative_to(ROOT).parts
        if parts[0] in ("Sources", "Tests", "Benchmarks", "scripts") and path.parent.name != "Documentation":
            if path.suffix in SOURCES or parts[0] == "scripts":
                found.update(re.findall(r"\w+", path.read_text(errors="replace")))
    return found


@functools.lru_cache(maxsize=None)
def client_names():
    """The explorer's clients, as `scripts/explore --list` has them: those that the preprocessor makes of macros."""
    folders = [ROOT / "Tests/Explorer", *(ROOT / "Sources/CSyncKernel" / name for name in ("include", "src"))]
    command = ["cc", "-E", "-P", "-w", "-D_GNU_SOURCE", *(f"-I{folder}" for folder in folders)]
    text = subprocess.run([*command, *folders[0].glob("clients_*.c")], check=True, stdout=subprocess.PIPE, text=True)
    return set(re.findall(r"\bexplore_client_t client_(\w+) = ", text.stdout))


@functools.lru_cache(maxsize=None)
def clients():
    """The explorer's clients, and the names that several of them begin with, one for each policy."""
    return client_names() | {re.sub(r"_(fast|compact|strict|biased)$", "", name) for name in client_names()}


@functools.lru_cache(maxsize=None)
def mutants():
    return {name for path in (ROOT / "Tests/Explorer/mutants").glob("*.mutants")
            for name in re.findall(r"^= (.*)$", path.read_text(), re.M)}


@functools.lru_cache(maxsize=None)
def swift_mutants():
    return {line[2:].strip() for path in (ROOT / "Tests/SwiftMutants").glob("*.mutants")
            for line in path.read_text().split("\n") if re.match(r"^[=~] ", line)}


@functools.lru_cache(maxsize=None)
def models():
    return {path.name: path.read_text() for path in (ROOT / "Tests/Model").glob("*.pml")}


@functools.lru_cache(maxsize=None)
def variants():
    return set(re.findall(r"-D([A-Z]+)\b", (ROOT / "Tests/Model/check").read_text()))


@functools.lru_cache(maxsize=None)
def tests():
    """The functions that run as tests, of C and of Swift."""
    found = set()
    for path in (ROOT / "Tests").rglob("*"):
        if path.suffix in (".c", ".cpp"):
            found.update(re.findall(r"\b(?:RCU_)?TEST\((\w+)\)", path.read_text()))
        elif path.suffix == ".swift":
            found.update(re.findall(r"(?:@Test\b(?:.*\n){0,4}?.*?\bfunc |\bfunc (?=test))(\w+)", path.read_text()))
    return found


KINDS = {
    "client": clients,
    "mutant": mutants,
    "swift mutant": swift_mutants,
    "model": lambda: set(models()),
    "variant": variants,
    "test": tests,
}
# What documents name of the system, and no source does.
SYSTEM = {"_Fork", "malloc_consolidate"}
NAME = r"`[^`]+`"
LIST = re.compile(
    rf"\b(Swift mutant|client|mutant|model|variant|test)s? ({NAME}(?:(?:, | and |, and )(?={NAME}){NAME})*)")


@functools.lru_cache(maxsize=None)
def file_names():
    return {path.name for path in files()}


def exists(name):
    """Whether what stands in backquotes is there: a path, a file, or words of the sources."""
    name = name.rstrip("()")
    if name.startswith("/"):
        return True
    if name in SYSTEM or "<" in name:
        return True
    if "/" in name and re.fullmatch(r"[\w.\-/+]+", name):
        return (ROOT / name).exists() or any(path.as_posix().endswith("/" + name) for path in files())
    if re.fullmatch(r"[\w+\-]+\.(c|h|swift|pml|py|md|txt|cpp|cmake|svg|dot)", name):
        return name in file_names()
    if re.search(r"[^\w.:<>()& \-*,]", name) or " " in name:
        return words().issuperset(re.findall(r"\b(?:csk|CSK)_\w+", name))  # a piece of code or a command
    return all(word in words() or word.isdigit() for word in re.findall(r"\w+", name))


PLACE = re.compile(rf"`([\w+]+\.(?:[ch]|swift))`: ({NAME}(?:, {NAME})*)")
ORDERS = ROOT / "docs/who-goes-next.md"  # each row says where it is decided


def defines(name, function):
    """Whether one of the files of this name defines the function."""
    if name.endswith(".swift"):
        definition = re.compile(rf"\b(?:func|var) {function}\b")
    else:
        attribute = r"(?:\(\([^;{}()]*\)\)[^;{}()]*)?"
        definition = re.compile(rf"^\w[^;{{}}()]*{attribute}\b{function}\([^;{{}}]*\)\s*\{{", re.M)
    return any(definition.search(path.read_text()) for path in files() if path.name == name)


def check_places(path):
    for number, line in prose(path):
        if path == ORDERS and re.match(r"\| (?!object|type)[^-]", line) and not PLACE.search(line):
            fail(path, number, "the row names no function that decides")
        for name, listed in PLACE.findall(line):
            for function in re.findall(r"`([^`]+)`", listed):
                if not defines(name, function):
                    fail(path, number, f"{function} is not defined in {name}")


def check_names(path):
    """A list of names may go over several lines, but not over paragraphs."""
    for number, paragraph in paragraphs(path):
        text = re.sub(r"\s*\n\s*", " ", paragraph)
        claimed = set()
        for kind, listed in LIST.findall(text):
            known = KINDS[kind.lower()]()
            for name in re.findall(r"`([^`]+)`", listed):
                claimed.add(name)
                if name not in known:
                    fail(path, number, f"there is no {kind} {name!r}")
        for name in re.findall(r"`([^`]+)`", text):
            if name not in claimed and not exists(name):
                fail(path, number, f"{name!r} is not in the sources")


def paragraphs(path):
    begin, lines = 1, []
    for number, line in prose(path):
        if not line.strip() or re.match(r"^\s*([-*|#]|\d+\.) ?", line):
            if lines:
                yield begin, "\n".join(lines)
            lines = []
        if line.strip():
            if not lines:
                begin = number
            lines.append(line)
    if lines:
        yield begin, "\n".join(lines)


# ---- Numbers ------------------------------------------------------------------------------------------------------

def check_numbers():
    for name, line, text in numbers.faults(len(client_names())):
        fail(ROOT / name, line, text)


LAYERS = ROOT / "Sources/CSyncKernel/src"


def check_layers():
    """Each source of the kernel stands in the row of its layer in ARCHITECTURE.md."""
    path = ROOT / "ARCHITECTURE.md"
    rows = {match[1]: (number, match[2]) for number, line in prose(path)
            if (match := re.match(r"^\| (\w+) \| (.*) \|$", line))}
    for source in sorted(LAYERS.glob("*/*.[ch]")):
        number, row = rows.get(source.parent.name, (1, ""))
        named = {name.removesuffix(".h") for name in re.findall(r"`([\w.]+)`", row)}
        if source.stem not in named:
            fail(path, number, f"{source.name} of {source.parent.name} is not named")


# ---- Drawings and lines -------------------------------------------------------------------------------------------

def check_drawings():
    for text in sorted((ROOT / "docs").rglob("*.dot")):
        drawing = text.with_suffix(".svg")
        digest = hashlib.sha256(text.read_bytes()).hexdigest()
        if not drawing.exists() or f"<!-- of {text.name} {digest} -->" not in drawing.read_text():
            fail(text, 1, f"{drawing.name} was not made from it: run scripts/draw-docs")


# Texts whose lines a program writes, one for each record.
RECORDS = {ROOT / "Tests/SwiftMutants/caught.txt", ROOT / "Tests/Explorer/mutants_caught.txt"}
WRITTEN = {".md", ".py", ".sh", ".yml", ".toml", ".txt", ".cmake", ".in", ".pml", ".dot", ".mutants", ".7"}


def is_checked(path):
    """What somebody writes, and scripts by their first line. scripts/format has the sources in C and Swift."""
    if path.suffix in WRITTEN:
        return path not in RECORDS
    with path.open("rb") as file:
        return path.suffix == "" and file.read(2) == b"#!"


def is_exempt(path, line):
    """Whether the line can't be wrapped."""
    if re.search(r"https?://\S{60,}", line):
        return True
    if path.suffix == ".md":
        return line.lstrip().startswith(("|", "!["))
    # A line of the source that the mutant replaces or makes; its name, which is a key of caught.txt.
    return path.suffix == ".mutants" and line.startswith(("=", "-", "+"))


def check_lines(path):
    # Blocks in no language show what a program printed.
    lines = lines_of(path) if path.suffix == ".md" else ()
    shown = {number for number, _, language in lines if language in ("", "text")}
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if len(line) > COLUMNS and number not in shown and not is_exempt(path, line):
            fail(path, number, f"{len(line)} columns")


def main():
    if "--write" in sys.argv[1:]:
        source_tables.write()
        return 0
    documents = [path for path in files() if path.suffix == ".md"]
    for path in documents:
        check_links(path)
    designs = [path for path in documents if path.parent == DESIGN]
    if len(designs) < 7 or not clients() or not mutants() or not tests():
        fail(DESIGN, 1, "documents, clients, mutants or tests were not found at all")
    for path in documents:
        if path.is_relative_to(ROOT / "docs") or path == ROOT / "ARCHITECTURE.md":
            check_names(path)
            check_places(path)
    for path in filter(is_checked, files()):
        check_lines(path)
    check_numbers()
    check_layers()
    for path, line, text in source_tables.faults():
        fail(path, line, text)
    check_drawings()
    count = f"{len(documents)} documents"
    print(f"{count}, {failures} failures" if failures else f"{count} are in order")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
