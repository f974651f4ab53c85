"""Whether a drawing can be read in every viewer: each shape states its colours itself, no label stands over a mark,
and no tie counts as ahead.

Many viewers know no variables, and some no style sheets: what takes its colour from there is black in them.
"""

import re

from report_pages.svg import letters_width

SHAPES = {"text": "fill", "circle": "fill", "polygon": "fill", "rect": "fill", "line": "stroke", "path": "stroke"}
COLOUR = re.compile(r"#[0-9a-f]{3}(?:[0-9a-f]{3})?|[a-z]+")
# Lines that show a value. Those of the axes, and those that lead to labels, may pass behind a label.
SHOWN = {"stem", "whisker", "spread"}
# How much of a font's size stands over and under the line.
OVER, UNDER = 0.75, 0.2


def named(element):
    return element.tag.rpartition("}")[2]


def paint_faults(root):
    for element in root.iter():
        tag, attributes = named(element), element.attrib
        if any("var(" in value for value in attributes.values()):
            yield f"<{tag}> takes a value from a variable: {attributes}"
        if "textLength" in attributes:
            yield f"<{tag}> states a textLength, which not all viewers know"
        painted = [attributes[key] for key in ("fill", "stroke") if key in attributes]
        if tag in SHAPES and not any(COLOUR.fullmatch(value) and value != "none" for value in painted):
            yield f"<{tag} class=\"{attributes.get('class')}\"> states no colour itself"
        if tag == "path" and "stroke" in attributes and "fill" not in attributes:
            yield "a <path> that is drawn as a line states no fill, and would be filled black"
        for value in painted:
            if not COLOUR.fullmatch(value):
                yield f"<{tag}> has the colour {value}"
        if tag == "style":
            yield from style_faults(element.text or "")


def style_faults(text):
    """A style sheet may have the colours for dark screens, and none that an attribute doesn't state."""
    if "var(" in text:
        yield "the style sheet depends on variables"
    if re.search(r"\b(?:fill|stroke) *:", text.partition("@media (prefers-color-scheme: dark)")[0]):
        yield "the style sheet has colours for light screens, which attributes should state"
    if "@media (prefers-color-scheme: dark)" not in text:
        yield "the style sheet says nothing of dark screens"


def number(element, name, default=0.0):
    return float(element.get(name, default))


def box_of_text(element):
    words, size = "".join(element.itertext()), number(element, "font-size", 12)
    width = letters_width(words, size, bool(element.get("font-weight")))
    x, y = number(element, "x") + number(element, "dx"), number(element, "y")
    left = x - {"end": width, "middle": width / 2}.get(element.get("text-anchor"), 0)
    return left, y - OVER * size, left + width, y + UNDER * size


def box_of_mark(element):
    """None for what shows no value."""
    tag = named(element)
    if tag == "circle":
        x, y, r = (number(element, name) for name in ("cx", "cy", "r"))
        return x - r, y - r, x + r, y + r
    if tag == "polygon":
        places = [tuple(map(float, place.split(","))) for place in element.get("points", "").split()]
        return (*map(min, zip(*places)), *map(max, zip(*places))) if places else None
    if tag == "line" and SHOWN & set(element.get("class", "").split()):
        (x1, x2), (y1, y2) = (sorted(number(element, f"{axis}{end}") for end in "12") for axis in "xy")
        return x1, y1, x2, y2
    return None


def overlap(one, other):
    """Also where one is a line, which has no height or no width."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def overlap_faults(root):
    """By the letters of a wide font; rendered.py asks a browser."""
    texts = [(element, box_of_text(element)) for element in root.iter() if named(element) == "text"]
    marks = [box for element in root.iter() if (box := box_of_mark(element))]
    for element, box in texts:
        if any(overlap(box, mark) for mark in marks):
            yield f"a label stands over a mark: {''.join(element.itertext())}"


def outside_faults(root):
    """Labels that would be cut, by more than the width of a letter."""
    left, top, width, height = map(float, root.get("viewBox").split())
    for element in root.iter():
        if named(element) == "text":
            x1, y1, x2, y2 = box_of_text(element)
            if x1 < left - 8 or x2 > left + width + 8 or y1 < top or y2 > top + height:
                yield f"a label is cut: {''.join(element.itertext())}"


def tie_faults(root):
    """A spread that crosses the line at 1 says that neither is ahead."""
    ones = {number(element, "x1") for element in root.iter() if "one" in element.get("class", "").split()}
    for element in root.iter():
        kind = element.get("class", "").split()
        if "whisker" in kind and any(number(element, "x1") <= one <= number(element, "x2") for one in ones):
            if "even" not in kind:
                yield f"a tie counts as {kind[-1]}"


def faults(root):
    yield from paint_faults(root)
    yield from overlap_faults(root)
    yield from outside_faults(root)
    yield from tie_faults(root)
