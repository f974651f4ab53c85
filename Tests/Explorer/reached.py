#!/usr/bin/env python3
"""Which clients of the explorer enter which function of the kernel.

    reached.py FOLDER FILE [FUNCTION ...]    the clients that enter one of the functions of the kernel's file, or any of
                                             them where none is named

A client is run by some random schedules in an unoptimized build whose functions tell that they are entered, inline ones
too. So a client that enters a function in a rare schedule alone is missing.
"""
import collections, os, re, subprocess, sys

from build import HERE, KERNEL, ROOT, build

SCHEDULES = "60"
# All of the kernel's code begins functions at the left margin, and ends them with a brace there.
BEGIN = re.compile(r"^(?!struct|enum|union|typedef|extern|#)[A-Za-z_]")
FUNCTION = re.compile(r"\b([a-z_]\w*)\s*\(")
COMMENT = re.compile(r"""/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""", re.S)


def places(program, addresses):
    """By address: the file and the name of the function."""
    done = subprocess.run(["addr2line", "-f", "-e", program], input="\n".join(addresses), capture_output=True,
                          text=True, check=True)
    lines = done.stdout.split("\n")
    return {address: (os.path.relpath(os.path.realpath(os.path.join(ROOT, place.rsplit(":", 1)[0])), ROOT), function)
            for address, function, place in zip(addresses, lines[::2], lines[1::2])}


def reached(folder):
    """By (file, function), paths from the root: the names of the clients that enter it."""
    program = build(KERNEL, folder, jobs=os.cpu_count(), functions=True, optimize="-O0")
    command = [program, "--functions", "--quiet", "--no-exhaustive", "--random", SCHEDULES]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    entries = re.findall(r"^(\w+) (0x[0-9a-f]+)$", printed, re.M)
    if not entries:
        sys.exit("reached.py: no client has entered anything")
    at = places(program, sorted({address for _, address in entries}))
    found = collections.defaultdict(set)
    for client, address in entries:
        found[at[address]].add(client)
    return found


def functions_of(text):
    """By name the text of each function, of all where several have it, and the rest of the file with a mark where each
    function stood; both without comments and without the layout at the ends of lines."""
    text = COMMENT.sub(lambda match: match[1] or " ", text)
    functions, rest, head = {}, [], []
    for line in filter(None, map(str.rstrip, text.split("\n"))):
        if not head and not (BEGIN.match(line) and "(" in line):
            rest.append(line)
            continue
        head.append(line)
        begun = any("{" in one for one in head)
        if begun and line.endswith("}") and (line.startswith("}") or len(head) == 1):
            name = name_of(" ".join(head).split("{")[0])
            functions[name] = functions.get(name, "") + "\n".join(map(str.strip, head))
            rest.append(f"<{name}>")
            head = []
        elif not begun and line.endswith(";"):
            rest += head
            head = []
    return functions, "\n".join(rest + head)


def name_of(head):
    return next((name for name in FUNCTION.findall(head) if name != "__attribute__"), head)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, file, *names = sys.argv[1:]
    clients = {client for (path, function), entered in reached(folder).items() if path == file
               and (not names or function in names) for client in entered}
    print("\n".join(sorted(clients)))
    return not clients


if __name__ == "__main__":
    sys.exit(main())
