"""Looks whether language mode 6 refuses each race of refused.txt, as it refuses those of the peers."""
import re

from compiler import UNUSED, is_refused, lines_of
from symbols import missing

# What stands for WORK: its name, what goes before the call, WORK, what goes after it, and what the compiler says.
RACES = [
    ("variable", "var n = 0; ", "n += 1", "; print(n)", r"captured var 'n'|'n' risks|sending value|passing closure"),
    ("object", "let box = Box(); ", "box.n += 1", "; print(box.n)", r"'box'|'Box'|sending value|passing closure"),
    ("main actor", "", "screen += 1", "", r"main actor-isolated var 'screen'"),
]
HARMLESS = ("harmless", "let note = h.note; ", "note.take()", "", "")
OTHER = r"risks causing data races|'?inout sending'?|non-Sendable|conform|conformance|isolated"


class Snippet:
    def __init__(self, section, line, words, call, race):
        self.section, self.line, self.words, self.call, self.race = section, line, words, call, race

    def function(self, number):
        """The function, or that with what is harmless, which has no race."""
        name, before, work, after, _ = self.race
        call, _, rest = self.call.partition(";;")
        if name == "no race":
            rest = ""
        if "WORK" in call:
            body = before + call.replace("WORK", work) + after
        else:
            body = "; ".join(part for part in (call.strip(), rest.strip()) if part)
        effects = "async throws" if "async" in self.words else "throws"
        return f"func snippet{number}(_ h: Things, _ theirs: Box, _ theirJob: Job) {effects} {{ {body} }}"

    @property
    def pattern(self):
        return self.race[4] or OTHER

    def __str__(self):
        race = f"  [{self.race[0]}]" if "WORK" in self.call else ""
        return f"refused.txt:{self.line}: {self.call}{race}"


def read():
    """The snippets that have a race, and the same without."""
    racing, harmless, section, names = [], [], None, None
    for number, line in lines_of("refused.txt"):
        if line.startswith("=="):
            section, _, some = line[2:].strip().partition(" [")
            names = some.rstrip("]").split() or [race[0] for race in RACES]
            continue
        words, call = line.split(":", 1)
        words, call = words.split(), call.strip()
        if "WORK" in call:
            racing += [Snippet(section, number, words, call, race) for race in RACES if race[0] in names]
            harmless.append(Snippet(section, number, words, call, HARMLESS))
        else:
            racing.append(Snippet(section, number, words, call, ("race", "", "", "", "")))
            harmless.append(Snippet(section, number, words, call, ("no race", "", "", "", "")))
    return racing, harmless


def check(compiler, functions, say):
    """Returns what is wrong. `say` is told how far it is."""
    racing, harmless = read()
    wrong = []
    said = {mode: compiler.compile(mode, [one.function(at) for at, one in enumerate(racing)]) for mode in (5, 6)}
    # Whether a peer is refused, by section and race.
    peers = {mode: {} for mode in (5, 6)}
    for at, one in enumerate(racing):
        if "peer" in one.words:
            for mode in (5, 6):
                key = (one.section, one.race[0])
                peers[mode][key] = peers[mode].get(key, False) or is_refused(said[mode].get(at, []))
    late = 0
    for at, one in enumerate(racing):
        messages = [text for text in said[6].get(at, []) if text.startswith("error")]
        if not messages:
            wrong.append(f"{one}\n        is not refused in language mode 6: {'; '.join(said[6].get(at, ['nothing']))}")
        elif not any(re.search(one.pattern, text) for text in messages):
            wrong.append(f"{one}\n        is refused for another reason: {messages[0]}")
        if "peer" not in one.words and is_refused(said[5].get(at, [])):
            late += 1
            if not peers[5].get((one.section, one.race[0])):
                wrong.append(f"{one}\n        is refused in language mode 5 too: {said[5][at][0]}")
    calls = [one for one in racing if "peer" not in one.words]
    say(f"{len(calls)} races at {len({one.line for one in calls})} calls, beside {len(racing) - len(calls)} at peers; "
        f"mode 5 refuses {late} of them, and those of their peers")
    for mode in (5, 6):
        found = compiler.compile(mode, [one.function(at) for at, one in enumerate(harmless)], sil="races.sil")
        for at, messages in sorted(found.items()):
            if messages := [text for text in messages if not re.search(UNUSED, text)]:
                wrong.append(f"{harmless[at]}\n        without a race, in language mode {mode}: {messages[0]}")
    say(f"{len(harmless)} lines without a race")
    letting_out = [one for one in functions if one.lets_a_closure_out]
    wrong += missing(letting_out, [compiler.path("races.sil")], "within-the-call.txt")
    say(f"{len(letting_out)} public functions whose closures may run elsewhere")
    return wrong
