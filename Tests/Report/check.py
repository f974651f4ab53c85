"""Looks whether the report of scripts/bench is what it should be, by a report made from the rows in sample.tsv.

    python3 Tests/Report/check.py

It refers to nothing outside itself; it and its drawings are well-formed; each chart has its words and its table; and
where chromium is installed, nothing is wider than the screen and no label leaves its drawing, at 360 and 1280 pixels,
light and dark; `scripts/setup report` brings chromium on Debian, and elsewhere the layout may be left out. Then faults
are planted, each of which must be noticed. Aims, findings and comparisons say what the rows say (judgements.py).
"""

import re
import sys
import xml.etree.ElementTree as tree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = Path(__file__).with_name("sample.tsv")
sys.path.insert(0, str(ROOT / "Benchmarks"))

import drawings  # noqa: E402
import judgements  # noqa: E402
import rendered  # noqa: E402
from report_pages import page, pictures  # noqa: E402
from report_pages.areas import AREAS  # noqa: E402
from report_pages.rows import Run  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def outside(text):
    """What a page or a drawing would load or run."""
    text = text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    for pattern, what in ((r"\w+://[^\s\"'<]*", "a URL"), (r"@import|url\(", "a style from elsewhere"),
                          (r"<(script|iframe|object|embed|img)\b", "an element that loads or runs something"),
                          (r"\bon\w+=\"", "a script"), (r"(?:src|href)=\"(?!#|data:)[^\"]*", "a link to elsewhere")):
        if match := re.search(pattern, text):
            yield f"{what}: {match[0][:60]}"


def drawing_faults(element, name, prefix=""):
    for part in ("title", "desc"):
        if not (element.findtext(prefix + part) or "").strip():
            yield f"{name}: no <{part}>"
    if not re.fullmatch(r"0 -?\d+ \d+ \d+", element.get("viewBox", "")):
        yield f"{name}: viewBox is {element.get('viewBox')}"
    for part in element.iter():
        for key, value in part.attrib.items():
            if re.search(r"\b(nan|inf|None)\b", value):
                yield f"{name}: {key} is {value}"
    if not any(part.tag.removeprefix(prefix) in ("path", "circle", "polygon") for part in element.iter()):
        yield f"{name}: it shows nothing"
    for fault in drawings.faults(element):
        yield f"{name}: {fault}"


def figure_faults(figure):
    name, caption = figure.get("id"), figure.find("figcaption")
    words = "" if caption is None else "".join(caption.itertext())
    if len(words) < 80:
        yield f"{name}: no words say how to read it"
    drawings, tables = list(figure.iter("svg")), list(figure.iter("table"))
    if len(drawings) != 1:
        yield f"{name}: {len(drawings)} drawings"
    for drawing in drawings:
        yield from drawing_faults(drawing, name)
    if len(tables) != 1 or not tables[0].findall("thead/tr/th") or not tables[0].findall("tbody/tr/td"):
        yield f"{name}: no table beside it"


def page_faults(text):
    yield from outside(text)
    if 'name="viewport"' not in text or "prefers-color-scheme: dark" not in text:
        yield "nothing is said about narrow or dark screens"
    try:
        root = tree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    except tree.ParseError as fault:
        yield f"not well-formed: {fault}"
        return
    names = [element.get("id") for element in root.iter() if element.get("id")]
    for name in {name for name in names if names.count(name) > 1}:
        yield f"two elements are called {name}"
    for link in root.iter("a"):
        if link.get("href", "")[1:] not in names:
            yield f"a link leads nowhere: {link.get('href')}"
    figures = list(root.iter("figure"))
    for figure in figures:
        yield from figure_faults(figure)
    for area in AREAS:
        if not any(part.get("id") == area.name and list(part.iter("figure")) for part in root.iter("section")):
            yield f"{area.name}: no chart"
    if len([part for part in root.iter("div") if part.get("class") == "summary" and len(part.findall("p")) == 3]) != 1:
        yield "no summary of three sentences"


def alone_faults(run):
    for picture in pictures.pictures(run):
        text = picture.drawing.alone()
        yield from outside(text)
        try:
            yield from drawing_faults(tree.fromstring(text), f"{picture.name}.svg", SVG)
        except tree.ParseError as fault:
            yield f"{picture.name}.svg: not well-formed: {fault}"


PLANTED = {
    "a picture from elsewhere": ("</main>", '<p><img src="https://example.org/a.png" alt=""/></p></main>'),
    "a link to elsewhere": ("</main>", '<p><a href="other.html">more</a></p></main>'),
    "a script": ("</main>", "<script>1</script></main>"),
    "a broken drawing": ("</desc>", "</desc><path"),
    "a drawing without words": ("<desc id=", "<metadata id="),
    "a value that is no number": ('<circle class="', '<circle data-y="nan" class="'),
    "a chart without a table": ("<tbody>", "<tfoot>"),
    "a chart without words": ("<figcaption>", "<figcaption><!--"),
    "colours for light screens only": ("prefers-color-scheme: dark", "print"),
    "a colour from a variable": ('fill="#0550c8"', 'fill="var(--ours-1)"'),
    "a mark that leaves its colour to the style sheet": ('fill="#0550c8" cx=', 'cx='),
    "a label that is cut": ('<text class="end', '<text dx="-300" class="end'),
    "a tie that counts": ("whisker even", "whisker faster"),
    "a label over a mark": ('<text class="small end', '<text dx="-150" class="small end'),
}
CLOSED = {"<metadata id=": ("</desc>", "</metadata>"), "<tfoot>": ("</tbody>", "</tfoot>"),
          "<figcaption><!--": ("</figcaption>", "--></figcaption>")}


def plant(text, fault):
    """The page with the fault in each place."""
    old, new = PLANTED[fault]
    text = text.replace(old, new)
    return text.replace(*CLOSED[new]) if new in CLOSED else text


def unnoticed(text):
    for fault in PLANTED:
        changed = plant(text, fault)
        if changed == text or not list(page_faults(changed)):
            yield f"a planted fault is not noticed: {fault}"


def main():
    run = Run(SAMPLE)
    text = page.page(run)
    faults = [*page_faults(text), *alone_faults(run), *judgements.faults(SAMPLE), *unnoticed(text)]
    browser, note = rendered.browser(), "the layout is left out: there is no chromium"
    if browser and not faults:
        faults += [*rendered.faults(browser, text), *rendered.unnoticed(browser, text)]
        note = "rendered at 360 and 1280 pixels, light and dark"
    for fault in faults:
        print(f"Tests/Report/check.py: error: {fault}")
    if not faults:
        print(f"{text.count('<figure ')} charts of the report are in order; {note}; "
              f"{len(PLANTED) + (len(rendered.PLANTED) if browser else 0)} faults planted, 0 not found")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
