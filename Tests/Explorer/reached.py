#!/usr/bin/env python3
"""Which clients of the explorer enter which function of the kernel.

    reached.py FOLDER FILE [FUNCTION ...]    the clients that enter one of the functions of the kernel's file, or any of
                                             them where none is named

A client is run by some random schedules in an unoptimized build whose functions tell that they are entered, inline ones
too. So a client that enters a function in a rare schedule alone is missing.
"""
import collections, os, re, subprocess, sys

from build import HERE, KERNEL, ROOT, build

sys.path.append(os.path.join(os.path.dirname(HERE), "Mutants"))
from switched import ATTRIBUTE, NAME, split

SCHEDULES = "200"
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
    program = build(KERNEL, folder, jobs=os.cpu_count(), functions=True)
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
    parts = split("".join(line + "\n" for line in map(str.rstrip, text.split("\n")) if line))
    functions, rest = {}, parts[0]
    for head, body, gap in zip(parts[1::3], parts[2::3], parts[3::3]):
        name = NAME.search(ATTRIBUTE.sub("", head))[1]
        functions[name] = functions.get(name, "") + "\n".join(map(str.strip, (head + body).split("\n")))
        rest += f"<{name}>{gap}"
    return functions, rest


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
