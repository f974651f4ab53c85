"""Puts many mutants into one copy of the Swift sources, of which a number in the environment says which one is alive.

Lines become `if swiftMutant(17) { new } else { old }`, an expression `(swiftMutant(17) ? new : old)`.
"""
import os

from lists import ROOT, put, read
from switched import VARIABLE

SOURCES = "Sources/SwiftSync"
SWITCH = f"""\
import Glibc

/// Which mutant is alive in this process; 0: none.
@usableFromInline let livingSwiftMutant: Int32 = getenv("{VARIABLE}").map {{ atoi($0) }} ?? 0

@usableFromInline func swiftMutant(_ number: Int32) -> Bool {{ livingSwiftMutant == number }}
"""


def nested(path, mutants):
    """What fits into one source: each text with those inside it, as pairs. Where two overlap otherwise the mutant of
    the later gets a build of its own."""
    roots, stack = [], []
    texts = [text for mutant in mutants if not mutant.alone for text in mutant.texts if text.path == path]
    for text in sorted(texts, key=lambda text: (text.begin, -text.end)):
        while stack and stack[-1][0].end <= text.begin:
            stack.pop()
        if stack and stack[-1][0].end < text.end:
            text.mutant.alone = True
            continue
        node = (text, [])
        (stack[-1][1] if stack else roots).append(node)
        stack.append(node)
    return roots


def replaced(text, old):
    """The text's new form and its old one, which may hold further mutants."""
    new, number = "\n".join(text.new), text.mutant.number
    if text.is_expression:
        return f"(swiftMutant({number}) ? ({new}) : ({old}))"
    if not new.strip():
        return f"if !swiftMutant({number}) {{\n{old}}}\n"
    return f"if swiftMutant({number}) {{\n{new}\n}} else {{\n{old}}}\n"


def generate(source, nodes, begin, end):
    parts, at = [], begin
    for text, inside in nodes:
        parts += [source[at:text.begin], replaced(text, generate(source, inside, text.begin, text.end))]
        at = text.end
    return "".join(parts) + source[at:end]


def by_path(mutants):
    found = {}
    for mutant in mutants:
        for path in mutant.paths:
            found.setdefault(path, []).append(mutant)
    return found


def switched(path, source, mutants):
    """A source with one mutant that has a build of its own, or with all that are switched."""
    alone = [mutant for mutant in mutants if mutant.alone]
    return alone[0].changed(path, source) if alone else generate(source, nested(path, mutants), 0, len(source))


def write_tree(folder, tops, mutants, more="", edited=lambda path, text: text):
    """Writes these parts of the repository below the folder, with the mutants in them; only what is new. `more` is what
    mutants may call."""
    wanted, mine = {f"{SOURCES}/SwiftMutant.swift": SWITCH + more}, by_path(mutants)
    for top in tops:
        here = os.path.join(ROOT, top)
        for where, _, names in [("", [], [here])] if os.path.isfile(here) else os.walk(here):
            for name in names:
                file = os.path.join(where, name)
                path = os.path.relpath(file, ROOT)
                if path in mine:
                    wanted[path] = switched(path, read(file), mine[path])
                elif not os.path.islink(file):
                    wanted[path] = edited(path, open(file, "rb").read())
    for path, text in wanted.items():
        put(os.path.join(folder, path), text)
    for top in {path.split("/")[0] for path in tops}:
        for where, _, names in os.walk(os.path.join(folder, top)):
            for file in (os.path.join(where, name) for name in names):
                if os.path.relpath(file, folder) not in wanted:
                    os.remove(file)
