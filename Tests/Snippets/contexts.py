"""Looks whether each call of calls.txt compiles wherever users write it."""
import re

from compiler import UNUSED, is_refused, lines_of
from symbols import missing

# Where a call stands, for calls that block and for those that suspend: a function of one line, or a line of main.swift.
# TRY and AWAIT stand for what the closure around the call needs, as the call itself has it.
BLOCKING = {
    "a function": "func f#(_ h: Things) throws { CALL }",
    "a closure of one expression": "func f#(_ h: Things) throws { let closure = { CALL }; _ = closure }",
    "a closure that returns nothing": "func f#(_ h: Things) throws { TRY dropping { CALL } }",
    "a generic closure that rethrows": "func f#(_ h: Things) throws { let given = TRY giving { CALL }; _ = given }",
    "a method of an actor": "actor A# { let h = Things(); func f() throws { CALL } }",
    "an initializer": "final class C# { init(_ h: Things) throws { CALL } }",
    "the main actor": "@MainActor func f#(_ h: Things) throws { CALL }",
}
SUSPENDING = {
    "an async function": "func f#(_ h: Things) async throws { CALL }",
    "an async closure of one expression":
        "func f#(_ h: Things) throws { let closure = { () async throws in CALL }; _ = closure }",
    "an async closure that returns nothing": "func f#(_ h: Things) async throws { TRY await droppingLater { CALL } }",
    "an async generic closure that rethrows":
        "func f#(_ h: Things) async throws { let given = TRY await givingLater { CALL }; _ = given }",
    "an async method of an actor": "actor A# { let h = Things(); func f() async throws { CALL } }",
    "an async initializer": "final class C# { init(_ h: Things) async throws { CALL } }",
    "the main actor, async": "@MainActor func f#(_ h: Things) async throws { CALL }",
    "a task": "func f#(_ h: Things) { Task { CALL } }",
    "a task of the main actor": "func f#(_ h: Things) { Task { @MainActor in CALL } }",
}
# What is compiled as main.swift, whose code is isolated to the main actor.
TOP_LEVEL, TOP_LEVEL_ASYNC = "code at the top level", "code at the top level that awaits"


class Placed:
    """A call in a context."""

    def __init__(self, line, words, call, context, form):
        self.line, self.call, self.context = line, call, context
        self.is_refused = words[0] == "waits" and (context in SUSPENDING or context == TOP_LEVEL_ASYNC)
        self.form = form.replace("CALL", "_ = CALL") if "gives" in words and "returns nothing" in context else form

    def text(self, number):
        text = self.form.replace("#", str(number)).replace("TRY ", "try " if self.call.startswith("try") else "")
        return text.replace("CALL", self.call)

    def __str__(self):
        return f"calls.txt:{self.line}: {self.context}: {self.call}"


def read():
    placed = []
    for number, line in lines_of("calls.txt"):
        if line.startswith("=="):
            continue
        words, call = line.split(":", 1)
        words, call = words.split(), call.strip()
        for contexts, kinds in (({**BLOCKING, TOP_LEVEL: "CALL"}, ("blocks", "waits")),
                                ({**SUSPENDING, TOP_LEVEL_ASYNC: "CALL"}, ("blocks", "waits", "suspends"))):
            if words[0] in kinds:
                placed += [Placed(number, words, call, *one) for one in contexts.items()]
    return placed


def groups_of(placed):
    """What is compiled together, with the name of the file and its head."""
    here = "let h = Things()\n"
    for is_refused in (False, True):
        some = [one for one in placed if one.is_refused == is_refused]
        yield [one for one in some if one.context not in (TOP_LEVEL, TOP_LEVEL_ASYNC)], "Functions.swift", ""
        yield [one for one in some if one.context == TOP_LEVEL], "main.swift", here
        yield [one for one in some if one.context == TOP_LEVEL_ASYNC], "main.swift", here + "await Task.yield()\n"


def says(messages):
    """What the compiler has against a call. That its result is not used is no fault of the call."""
    return [text for text in messages if not re.search(UNUSED, text)]


def check(compiler, functions, say):
    """Returns what is wrong. `say` is told how far it is."""
    placed, wrong, seen, files = read(), [], set(), []
    exceptions = {tuple(line.split(" ~ ")[0].split(": ", 1)) for _, line in lines_of("does-not-compile.txt")}
    for one in placed:
        if (one.context, one.call) in exceptions:
            seen.add((one.context, one.call))
            one.is_refused = True
    for mode in (5, 6):
        for number, (some, file, head) in enumerate(groups_of(placed)):
            files.append(f"calls-{mode}-{number}.sil")
            said = compiler.compile(mode, [one.text(at) for at, one in enumerate(some)], file, files[-1], head)
            for at, one in enumerate(some):
                messages = says(said.get(at, []))
                if messages and not one.is_refused:
                    wrong.append(f"{one}\n        in language mode {mode}: {'; '.join(messages)}")
                elif one.is_refused and (one.context, one.call) in seen:
                    if not messages:
                        wrong.append(f"{one}\n        compiles in language mode {mode}: take it out of "
                                     "does-not-compile.txt")
                elif one.is_refused and not any(re.search(r"await|async", text) for text in messages):
                    wrong.append(f"{one}\n        blocks in async code, and in language mode {mode} the compiler says "
                                 f"{'; '.join(messages) or 'nothing'}")
        refused = sum(one.is_refused for one in placed)
        say(f"language mode {mode}: {len({one.line for one in placed})} calls at {len(placed) - refused} places; "
            f"{refused - len(seen)} where a call that blocks is refused in async code; {len(seen)} that don't compile")
    wrong += [f"does-not-compile.txt: {': '.join(one)}: there is no such call in this context"
              for one in sorted(exceptions - seen)]
    return wrong + missing(functions, [compiler.path(file) for file in files], "not-called.txt")
