"""What all drawings share: colours, axes, marks. A drawing stands in a page, or alone as a file with its own colours.

Blue and its neighbours are this library, warm colours and grey its peers; marks and dashes tell them apart where
colours don't. Red and green are not used against each other. Each element states its colours for a light ground as
attributes; a style sheet has those for a dark one, and nothing else.
"""

import math
from html import escape

OURS, PEERS = 4, 7
LIGHT = {
    "page": "#ffffff", "panel": "#f6f8fa", "text": "#1f2328", "small": "#59636e", "grid": "#d8dee4",
    "ours-1": "#0550c8", "ours-2": "#0a7f93", "ours-3": "#6639ba", "ours-4": "#3c5a94",
    "peer-1": "#b35900", "peer-2": "#7d6608", "peer-3": "#a8326f", "peer-4": "#b5302a", "peer-5": "#5f6b76",
    "peer-6": "#7a4f2c", "peer-7": "#8a5a83",
    "faster": "#0550c8", "slower": "#b35900", "even": "#59636e",
}
DARK = {
    "page": "#0d1117", "panel": "#161b22", "text": "#f0f6fc", "small": "#9da7b3", "grid": "#343b44",
    "ours-1": "#6cb6ff", "ours-2": "#4fd1d9", "ours-3": "#b9a3ff", "ours-4": "#9fc0f5",
    "peer-1": "#f0a35e", "peer-2": "#d9c25a", "peer-3": "#f08bbd", "peer-4": "#ff9385", "peer-5": "#a8b3bf",
    "peer-6": "#cfa982", "peer-7": "#d3a6cc",
    "faster": "#6cb6ff", "slower": "#f0a35e", "even": "#9da7b3",
}
DASHES = {"ours-1": "", "ours-2": "", "ours-3": "7 3", "ours-4": "2 3", "peer-1": "6 3", "peer-2": "2 3",
          "peer-3": "9 3 2 3", "peer-4": "", "peer-5": "4 4", "peer-6": "1 3", "peer-7": "12 4"}
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"


# How wide letters are, as a share of the font's size, in DejaVu Sans, which is wider than the fonts asked for.
NARROW, LETTER, WIDE, BOLD = 0.35, 0.62, 0.9, 1.12
VERDICTS = ("faster", "slower", "even")
SERIES = (*DASHES, *VERDICTS)
# What a class says besides the colour, as attributes: viewers that know no style sheet, or no variables, draw the same.
ATTRIBUTES = {
    "grid": {"stroke-width": "1"}, "one": {"stroke-width": "1.4"}, "spread": {"stroke-width": "1.2", "opacity": ".55"},
    "stem": {"stroke-width": "5", "opacity": ".4"}, "whisker": {"stroke-width": "2"},
    "leader": {"stroke-width": ".8", "opacity": ".6"},
    "line": {"fill": "none", "stroke-width": "1.6", "stroke-linejoin": "round"}, "ours": {"stroke-width": "3.2"},
    "small": {"font-size": "11"}, "tight": {"font-size": "11.5"}, "head": {"font-weight": "600"},
    "end": {"text-anchor": "end"}, "middle": {"text-anchor": "middle"},
}
# The colour of each class that names no series; a text without a class is of the colour "text".
COLOURS = {"small": "small", "grid": "grid", "one": "text", "panel": "page"}
FILLED, DRAWN = ("text", "circle", "polygon", "rect"), ("line", "path")


def variables(colours):
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


def colour_of(kind):
    names = kind.split()
    return next((name for name in names if name in SERIES),
                next((COLOURS[name] for name in names if name in COLOURS), "text"))


def attributes(tag, kind, **others):
    """The class, and all that it means on a light ground."""
    found = {"font-size": "12"} if tag == "text" else {}
    for name in kind.split():
        found.update(ATTRIBUTES.get(name, {}))
        if tag == "path" and DASHES.get(name):
            found["stroke-dasharray"] = DASHES[name]
    found.update(others)
    found["fill" if tag in FILLED else "stroke"] = LIGHT[colour_of(kind)]
    return f'class="{kind}" ' + " ".join(f'{name}="{value}"' for name, value in found.items())


def dark_style(scope=""):
    """The colours on a dark ground, in place of those that the attributes state."""
    rules = [(f"{scope}text", "fill", "text")]
    for name, colour in (*COLOURS.items(), *((name, name) for name in SERIES)):
        rules.append((", ".join(f"{scope}{tag}.{name}" for tag in FILLED), "fill", colour))
        rules.append((", ".join(f"{scope}{tag}.{name}" for tag in DRAWN), "stroke", colour))
    lines = [f"{where} {{ {what}: {DARK[colour]}; }}" for where, what, colour in rules]
    return ["@media (prefers-color-scheme: dark) {", *lines, "}"]


def palette(root):
    return [f"{root} {{ {variables(LIGHT)} }}",
            f"@media (prefers-color-scheme: dark) {{ {root} {{ {variables(DARK)} }} }}"]


