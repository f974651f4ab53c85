"""The report: one page that needs nothing beside itself."""

from html import escape

from . import svg
from .areas import AREAS, OTHER, area_of
from .pictures import LANGUAGES, overview, pictures
from .words import digits, is_ours, listed, quantity

STYLE = """
* { box-sizing: border-box; }
html { color-scheme: light dark; -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 16px 12px 48px; max-width: 1180px; background: var(--page); color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 12px 0 4px; }
h2 { font-size: 1.4rem; margin: 48px 0 4px; padding-top: 12px; border-top: 1px solid var(--grid); }
h3 { font-size: 1.05rem; margin: 0 0 4px; }
p { margin: 6px 0; max-width: 100ch; }
a { color: var(--ours-1); }
.quiet { color: var(--small); font-size: .92rem; }
.summary { background: var(--panel); border-left: 4px solid var(--ours-1); border-radius: 6px; padding: 10px 16px;
  margin: 16px 0; font-size: 1.06rem; }
nav ul { display: flex; flex-wrap: wrap; gap: 6px 16px; list-style: none; padding: 0; margin: 12px 0; }
figure { margin: 18px 0; padding: 14px; border: 1px solid var(--grid); border-radius: 8px; }
figcaption { margin-bottom: 8px; }
.finding { font-weight: 600; }
.chart svg { display: block; width: 100%; max-width: 540px; height: auto; }
.table { overflow: auto; max-height: 480px; margin-top: 10px; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; font-size: .84rem; }
th, td { padding: 3px 9px 3px 0; border-bottom: 1px solid var(--grid); text-align: right; white-space: nowrap; }
th:first-child, td:first-child, .words td { text-align: left; }
.wide td, .wide th { text-align: left; }
tbody th { font-weight: 400; }
thead th { border-bottom-width: 2px; color: var(--small); font-weight: 600; vertical-align: bottom;
  white-space: normal; }
tbody .group { font-weight: 600; padding-top: 10px; }
tbody .ours, .ours { color: var(--ours-1); font-weight: 600; }
.peer-ahead { color: var(--slower); font-weight: 600; }
.words td, .words th { white-space: normal; vertical-align: top; }
.ratios td:nth-child(n+3) { white-space: nowrap; }
summary { cursor: pointer; color: var(--ours-1); padding: 6px 0; }
@media (max-width: 600px) {
  body { padding: 12px 8px 40px; }
  figure { padding: 12px 8px; }
  th:first-child { white-space: normal; min-width: 7.5em; max-width: 11em; }
}
@media (min-width: 980px) {
  body { padding: 24px 32px 64px; }
  figure { display: grid; grid-template-columns: minmax(0, 540px) minmax(0, 1fr); column-gap: 28px; padding: 20px; }
  figcaption { grid-column: 1 / -1; }
  .table { margin-top: 0; max-height: 640px; }
}
@media print { .table { max-height: none; } }
"""


def table(head, rows, kind="", ours=None):
    """`ours` says whether a row, a tuple of texts, is one of this library's."""
    lines = [f'<div class="table" tabindex="0"><table class="{kind}"><thead><tr>']
    lines += [f'<th scope="col">{escape(cell)}</th>' for cell in head]
    lines.append("</tr></thead><tbody>")
    for row in rows:
        if len(row) == 1:
            lines.append(f'<tr><th class="group" scope="rowgroup" colspan="{len(head)}">{escape(row[0])}</th></tr>')
            continue
        cells = []
        for index, cell in enumerate(row):
            mark = ' class="peer-ahead"' if cell == "PEER" else ""
            if ours and ours(row) and index == 0:
                mark = ' class="ours"'
            tag = 'th scope="row"' if index == 0 else "td"
            cells.append(f"<{tag}{mark}>{escape('the peer' if cell == 'PEER' else cell)}</{tag.split()[0]}>")
        lines.append("<tr>" + "".join(cells) + "</tr>")
    lines.append("</tbody></table></div>")
    return "\n".join(lines)


def figure(picture):
    finding = f'<p class="finding">{escape(picture.finding)}</p>' if picture.finding else ""
    is_ratio = picture.name.startswith("ratio-")
    return "\n".join([
        f'<figure id="{picture.name}"><figcaption><h3>{escape(picture.title)}</h3>'
        f'{finding}<p class="quiet">{escape(picture.words)}</p></figcaption>',
        f'<div class="chart">{picture.drawing.inline()}</div>',
        table(picture.head, picture.table, "words wide ratios" if is_ratio else "",
              None if is_ratio else lambda row: is_ours(row[0], "server" if picture.area == "server" else "")),
        "</figure>"])


