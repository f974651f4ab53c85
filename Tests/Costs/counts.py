"""Reads what callgrind counted, part by part.

A program collects around a loop of TURNS turns, each of which calls one function, and has callgrind dump the part under
the operation's name. What counts is that function: from its first instruction to its return, with all that it calls.
"""
import re

TURNS = 1024
# What a turn of the loop may take by itself. Beyond that the function was inlined into the loop.
MOST_OF_LOOP = 12
TRIGGER = "desc: Trigger: Client Request: "


def parts(path):
    """(name of the operation, lines of its part, instructions of the part)."""
    name, lines = None, []
    with open(path) as file:
        for line in file:
            if line.startswith(TRIGGER):
                name, lines = line[len(TRIGGER):].strip(), []
            elif line.startswith("totals:"):
                if name:
                    yield name, lines, int(line.split()[1])
                name = None
            else:
                lines.append(line)


def called(lines):
    """(number of calls, instructions) of each pair of a caller and what it calls. Calls are counted from the program's
    beginning, instructions where they are collected."""
    edges, caller, callee, number = {}, None, None, None
    for line in lines:
        if match := re.match(r"(c?fn)=(\(\d+\))", line):
            caller, callee = (match[2], callee) if match[1] == "fn" else (caller, match[2])
        elif line.startswith("calls="):
            number = int(line[6:].split()[0])
        elif number is not None:
            calls, instructions = edges.get((caller, callee), (0, 0))
            edges[caller, callee] = calls + number, instructions + int(line.split()[1])
            number = None
    return edges.values()


def counted(path):
    """The instructions of each operation; None where no function was called in each turn."""
    found = {}
    for name, lines, total in parts(path):
        inside = max((instructions for calls, instructions in called(lines) if calls >= TURNS), default=0)
        found[name] = inside / TURNS if total - inside <= MOST_OF_LOOP * TURNS else None
    return found


def allocated(text):
    """The allocations of each operation, from what the program wrote."""
    rows = (line.split("\t") for line in text.splitlines())
    return {name: int(number) / TURNS for name, number in rows}
