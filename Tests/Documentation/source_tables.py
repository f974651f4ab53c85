"""Tables of state words in documents, taken from the comments of the sources that they describe.

    python3 Tests/Documentation/documents.py --write    writes them into the documents
    python3 Tests/Documentation/documents.py            fails where one differs from its source

A table stands between `<!-- table of FILE: WORDS -->` and `<!-- end of table -->`. FILE is a source by the end of its
path, WORDS are how the table's first line in that file's comment begins. It goes on to the first line that is empty,
or that is indented less. (Where the first line is not indented, the others are.)
"""

import functools
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "Tests"))
from marks import filled  # noqa: E402



def documents():
    return sorted((ROOT / "docs").rglob("*.md"))


@functools.lru_cache(maxsize=None)
def sources(name):
    return [path for path in sorted((ROOT / "Sources").rglob(f"*{Path(name).suffix}"))
            if path.as_posix().endswith(f"/{name}")]


def comment_lines(path):
    """Lines without the signs of a comment; code counts as empty."""
    for line in path.read_text().split("\n"):
        match = re.match(r"^(?:/\*|\s*(?:///|\*(?!/))) ?(.*?)(?: ?\*/)?$", line)
        yield match[1] if match else ""


def indent_of(line):
    return len(line) - len(line.lstrip())


def table(name, words):
    """The lines, or why there are none."""
    if len(sources(name)) != 1:
        return None, f"{len(sources(name))} sources are called {name}"
    lines = list(comment_lines(sources(name)[0]))
    begins = [number for number, line in enumerate(lines) if line.lstrip().startswith(words)]
    if len(begins) != 1:
        return None, f"{len(begins)} lines of {name} begin with {words!r}"
    least = indent_of(lines[begins[0]]) or (0 if words.startswith("|") else 1)
    found = [lines[begins[0]]]
    for line in lines[begins[0] + 1:]:
        if not line.strip() or indent_of(line) < least:
            break
        found.append(line)
    if words.startswith("|"):
        return "\n".join(found), None
    cut = min(map(indent_of, found))
    return "\n".join(["```text", *(line[cut:].rstrip() for line in found), "```"]), None


def written(path):
    """The document, as it should be, and [(line, what is wrong with a mark)]."""
    text, faults = path.read_text(), []

    def content(match):
        found, fault = table(match["file"], match["words"])
        if fault:
            faults.append((text[:match.start()].count("\n") + 1, fault))
        return found

    right, _ = filled(text, r"table of (?P<file>\S+): (?P<words>.+?)", "table", content)
    return text, right, faults


def faults():
    """(document, line, what is wrong)."""
    for path in documents():
        text, right, wrong = written(path)
        yield from ((path, line, fault) for line, fault in wrong)
        if right != text:
            pairs = zip(text.split("\n"), right.split("\n"))
            line = next((number for number, (one, other) in enumerate(pairs, 1) if one != other), 1)
            yield path, line, "the table is not its source's: run python3 Tests/Documentation/documents.py --write"


def write():
    for path in documents():
        text, right, _ = written(path)
        if right != text:
            path.write_text(right)
            print(path.relative_to(ROOT))
