"""Draws docs/measured.svg from the README's tables of ratios, so that the plot shows nothing that no row says.

    python3 Tests/Documentation/plot.py            writes the tables of measurements (figures.py), then the plot
    python3 Tests/Documentation/plot.py --check    fails if the tables are not what the recorded runs give, or the plot
                                                   is not what the README's tables give; scripts/test runs this
"""

import math
import re
import sys
from html import escape
from pathlib import Path

import figures

README, PLOT = Path("README.md"), Path("docs/measured.svg")
WIDTH, LEFT, RIGHT, ROW, TOP = 860, 470, 820, 22, 64
LEAST, MOST = 0.002, 4.0

STYLE = """
    .panel { fill: #ffffff; stroke: #d0d7de; }
    .text { fill: #1f2328; font-size: 12.5px; }
    .bold { font-weight: 600; font-size: 15px; }
    .small { fill: #59636e; font-size: 12px; }
    .grid { stroke: #d0d7de; stroke-width: 1; }
    .even { stroke: #1f2328; stroke-width: 1.6; }
    .better { fill: #1a7f37; stroke: #1a7f37; }
    .worse { fill: #bc4c00; stroke: #bc4c00; }
    .bar { stroke-width: 3; opacity: 0.45; }
    @media (prefers-color-scheme: dark) {
      .panel { fill: #0d1117; stroke: #3d444d; }
      .text { fill: #f0f6fc; }
      .small { fill: #9198a1; }
      .grid { stroke: #3d444d; }
      .even { stroke: #f0f6fc; }
      .better { fill: #3fb950; stroke: #3fb950; }
      .worse { fill: #db6d28; stroke: #db6d28; }
    }"""


def plain(cell):
    return re.sub(r"[`*]", "", cell).strip()


def split(cell, count):
    """The parts of a cell, as many as there are values: `a, read; b, read` beside `0.07; 0.74`."""
    parts = [part.strip() for part in plain(cell).split(";")]
    return parts if len(parts) == count else [plain(cell)] * count


def rows():
    """(what, here, beside, least, most) for each value of a table of ratios; less than 1: this library wins."""
    inside = False
    for line in README.read_text().split("\n"):
        if re.match(r"\| what \|.*\| ratio \|$", line):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|---"):
            what, here, beside, ratio = line.strip("|").split("|")
            values = [value.strip() for value in plain(ratio).split(";")]
            for part, peer, value in zip(split(what, len(values)), split(beside, len(values)), values):
                numbers = [float(number) for number in value.split(" to ")]
                if plain(what).startswith(("operations a second", "lookups a second")):
                    numbers = [1 / number for number in numbers]
                yield part, plain(here), peer, min(numbers), max(numbers)


def place(ratio):
    ratio = min(max(ratio, LEAST), MOST)
    return LEFT + (RIGHT - LEFT) * math.log(ratio / LEAST) / math.log(MOST / LEAST)


def label(part, here, beside):
    text = f"{here.split('.')[0].split(',')[0]}: {part}"
    return text if len(text) <= 74 else text[:73].rstrip() + "…"


def drawn():
    found = sorted(rows(), key=lambda row: math.sqrt(row[3] * row[4]))
    if not found:
        sys.exit(f"{README}: error: no table of ratios was found")
    bottom = TOP + ROW * len(found)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 46}" role="img"'
        ' aria-labelledby="title description"'
        " font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\">",
        '  <title id="title">Time taken, beside what else there is</title>',
        f'  <desc id="description">The {len(found)} ratios of the README\'s tables, the smallest first.</desc>',
        f"  <style>{STYLE}\n  </style>",
        f'  <rect class="panel" x="0.5" y="0.5" width="{WIDTH - 1}" height="{bottom + 45}" rx="8"/>',
        '  <text class="text bold" x="18" y="28">Time taken, as a share of what the other takes</text>',
        '  <text class="small" x="18" y="46">'
        'logarithmic; left of 1 this library is faster, right of it the other</text>',
    ]
    for tick in (0.003, 0.01, 0.03, 0.1, 0.3, 1, 3):
        x, kind = place(tick), "even" if tick == 1 else "grid"
        out.append(f'  <line class="{kind}" x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{bottom}"/>')
        out.append(f'  <text class="small" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>')
    for index, (part, here, beside, least, most) in enumerate(found):
        y, kind = TOP + ROW * index + 8, "better" if math.sqrt(least * most) < 1 else "worse"
        edge, name = least if kind == "better" else most, escape(short(beside))
        out.append(f'  <text class="text" x="18" y="{y + 4}">{escape(label(part, here, beside))}</text>')
        out.append(f'  <line class="{kind} bar" x1="{place(1):.1f}" y1="{y}" x2="{place(edge):.1f}" y2="{y}"/>')
        for value in sorted({least, most}):
            out.append(f'  <circle class="{kind}" cx="{place(value):.1f}" cy="{y}" r="4"/>')
        if kind == "better":
            out.append(f'  <text class="small" x="{place(1) + 8:.1f}" y="{y + 4}">{name}</text>')
        else:
            edge = min(place(1), place(least) - 4) - 4
            out.append(f'  <text class="small" x="{edge:.1f}" y="{y + 4}" text-anchor="end">{name}</text>')
    note = "Ratios within one run on two processors; of operations a second the inverse."
    out.append(f'  <text class="small" x="18" y="{bottom + 34}">{note}</text>')
    return "\n".join(out) + "\n</svg>\n"


def short(peer):
    """A peer's name as far as it fits."""
    for long_form, name in (("Dictionary in Synchronization.Mutex", "Mutex"), ("Synchronization.Mutex", "Mutex"),
                            ("AsyncStream with one consumer", "AsyncStream"), ("DispatchQueue.async", "Dispatch"),
                            ("ThreadSpecificVariable (NIO)", "NIO"), ("NIOLockedValueBox", "NIO"),
                            ("NSRecursiveLock", "NSRecursive…"), ("OperationQueue", "Operation…"),
                            ("the best lock in C", "best in C"), ("the best other lock in C", "best in C")):
        if peer == long_form:
            return name
    return peer


def main():
    checking = "--check" in sys.argv[1:]
    faults = figures.check() if checking else figures.write()
    text = drawn()
    if not checking:
        PLOT.write_text(text)
    elif not PLOT.exists() or PLOT.read_text() != text:
        faults.append(f"{PLOT}: error: it does not show the README's tables; run python3 Tests/Documentation/plot.py")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
