"""Looks what the compiler says of the lines of written.txt."""
import re

from compiler import lines_of


def check(compiler, functions, say):
    """Returns what is wrong. `say` is told how far it is."""
    lines, wrong = [], []
    for number, line in lines_of("written.txt"):
        if not line.startswith("=="):
            kind, text = line.split(": ", 1)
            code, _, pattern = text.partition(" ;; ")
            lines.append((number, kind, code.replace("# ", str(number)), pattern))
    for mode in (5, 6):
        said = compiler.compile(mode, [code for _, _, code, _ in lines])
        for at, (number, kind, code, pattern) in enumerate(lines):
            messages = said.get(at, [])
            wanted = any(re.search(pattern, text) for text in messages) if kind == "says" else not messages
            if not wanted:
                wrong.append(f"written.txt:{number}: {code}\n        in language mode {mode} the compiler says "
                             f"{'; '.join(messages) or 'nothing'}")
    say(f"{len(lines)} lines as users write them")
    return wrong
