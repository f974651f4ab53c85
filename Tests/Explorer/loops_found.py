"""Finds the loops of the kernel's sources that read what another thread may change.

A loop reads where its text does, or where its condition, or what decides in its body, is had from a function that
reads. What could go round in another way counts as a loop too, wherever it stands: a goto, a loop in a macro, and a
function that reads and calls itself.
"""
import functools, glob, os, re

from build import KERNEL

READS = re.compile(r"\b(?:csk_load|csk_cas|csk_exchange|csk_fetch_\w+|__atomic_\w+|csk_spin|csk_spin_lasts|csk_yield|"
                   r"csk_platform_await_step|csk_platform_park|csk_platform_yield|pthread_mutex_trylock)\s*\(|"
                   r"\(\s*(?:const\s+)?volatile\b")
CALL = re.compile(r"\b([a-z_]\w*)\s*\(")
FUNCTION = re.compile(r"^(?!typedef|struct|enum|union|extern|return|else)[A-Za-z_][\w \t*()]*?\b(\w+)\([^;{}]*\)\s*\{",
                      re.M)


def without_comments(text):
    """Of the same length, so that places stay. An attribute in front of a function counts as a word of its type."""
    blank = lambda match: re.sub(r"[^\n]", " ", match[0])
    text = re.sub(r"^__attribute__\(\((?:[^()]|\([^()]*\))*\)\)", lambda match: re.sub(r"[^\n]", "_", match[0]), text,
                  flags=re.M)
    text = re.sub(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)", blank, text)
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def closing(text, at):
    """The place behind the bracket that closes the one at `at`."""
    pairs, depth = {"(": ")", "{": "}"}, 0
    opens, closes = text[at], pairs[text[at]]
    for place in range(at, len(text)):
        depth += (text[place] == opens) - (text[place] == closes)
        if depth == 0:
            return place + 1
    raise ValueError("a bracket is not closed")


def statement_end(text, at):
    """The place behind the statement that begins at `at`."""
    while text[at].isspace():
        at += 1
    if text[at] == "{":
        return closing(text, at)
    match = re.compile(r"(?:if|for|while|switch)\s*\(|CSK_\w+IF\(|do\b|else\b").match(text, at)
    if match and match[0].endswith("("):
        end = statement_end(text, closing(text, match.end() - 1))
        other = re.compile(r"\s*else\b").match(text, end)
        return statement_end(text, other.end()) if match[0].startswith("if") and other else end
    if match and match[0] == "do":
        end = statement_end(text, match.end())
        return text.index(";", closing(text, text.index("(", end)))
    depth = 0
    for place in range(at, len(text)):
        depth += text[place] in "({"
        depth -= text[place] in ")}"
        if text[place] == ";" and depth == 0:
            return place + 1
    raise ValueError("a statement does not end")


def functions(text):
    """(name, begin, end of the body) of each function."""
    for match in FUNCTION.finditer(text):
        if match[1] not in ("if", "for", "while", "switch"):
            yield match[1], match.end() - 1, closing(text, match.end() - 1)


def loops(text, begin, end):
    """(place, condition, body) of each loop within a function."""
    done = set()
    for match in re.compile(r"\b(for|while|do)\b").finditer(text, begin, end):
        if match.start() in done:
            continue
        if match[1] == "do":
            body_end = statement_end(text, match.end())
            tail = re.compile(r"\s*while\s*").match(text, body_end)
            done.add(text.index("while", body_end))
            condition_end = closing(text, tail.end())
            yield match.start(), text[tail.end():condition_end], text[match.end():body_end]
            continue
        head = text.index("(", match.end())
        head_end = closing(text, head)
        yield match.start(), text[head:head_end], text[head_end:statement_end(text, head_end)]


@functools.lru_cache(maxsize=None)
def calls(body):
    return frozenset(CALL.findall(body))


def readers(bodies):
    """The names of functions that read, themselves or by others that they call."""
    found = {name for name, body in bodies.items() if READS.search(body)}
    while True:
        more = {name for name, body in bodies.items() if name not in found and found & calls(body)}
        if not more:
            return found
        found |= more


def condition(head):
    """"" where the loop has none, or one that is always true."""
    parts = head[1:-1].split(";")
    text = (parts[1] if len(parts) == 3 else head[1:-1]).strip()
    return "" if text in ("true", "1") else text


ASSIGNED = re.compile(r"\b(\w+)\s*[-+|&^]?=(?!=)([^;]*);")


def deciding(head, body):
    """The text whose calls decide whether the loop goes on: of a body behind a condition, what is assigned to a name in
    that."""
    if not condition(head):
        return head + body
    names = set(re.findall(r"\w+", condition(head)))
    return head + "".join(match[2] + ";" for match in ASSIGNED.finditer(body) if match[1] in names)


def other_ways(path, text, reading):
    """(file, function, place) of what goes round in another way than by a loop in a function."""
    spans = [(name, begin, end) for name, begin, end in functions(text)]
    for match in re.compile(r"\b(?:for|while|do|goto)\b").finditer(text):
        where = [name for name, begin, end in spans if begin <= match.start() < end]
        if match[0] == "goto" or not where:
            yield path, where[0] if where else "", match.start()
    for name, begin, end in spans:
        if name in reading and name in calls(text[begin:end]):
            yield path, name, begin


def find():
    """(file, function, the loop's first line without spaces at its ends, its line number) of each."""
    files = sorted(glob.glob(os.path.join(KERNEL, "src", "*", "*.[ch]")) +
                   glob.glob(os.path.join(KERNEL, "include", "csynckernel", "*.h")))
    sources = {os.path.relpath(path, KERNEL): open(path).read() for path in files}
    plain = {path: without_comments(text) for path, text in sources.items()}
    bodies, static = {}, {}
    for path, text in plain.items():
        for name, begin, end in functions(text):
            bodies.setdefault(name, "")
            bodies[name] += text[begin:end]
            static[path, name] = text[begin:end]
    for path, text in plain.items():
        own = dict(bodies)
        own.update({name: body for (where, name), body in static.items() if where == path})
        reading = readers(own)
        found = list(other_ways(path, text, reading))
        for name, begin, end in functions(text):
            for place, head, body in loops(text, begin, end):
                if READS.search(head + body) or set(CALL.findall(deciding(head, body))) & reading:
                    found.append((path, name, place))
        for _, name, place in found:
            line = text.count("\n", 0, place)
            yield path, name, sources[path].split("\n")[line].strip(), line + 1


if __name__ == "__main__":
    for path, name, line, number in find():
        print(f"{path}:{number} {name}: {line}")