def size_of(kind):
    return next((float(ATTRIBUTES[name]["font-size"]) for name in ("small", "tight") if name in kind.split()), 12)


def width_of(words, kind):
    """How wide a text is at most."""
    return letters_width(words, size_of(kind), "head" in kind.split())


def letters_width(words, size, is_bold):
    letters = (NARROW if letter in " ijlfrt.,:;/'()1|" else WIDE if letter in "mwMW…%@" else LETTER for letter in words)
    return sum(letters) * size * (BOLD if is_bold else 1)


def label(x, y, words, kind, room=None):
    """In smaller letters where a wide font would need more than `room`: not all viewers know textLength."""
    most = width_of(words, kind)
    smaller = {"font-size": f"{size_of(kind) * room / most:.1f}"} if room and most > room else {}
    return f'<text {attributes("text", kind, **smaller)} x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


class Drawing:
    def __init__(self, name, title, description, width, height):
        self.name, self.title, self.description = name, title, description
        self.width, self.height, self.parts = width, height, []

    def text(self, x, y, words, kind="", room=None):
        """In smaller letters where a wide font would need more than `room`."""
        self.parts.append(label(x, y, words, kind, room))

    def line(self, x1, y1, x2, y2, kind):
        self.parts.append(
            f'<line {attributes("line", kind)} x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def path(self, points, kind):
        steps = " ".join(f"{'L' if index else 'M'}{x:.1f} {y:.1f}" for index, (x, y) in enumerate(points))
        self.parts.append(f'<path {attributes("path", f"line {kind}")} d="{steps}"/>')

    def mark(self, x, y, kind, shape=0, size=3.6):
        """Filled: a circle, a square, a triangle or a diamond."""
        if shape % 4 == 0:
            self.parts.append(f'<circle {attributes("circle", kind)} cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}"/>')
            return
        corners = {1: ((-.85, -.85), (.85, -.85), (.85, .85), (-.85, .85)), 2: ((0, -1.15), (1.1, .85), (-1.1, .85)),
                   3: ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0))}[shape % 4]
        points = " ".join(f"{x + size * dx:.1f},{y + size * dy:.1f}" for dx, dy in corners)
        self.parts.append(f'<polygon {attributes("polygon", kind)} points="{points}"/>')

    def _svg(self, attributes, head=()):
        name = self.name
        return "\n".join([
            f'<svg {attributes}viewBox="0 0 {self.width} {self.height:.0f}" role="img"'
            f' aria-labelledby="{name}-title {name}-words" font-family="{FONT}">',
            f'<title id="{name}-title">{escape(self.title)}</title>',
            f'<desc id="{name}-words">{escape(self.description)}</desc>', *head, *self.parts, "</svg>"])

    def inline(self):
        return self._svg("")

    def alone(self):
        """As a file. Its title stands above the drawing."""
        space, rules = 30, "\n".join(dark_style())
        head = [f"<style>{rules}</style>",
                f'<rect {attributes("rect", "panel")} x="0" y="{-space}" width="{self.width}"'
                f' height="{self.height + space:.0f}" rx="8"/>',
                label(12, -space + 20, self.title, "head", self.width - 24)]
        text = self._svg('xmlns="http://www.w3.org/2000/svg" ', head)
        return text.replace(f'viewBox="0 0 {self.width} {self.height:.0f}"',
                            f'viewBox="0 {-space} {self.width} {self.height + space:.0f}"') + "\n"


class Scale:
    """From values to places, even or by powers of ten."""

    def __init__(self, least, most, start, end, log=False):
        self.least, self.most, self.start, self.end, self.log = least, most, start, end, log

    def __call__(self, value):
        value = min(max(value, self.least), self.most)
        if self.log:
            share = math.log(value / self.least) / math.log(self.most / self.least)
        else:
            share = (value - self.least) / (self.most - self.least)
        return self.start + share * (self.end - self.start)

    def ticks(self):
        if self.log:
            first, last = math.floor(math.log10(self.least) + .01), math.ceil(math.log10(self.most) - .01)
            powers = [10.0 ** exponent for exponent in range(first, last + 1)]
            if len(powers) <= 3:
                powers = sorted(powers + [3 * power for power in powers])
            elif len(powers) > 7:
                powers = powers[::2]
            return [power for power in powers if self.least * .999 <= power <= self.most * 1.001]
        step = 10.0 ** math.floor(math.log10(self.most / 2))
        while self.most / step > 6:
            step *= 2 if round(step / 10 ** math.floor(math.log10(step))) in (1, 5) else 2.5
        return [step * index for index in range(int(self.most / step + .001) + 1)]


def around(values, log):
    """(least, most) of an axis that shows all of them."""
    if not log:
        return 0, max(values) * 1.06 or 1
    low, high = math.log10(min(values)), math.log10(max(values))
    return 10 ** (math.floor(low * 2 - .05) / 2), 10 ** (math.ceil(high * 2 + .05) / 2)
