"""Looks which function the lines of proposed.txt mean, beside a module that has the standard library's to come."""
import os, subprocess

from compiler import HERE, lines_of

THEIRS = "it is the standard library's"
HEAD = "import Proposed\nstruct Refused: Error {}\n"


def check(compiler, functions, say):
    """Returns what is wrong. `say` is told how far it is."""
    made = subprocess.run(
        ["swiftc", "-emit-module", "-parse-as-library", "-module-name", "Proposed", "-swift-version", "6",
         os.path.join(HERE, "Proposed.swift"), "-emit-module-path", compiler.path("Proposed.swiftmodule")],
        capture_output=True, text=True)
    if made.returncode:
        raise SystemExit(made.stderr)
    lines, wrong = [(number, *line.split(": ", 1)) for number, line in lines_of("proposed.txt")
                    if not line.startswith("==")], []
    for mode in (5, 6):
        said = compiler.compile(mode, [code.replace("# ", str(number)) for number, _, code in lines], head=HEAD)
        for at, (number, kind, code) in enumerate(lines):
            messages = said.get(at, [])
            means_theirs = len(messages) == 1 and THEIRS in messages[0]
            if not (means_theirs if kind == "theirs" else not messages):
                wrong.append(f"proposed.txt:{number}: {code}\n        in language mode {mode} the compiler says "
                             f"{'; '.join(messages) or 'nothing'}")
    say(f"{len(lines)} calls beside the standard library's to come")
    return wrong
