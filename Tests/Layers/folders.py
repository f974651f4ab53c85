#!/usr/bin/env python3
"""Looks whether a folder of Sources/SwiftSync uses only what it and the folders below it declare.

    folders.py                fails at a name of a type, function or variable that is declared at the top level of a
                              file of a higher folder, and at a folder that folders.txt does not list
    folders.py --self-test    the same, and then with such faults in what was read: each must be found

Members are not looked at: an extension in a higher folder may give a type of a lower one more of them, and a use of
these in a lower folder is not found.
"""
import os, re, sys

HERE = os.path.dirname(os.path.abspath(__file__))
SWIFT = os.path.join(HERE, "..", "..", "Sources", "SwiftSync")

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\[^(\n])*"', re.S)
# What begins a line declares for all files, unless it is private.
DECLARED = re.compile(r"^(?:(?!private|fileprivate)[@\w][\w()]* )*"
                      r"(?:struct|class|enum|actor|protocol|typealias|func|var|let) (\w+)", re.M)
USED = re.compile(r"(?<![.\w`])[A-Za-z_]\w+")


def read_list():
    lines = (line.split("#")[0].split() for line in open(os.path.join(HERE, "folders.txt")))
    return [words[0] for words in lines if words]


def read_sources():
    return {os.path.relpath(os.path.join(where, name), SWIFT): open(os.path.join(where, name)).read()
            for where, _, names in os.walk(SWIFT) for name in names if name.endswith(".swift")}


def faults(folders, sources):
    # Without comments and texts; no line moves.
    sources = {file: COMMENT_OR_TEXT.sub(lambda cut: "\n" * cut[0].count("\n"), text)
               for file, text in sources.items()}
    found, lowest = [], {}  # name: the lowest folder that declares it
    for file, text in sources.items():
        if os.path.dirname(file) not in folders:
            found.append(f"Sources/SwiftSync/{file}: stands in no folder of Tests/Layers/folders.txt")
            continue
        level = folders.index(os.path.dirname(file))
        # `async` is also a word of the language.
        for name in set(DECLARED.findall(text)) - {"async"}:
            lowest[name] = min(level, lowest.get(name, level))
    for file, text in sources.items():
        for use in USED.finditer(text):
            level = lowest.get(use[0])
            if level is not None and os.path.dirname(file) in folders[:level]:
                found.append(f"Sources/SwiftSync/{file}:{text.count(chr(10), 0, use.start()) + 1}: uses {use[0]} of "
                             f"{folders[level]}, which is above (Tests/Layers/folders.txt)")
    return found + [f"folders.txt: {folder} has no file" for folder in folders
                    if not any(os.path.dirname(file) == folder for file in sources)]


PLANTED = [
    ("Core/Deadline.swift", "let planted = WorkQueue.self\n", "uses WorkQueue of WorkQueues"),
    ("Gates/GateBox.swift", "func planted(_: PriorityMutex<Int>) {}\n", "uses PriorityMutex of Locks"),
    ("Waiting/DeadlineScope.swift", 'let planted = "\\(SyncDiagnostics.self)"\n', "uses SyncDiagnostics of"),
    ("Locks/CriticalSection.swift", "func planted() { mainThread {} }\n", "uses mainThread of WorkQueues"),
    ("Planted/Planted.swift", "enum Planted {}\n", "Planted.swift: stands in no folder"),
]


def main():
    folders, sources = read_list(), read_sources()
    found = faults(folders, sources)
    print(*found, f"{len(folders)} folders, {len(sources)} files; {len(found)} faults", sep="\n")
    if found or "--self-test" not in sys.argv:
        return bool(found)
    told = faults(folders, sources | {file: sources.get(file, "") + text for file, text, _ in PLANTED})
    missed = [words for *_, words in PLANTED if not any(words in fault for fault in told)]
    print(f"{len(PLANTED)} faults planted, {len(missed)} not found", *missed, sep="\n")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
