"""Puts many mutants into one copy of the C sources, of which a number in the environment says which one is alive.

Each function in which mutants have text stands there once as it is and once for each of them, and a function of its
name calls the copy of the living one. So nothing has to be known about expressions or statements. What a mutant changes
outside of functions, or in one of a variable number of arguments, can not be had so: it needs a build of its own.

Functions are found by the layout that scripts/format gives them: one begins at the left margin, and ends at a brace
there, or in the line in which its body begins.
"""
import os, re

from lists import ROOT, put, read

VARIABLE = "LIVING_MUTANT"
LIVING = f"""\
#include <stdlib.h>

int csk_living_mutant;

/* Before all others, which may have mutants. */
__attribute__((constructor(100))) static void choose(void) {{
    const char *number = getenv("{VARIABLE}");
    if (number != NULL) csk_living_mutant = atoi(number);
}}
"""
HEAD = re.compile(r"^(?!typedef\b)[A-Za-z_][^;{}=#]*\)\s*(?=\{)", re.M)
ATTRIBUTE = re.compile(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)\s*")
NAME = re.compile(r"(\w+)\(")
PARAMETER = re.compile(r"\(\*\s*(\w+)\)\(|(\w+)(?:\[[^\]]*\])*$")


def environment(number):
    return {**os.environ, VARIABLE: str(number)}


def split(source):
    """What stands between functions, heads and bodies by turns: gap, head, body, gap, and so on."""
    parts, at = [], 0
    while match := HEAD.search(source, at):
        line_end = source.index("\n", match.end())
        end = line_end if source[line_end - 1] == "}" else source.index("\n}\n", match.end()) + 2
        parts += [source[at:match.start()], match[0], source[match.end():end]]
        at = end
    return [*parts, source[at:]]


def parameters(head):
    """The names of a function's parameters; None where their number varies."""
    plain = ATTRIBUTE.sub("", head).strip()
    pieces, depth = [""], 0
    for letter in plain[plain.index("(") + 1:-1]:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += letter
    if pieces[-1].strip() == "...":
        return None
    found = [PARAMETER.search(piece.strip()) for piece in pieces if piece.strip() not in ("", "void")]
    return [match[1] or match[2] for match in found]


def bodies(mutant, path, source, parts):
    """By the place in `parts` what the mutant makes of functions' bodies; None where it changes more than those."""
    changed = split(mutant.changed(path, source))
    differing = [place for place, (old, new) in enumerate(zip(parts, changed)) if old != new]
    if len(changed) != len(parts) or any(place % 3 != 2 or parameters(parts[place - 1]) is None
                                         for place in differing):
        return None
    return {place: changed[place] for place in differing}


def is_switchable(mutant, root=ROOT):
    for path in mutant.paths:
        source = read(os.path.join(root, path))
        if bodies(mutant, path, source, split(source)) is None:
            return False
    return not mutant.alone


def copies(path, line, head, body, variants):
    """The function and its copies. `variants` are mutants, with the bodies that they give it."""
    plain = re.sub(r"\bstatic\s+", "", ATTRIBUTE.sub("", head)).strip()
    name, begin = NAME.search(plain)[1], f'#line {line} "{path}"\n'
    arguments, cases = ", ".join(parameters(head)), ""
    text = f"{begin}{head.strip()};\n"
    for number, mutated in [(0, body), *((mutant.number, mutated) for mutant, mutated in variants)]:
        text += f"{begin}static {NAME.sub(f'{name}__m{number}(', plain, count=1)} {mutated}\n"
    for mutant, _ in variants:
        within = next(text.within for text in mutant.texts if text.path == path)
        case = f"case {mutant.number}: return {name}__m{mutant.number}({arguments});\n"
        seen = " || ".join(f"defined(SEEN_IN_{source})" for source in within)
        cases += f"#if {seen}\n{case}#endif\n" if seen else case
    end = line + (head + body).count("\n") + 1
    return (f"{text}{begin}{head.strip()} {{\nextern int csk_living_mutant;\nswitch (csk_living_mutant) {{\n{cases}"
            f'default: return {name}__m0({arguments});\n}}\n}}\n#line {end} "{path}"')


def switched(path, source, mutants):
    """The source with those mutants, each of which is_switchable."""
    parts = split(source)
    variants = [(mutant, bodies(mutant, path, source, parts)) for mutant in mutants]
    text, line = f'#line 1 "{path}"\n', 1
    for place, part in enumerate(parts):
        if place % 3 == 0:
            text += part
        if place % 3 == 2:
            mine = [(mutant, changed[place]) for mutant, changed in variants if place in changed]
            head = parts[place - 1]
            text += copies(path, line - head.count("\n"), head, part, mine) if mine else head + part
        line += part.count("\n")
    return text


def blamed(errors, mutants):
    """The mutants in whose copies the compiler stopped."""
    numbers = {int(number) for number in re.findall(r"__m(\d+)\b", errors)}
    return [mutant for mutant in mutants if mutant.number in numbers]


def write_tree(folder, sources, mutants, root=ROOT):
    """Writes the sources below the folder with the mutants in them, and living.c; only what is new."""
    by_path, wanted = {}, {"living.c": LIVING}
    for mutant in mutants:
        for path in mutant.paths:
            by_path.setdefault(path, []).append(mutant)
    for where, _, names in os.walk(os.path.join(root, sources)):
        for name in names:
            if name.endswith((".c", ".h")):
                path = os.path.relpath(os.path.join(where, name), root)
                source = read(os.path.join(root, path))
                wanted[os.path.relpath(path, sources)] = (
                    switched(path, source, by_path[path]) if path in by_path else source)
    for path, text in wanted.items():
        put(os.path.join(folder, path), text)
    for where, _, names in os.walk(folder):
        for path in (os.path.join(where, name) for name in names):
            if os.path.relpath(path, folder) not in wanted:
                os.remove(path)
