"""A page as chromium lays it out: in frames of two widths, by a light and by a dark screen."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

WIDTHS = (360, 1280)
# The value of chromium's setting.
SCREENS = {"light": 1, "dark": 0}

# Everything that is folded is unfolded first. A label may reach beyond its drawing by the width of a letter or so: what
# letters a machine has differs.
MEASURE = """<!DOCTYPE html><meta charset="utf-8"><body><pre id="measured"></pre><script>
const text = PAGE, found = [];
function named(part) { return part.ownerSVGElement.parentNode.parentNode.id + ": " + part.textContent; }
// A box of text has room over and under the letters.
function letters(part) {
  const box = part.getBBox();
  return {x: box.x, width: box.width, y: box.y + box.height * .2, height: box.height * .6};
}
function meet(one, other) {
  return one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height &&
    other.y < one.y + one.height;
}
function measure(frame, width) {
  const page = frame.contentDocument, root = page.documentElement;
  for (const part of page.querySelectorAll("details")) part.open = true;
  const beyond = [...page.querySelectorAll("svg text")].filter(part => {
    const box = part.getBBox(), svg = part.ownerSVGElement.viewBox.baseVal;
    return box.x < -8 || box.x + box.width > svg.width + 8;
  }).map(named);
  const over = [...page.querySelectorAll("svg text")].filter(part => {
    const marks = [...part.ownerSVGElement.querySelectorAll("circle, polygon, .stem, .whisker, .spread")];
    return marks.some(mark => meet(letters(part), mark.getBBox()));
  }).map(named);
  const style = frame.contentWindow.getComputedStyle(page.body);
  const drawings = [...page.querySelectorAll(".chart svg")];
  const small = drawings.filter(part => part.getBoundingClientRect().width < 250).length;
  found.push({width, needed: Math.max(root.scrollWidth, page.body.scrollWidth), shown: root.clientWidth, beyond,
              over, small,
              ground: style.backgroundColor, ink: style.color});
  document.getElementById("measured").textContent = JSON.stringify(found);
}
for (const width of WIDTHS) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width: ${width}px; height: 800px; border: 0`;
  frame.onload = () => measure(frame, width);
  frame.srcdoc = text;
  document.body.append(frame);
}
</script></body>"""


def browser():
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for name in names if (path := shutil.which(name))), None)


def measured(program, text, screen):
    """What chromium found at each width, or None where it doesn't say."""
    with tempfile.TemporaryDirectory() as folder:
        source = json.dumps(text).replace("</", "<\\/")
        file = Path(folder) / "measure.html"
        file.write_text(MEASURE.replace("WIDTHS", str(list(WIDTHS))).replace("PAGE", source), encoding="utf-8")
        command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   f"--user-data-dir={folder}/profile", f"--blink-settings=preferredColorScheme={SCREENS[screen]}",
                   "--window-size=1400,1000", "--virtual-time-budget=20000", "--dump-dom", file.as_uri()]
        try:
            # It would leave files in the home folder.
            output = subprocess.run(command, capture_output=True, text=True, timeout=120,
                                    env={**os.environ, "HOME": folder}).stdout
        except subprocess.TimeoutExpired:
            return None
    match = re.search(r'<pre id="measured">(\[.+?\])</pre>', output, re.S)
    return json.loads(match[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")) if match else None


def faults(program, text, screens=tuple(SCREENS)):
    for screen in screens:
        found = measured(program, text, screen)
        if not found or len(found) != len(WIDTHS):
            yield f"{program} did not lay the report out on a {screen} screen"
            return
        for one in found:
            place = f"at {one['width']} pixels, {screen}"
            if one["needed"] > one["shown"]:
                yield f"{place}: the page is {one['needed']} pixels wide"
            for label in one["beyond"]:
                yield f"{place}: a label leaves its drawing: {label}"
            for label in one["over"]:
                yield f"{place}: a label stands over a mark: {label}"
            if one["small"]:
                yield f"{place}: {one['small']} drawings are too small to read"
            if (brightness(one["ground"]) > brightness(one["ink"])) != (screen == "light"):
                yield f"{place}: the ground is {one['ground']}, the ink {one['ink']}"


def brightness(colour):
    return sum(int(number) for number in re.findall(r"\d+", colour)[:3])


# What is replaced, by what, and what is said of it.
PLANTED = {
    "something wider than a phone": ("</main>", '<div style="width: 700px">wide</div></main>', "pixels wide"),
    "a label that leaves its drawing": ('<text class="small', '<text dx="390" class="small', "leaves its drawing"),
    "a label over a mark": ('<circle class="', '<circle r="60" class="', "over a mark"),
    "a drawing too small to read": (".chart svg { display: block; width: 100%;", ".chart svg { width: 200px;", "small"),
    "light colours on a dark screen": ("@media (prefers-color-scheme: dark)", "@media (min-width: 99999px)", "ground"),
}


def unnoticed(program, text):
    """All are planted at once, so that chromium need begin but once more."""
    for fault, (old, new, _) in PLANTED.items():
        if old not in text:
            yield f"a fault of the layout can't be planted: {fault}"
        text = text.replace(old, new)
    said = "\n".join(faults(program, text, screens=("dark",)))
    for fault, (_, _, words) in PLANTED.items():
        if words not in said:
            yield f"a planted fault of the layout is not noticed: {fault}"