def named(one):
    group = one.group.removesuffix(", its waits")
    return f"{one.ours} beside {one.peer} ({group}, {LANGUAGES[one.language]}: {digits(one.middle)}x)"


def differing(ones, count=2):
    """The first of each area, so that one strength is not named twice."""
    some = {}
    for one in ones:
        some.setdefault(area_of(one.group).name, one)
    return listed(map(named, list(some.values())[:count]))


def leading_in(found, verdict):
    """The titles of the areas in which most of the rows that differ have this verdict."""
    counts = {}
    for one in found:
        if one.verdict != "even":
            counts.setdefault(area_of(one.group).title.lower(), []).append(one.verdict == verdict)
    return listed(title for title, those in counts.items() if sum(those) * 2 > len(those))


def summary(found):
    """Three sentences: what was compared and who was ahead how often; where this library is; where its peers are."""
    faster = sorted((one for one in found if one.verdict == "faster"), key=lambda one: one.middle)
    slower = sorted((one for one in found if one.verdict == "slower"), key=lambda one: -one.middle)
    yield (f"In {len(found)} rows this library stands beside the best of its peers: it is ahead in {len(faster)}, "
           f"behind in {len(slower)}, and {len(found) - len(faster) - len(slower)} are too close to tell.")
    for ones, verdict, who in ((faster, "faster", "This library is"), (slower, "slower", "Peers are")):
        areas = leading_in(found, verdict) or "no area"
        most = f", and most of all here: {differing(ones)}" if ones else ""
        yield f"{who} ahead in most rows of {areas}{most}."


def conditions(run):
    rows = [(name, value) for name, value in run.conditions.items()]
    return table(("what", "this run"), rows, "words wide") if rows else ""


def all_rows(run, area):
    rows = []
    for (language, group, subject, metric), cell in run.cells.items():
        if area_of(group).name == area.name:
            low, high = cell.quartiles()
            spread = f"{digits(low)} to {digits(high)}" if low < high else ""
            rows.append((group, LANGUAGES.get(language, language), subject, metric, quantity(cell.value, metric),
                         spread))
    return (f"<details><summary>All {len(rows)} rows of this area</summary>"
            + table(("group", "in", "subject", "metric", "value", "spread"), rows, "wide")
            + "</details>") if rows else ""


def peers_ahead(found):
    rows = [(one.group, LANGUAGES[one.language], one.ours, one.peer, f"{digits(one.middle)}x",
             f"{digits(one.low)} to {digits(one.high)}" if one.low < one.high else "")
            for one in sorted(found, key=lambda one: -one.middle) if one.verdict == "slower"]
    if not rows:
        return ""
    return (f"<details><summary>The {len(rows)} rows in which a peer is ahead</summary>"
            + table(("row", "in", "here", "best peer", "ratio", "spread"), rows, "wide") + "</details>")


def page(run):
    found, shown = overview(run), list(pictures(run))
    there = [area for area in (*AREAS, OTHER) if any(area_of(group).name == area.name for _, group in run.groups())]
    rules = "\n".join(svg.palette(":root") + [STYLE] + svg.dark_style(".chart "))
    parts = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        '<link rel="icon" href="data:,"/><title>SwiftSync, measured</title>',
        f"<style>{rules}</style></head><body><header><h1>SwiftSync, measured</h1>",
        '<p class="quiet">Written by scripts/bench. Compare within one run only: machines differ, ratios less so.</p>',
        '<div class="summary">' + "".join(f"<p>{escape(words)}</p>" for words in summary(found)) + "</div>",
        peers_ahead(found),
        "<nav aria-label=\"Areas\"><ul>",
        *(f'<li><a href="#{area.name}">{escape(area.title)}</a></li>' for area in there),
        '<li><a href="#measured-on">What it was measured on</a></li></ul></nav>',
        '<p class="quiet"><span class="ours">Blue</span> and the colours near it are this library; warm colours and '
        "grey are its peers. A value is the median of the rounds, of waits that of all samples together; the thin line "
        "beside a mark, the spread, is the middle half of the rounds.</p></header><main>",
    ]
    for area in there:
        parts.append(f'<section id="{area.name}"><h2>{escape(area.title)}</h2><p>{escape(area.words)}</p>')
        parts += [figure(picture) for picture in shown if picture.area == area.name]
        parts.append(all_rows(run, area) + "</section>")
    parts += ['<section id="measured-on"><h2>What it was measured on</h2>', conditions(run),
              "</section></main></body></html>"]
    return "\n".join(parts) + "\n"
