"""The report's charts: which rows each shows, its words, and its table."""

import re
from typing import NamedTuple

from . import charts, ratios
from .areas import area_of, is_call_site
from .rows import beside_best, best, ours_and_peers, ratio
from .words import MORE_IS_BETTER, digits, is_variant, quantity

LANGUAGES = {"c": "C", "swift": "Swift"}
PERCENTILES = (("p50", .30, .5), ("p90", 1, .9), ("p99", 2, .99), ("p99.9", 3, .999), ("p99.99", 4, .9999))
LONGEST = 5.1
AHEAD = {"faster": "This library is ahead.", "slower": "The peer is ahead.", "even": "Too close to tell."}


class Picture(NamedTuple):
    name: str
    area: str
    title: str
    words: str
    finding: str
    drawing: object
    head: tuple
    table: list  # rows of cells; a cell is text


def nanoseconds(value, metric):
    return value * 1000 if metric.endswith("us") else value


def point(cell, x, metric):
    low, high = cell.quartiles()
    return charts.Point(x, *(nanoseconds(value, metric) for value in (cell.value, min(low, cell.value),
                                                                      max(high, cell.value))))


def leading(run, language, group, metric, what):
    """A sentence that says who is best in a row, and by how much."""
    ours, peers = ours_and_peers(run, language, group, metric)
    plain = [subject for subject in ours if not is_variant(subject)]
    first, second = (best(run, language, group, metric, some) for some in (plain, peers))
    if not first or not second:
        return ""
    mine, theirs = (run.get(language, group, subject, metric).value for subject in (first, second))
    one = ratio(run, language, group, metric, first, second)
    ahead = AHEAD[one.verdict if one else "faster" if (mine > theirs) == (metric in MORE_IS_BETTER) else "slower"]
    return (f"{what}: {first} {quantity(mine, metric)}, the best peer, {second}, {quantity(theirs, metric)}. {ahead}")


def series_of(run, language, groups, metric, subjects, lasting=None):
    """Lines over `groups`, (x, group) each; `lasting`: subjects in the order of colours."""
    colours = charts.kinds(lasting or subjects)
    found = []
    for subject in subjects:
        points = [point(cell, x, metric) for x, group in groups
                  if (cell := run.get(language, group, subject, metric)) and cell.value > 0]
        if points:
            found.append(charts.Series(subject, colours[subject], points))
    return found


def table_of(run, language, groups, metric, subjects):
    rows = []
    for subject in subjects:
        cells = [run.get(language, group, subject, metric) for _, group in groups]
        rows.append((subject, *(quantity(cell.value, metric) if cell else "" for cell in cells)))
    return rows


def numbered(run, language, pattern):
    """[(number, group)] of groups whose names hold a number."""
    found = []
    for other, group in run.groups():
        if other == language and (match := re.match(pattern, group)):
            found.append((int(match[1]), group))
    return sorted(found)


def throughput(run, language, sections):
    groups = numbered(run, language, rf"(\d+) threads?, {sections} sections$")
    if len(groups) < 2:
        return
    subjects = list(dict.fromkeys(s for _, group in groups for s in run.subjects(language, group, "Mops/s")))
    places = [(index, group) for index, (_, group) in enumerate(groups)]
    ticks = [(index, str(count)) for index, (count, _) in enumerate(groups)]
    inside = "with 100 ns of work inside and 100 ns outside" if sections == "100 ns" else "without any work inside"
    title = f"Operations a second against threads, {sections} sections, {LANGUAGES[language]}"
    words = (f"All threads use one lock, {inside}. Each point is what all of them do together in a second, in "
             "millions: higher is better. A line that stays level means that more threads do no harm.")
    middle = next((group for count, group in groups if count == 8), groups[-1][1])
    drawing = charts.lines(f"throughput-{language}-{sections[:3].strip()}", title, words,
                           series_of(run, language, places, "Mops/s", subjects), ticks, "threads",
                           "million operations a second")
    yield Picture(drawing.name, "locks", title, words,
                  leading(run, language, middle, "Mops/s", f"With {middle.split(',')[0]}"), drawing,
                  ("threads", *(str(count) for count, _ in groups)),
                  [(row[0], *(cell.removesuffix(" Mops/s") for cell in row[1:]))
                   for row in table_of(run, language, groups, "Mops/s", subjects)])


def percentile_points(run, language, group, subject):
    samples = run.get(language, group, subject, "samples")
    for name, x, share in PERCENTILES:
        cell = run.get(language, group, subject, f"{name} us")
        if cell and cell.value > 0 and (not samples or samples.value * (1 - share) >= 1):
            yield point(cell, x, "us")
    cell = run.get(language, group, subject, "max us")
    if cell and cell.value > 0:
        # The longest of all rounds: the rounds' own say how it varied, from the least to that.
        yield charts.Point(LONGEST, *(nanoseconds(value, "us") for value in (
            cell.value, min(cell.rounds or (cell.value,)) or cell.value, cell.value)))


def percentiles(run, language, group, title, words):
    subjects = run.subjects(language, group, "p99 us")
    colours = charts.kinds(subjects, group)
    series = [charts.Series(subject, colours[subject], points) for subject in subjects
              if (points := list(percentile_points(run, language, group, subject)))]
    if not series:
        return
    ticks = [(x, name) for name, x, _ in PERCENTILES] + [(LONGEST, "longest")]
    name = "waits-" + language + "-" + re.sub(r"\W+", "-", group.lower())[:24].strip("-")
    title = f"{title}, {LANGUAGES[language]}"
    how = (" To the right stand rarer waits: p99 is the wait that one in a hundred exceeds. Each step up on the "
           "left axis is several times longer; lower is better. A percentile that too few samples stand behind is "
           "left out.")
    drawing = charts.lines(name, title, words + how, series, ticks, "share of waits that are shorter", "wait",
                           "time", log=True)
    metrics = [metric for metric in (*(f"{name} us" for name, _, _ in PERCENTILES), "max us")
               if any(run.get(language, group, subject, metric) for subject in subjects)]
    rows = [(subject, *(quantity(cell.value, metric) if (cell := run.get(language, group, subject, metric)) else ""
                        for metric in metrics)) for subject in subjects]
    head = ("lock", *("longest" if metric == "max us" else metric.removesuffix(" us") for metric in metrics))
    shown = {point.x for one in series for point in one.points}
    rarest = "p99.99" if PERCENTILES[-1][1] in shown else "p99"
    finding = leading(run, language, group, f"{rarest} us", rarest)
    yield Picture(name, area_of(group).name, title, words + how, finding,
                  drawing, head, rows)


def bar_entries(run, language, group, metric):
    subjects = run.subjects(language, group, metric)
    colours = charts.kinds(subjects, group)
    entries = []
    for subject in subjects:
        cell = run.get(language, group, subject, metric)
        low, high = (nanoseconds(value, metric) for value in cell.quartiles())
        words = charts.fairness_words(cell.value) if metric == "least/most served" else quantity(cell.value, metric)
        entries.append(charts.Bar(subject, colours[subject], nanoseconds(cell.value, metric), low, high, words))
    return sorted(entries, key=lambda entry: entry.value, reverse=metric in MORE_IS_BETTER)


def spread_table(run, language, group, metric):
    rows = []
    for subject in run.subjects(language, group, metric):
        cell = run.get(language, group, subject, metric)
        low, high = cell.quartiles()
        spread = f"{digits(low)} to {digits(high)}" if low < high else ""
        rows.append((subject, quantity(cell.value, metric), spread))
    return rows


def fairness(run, language):
    metric = "least/most served"
    for threads, group in numbered(run, language, r"(\d+) threads, 100 ns sections, waits$"):
        entries = bar_entries(run, language, group, metric)
        if not entries:
            continue
        title = f"Fairness among {threads} threads, {LANGUAGES[language]}"
        words = (f"{threads} threads want the same lock all the time. The chart shows how many times the least served "
                 "of them was inside for each time of the most served: 1 is perfectly fair, and 0.01 means that one "
                 "thread got a hundredth of what another got. Further right is better.")
        drawing = charts.bars(f"fairness-{language}-{threads}", title, words, entries,
                              "least served / most served", log=True)
        yield Picture(drawing.name, "tail", title, words, leading(run, language, group, metric, "Fairness"), drawing,
                      ("lock", "least/most", "spread"), spread_table(run, language, group, metric))


def urgent(run, language):
    groups = numbered(run, language, r"urgent thread among (\d+), ")
    if len(groups) < 2:
        return
    subjects = list(dict.fromkeys(s for _, group in groups for s in run.subjects(language, group, "p99 us")))
    places = [(index, group) for index, (_, group) in enumerate(groups)]
    ticks = [(index, str(count)) for index, (count, _) in enumerate(groups)]
    title = f"The urgent thread's wait against load, {LANGUAGES[language]}"
    words = ("How long the urgent thread waits in the worst case of a hundred (p99), against the number of other "
             "threads that keep the lock busy. A section takes 10 us, so that a wait below that can't be promised. "
             "Each step up is several times longer; lower is better.")
    drawing = charts.lines(f"urgent-{language}", title, words,
                           series_of(run, language, places, "p99 us", subjects), ticks, "other threads",
                           "wait of the urgent thread, p99", "time", log=True)
    middle = next((group for count, group in groups if count == 8), groups[-1][1])
    yield Picture(drawing.name, "priority", title, words,
                  leading(run, language, middle, "p99 us", f"{middle.split(',')[0].capitalize()}, p99"), drawing,
                  ("other threads", *(str(count) for count, _ in groups)),
                  table_of(run, language, groups, "p99 us", subjects))


def costs(run, language, group, title, words):
    """One bar for each subject of a group that is measured in time."""
    metric = next((m for m in run.metrics(language, group) if m in ("ns", "p50 us", "late us")), None)
    entries = bar_entries(run, language, group, metric) if metric else []
    if not entries:
        return
    drawing = charts.bars("cost-" + language + "-" + re.sub(r"\W+", "-", group.lower()).strip("-"), title, words,
                          entries, "time of one; shorter is better", unit="time")
    yield Picture(drawing.name, area_of(group).name, title, words, leading(run, language, group, metric, "The best"),
                  drawing, ("subject", "time", f"spread, {metric.split()[-1]}"),
                  spread_table(run, language, group, metric))


def main_metrics(run, language, group):
    """What a group is compared by."""
    there = run.metrics(language, group)
    if "least/most served" in there:
        return [metric for metric in ("p99.99 us", "max us", "least/most served") if metric in there]
    return [m for m in ("p99 us", "Mops/s", "requests/s", "ns", "p50 us", "late us", "processor ns") if m in there][:1]


def compared(run, area):
    """(language, group, metric) of the rows that an area's ratios show; of a series over threads, 8 of them."""
    for language, group in run.groups():
        match = re.match(r"(\d+) threads?, (100 ns|empty) sections$", group)
        among = re.match(r"urgent thread among (\d+),", group)
        series = match or among
        if area_of(group).name == area and (not series or series[1] == "8"):
            for metric in main_metrics(run, language, group):
                yield language, group, metric


def ratio_entries(run, rows):
    """The first of this library's types in a row beside each peer, the others beside the best one, as all at a call
    site.
    """
    count, table = 0, []
    entries = []
    for language, group, metric in rows:
        ours, peers = ours_and_peers(run, language, group, metric)
        plain = [subject for subject in ours if not is_variant(subject) and not is_call_site(group)]
        pairs = [(plain[0], peer) for peer in peers] if plain else []
        strongest = best(run, language, group, metric, peers)
        pairs += [(subject, strongest) for subject in ours if strongest and subject not in plain[:1]]
        entries.append(ratios.Entry(row_words(group, metric)))
        table.append((row_words(group, metric),))
        for mine, peer in pairs:
            one = ratio(run, language, group, metric, mine, peer)
            if not one:
                continue
            label = f"{charts.short(mine, 17)} / {charts.short(peer, 17)}"
            entries.append(ratios.Entry(label, one.low, one.middle, one.high, one.verdict))
            count += 1
            spread = f"{digits(one.low)} to {digits(one.high)}" if one.low < one.high else ""
            table.append((mine, peer, f"{digits(one.middle)}x", spread,
                          {"faster": "here", "slower": "PEER", "even": "even"}[one.verdict]))
        if entries[-1].middle is None:
            entries.pop()
            table.pop()
    return entries, table, count


def short_group(group):
    for long_form, name in (("uncontended lock and unlock", "uncontended"), ("uncontended increment", "uncontended"),
                            (", its waits", ""), (", waits", ""),
                            (", from submission to end", ""), (", 10 us sections", ""),
                            (" and its share of the drain", ", to the end"), (", until all have begun", ""),
                            (" sections that suspend", " each"), (" uses that suspend", " each"),
                            (", permits of 1 ms", ", 1 ms each"),
                            ("task queue, ", ""), (" that runs and releases at once", ", idle")):
        group = group.replace(long_form, name)
    return group


def row_words(group, metric):
    """A group's name, and the metric where it doesn't follow from it."""
    metric = {"max us": "longest", "least/most served": "least/most served", "p99.99 us": "p99.99",
              "p99 us": "p99"}.get(metric, "")
    return short_group(group) + (f", {metric}" if metric else "")


def ratios_of(run, area):
    """Beside each peer, with the spread over the rounds; in several charts where there are many."""
    words = ("The time that this library takes for each unit of time that a peer takes, in the same run; of operations "
             "a second, and of the least to the most served, the inverse. Left of 1 this library is faster (circles), "
             "right of it the peer is (diamonds). The thin line is the spread: the middle half of the rounds. Grey "
             "squares are too close to tell: 1 lies within the spread, or within 3 %.")
    rows = list(compared(run, area))
    for language in ("c", "swift"):
        entries, table, count = ratio_entries(run, [row for row in rows if row[0] == language])
        if not count:
            continue
        won = sum(row[-1] == "here" for row in table)
        lost = sum(row[-1] == "PEER" for row in table)
        title = f"Beside each peer, {LANGUAGES[language]}"
        drawing = ratios.drawn(f"ratio-{area}-{language}", title, words, entries)
        yield Picture(drawing.name, area, title, words,
                      f"Of {count} comparisons, this library is faster in {won}, the peer in {lost}, and "
                      f"{count - won - lost} are too close to tell.", drawing,
                      ("here", "peer", "ratio", "spread", "faster"), table)


def pictures(run):
    """In the order in which the areas show them."""
    for language, group in run.groups():
        if group in ("uncontended increment", "uncontended lock and unlock"):
            yield from costs(run, language, group, f"One uncontended section, {LANGUAGES[language]}",
                             "One thread locks, increments and unlocks in a loop, and nobody else wants the lock.")
    for language in ("swift", "c"):
        for sections in ("100 ns", "empty"):
            yield from throughput(run, language, sections)
        yield from urgent(run, language)
        for threads in (8, 32):
            yield from percentiles(run, language, f"{threads} threads, 100 ns sections, waits",
                                   f"Waits of {threads} equal threads",
                                   f"How long each of {threads} threads that want the same lock waits for it.")
        yield from fairness(run, language)
        yield from percentiles(run, language, "writer among 4 readers, 1 us sections, its waits",
                               "A writer's wait among 4 readers",
                               "Four threads read all the time, a fifth comes every 200 us to write.")
    for language, group in run.groups():
        if is_call_site(group) and "let property" in group:
            yield from costs(run, language, group, f"{group[0].upper()}{group[1:]}, {LANGUAGES[language]}",
                             "What one operation takes where programs call it, in a function of its own. The other "
                             "forms are in the chart of ratios and in the rows of this area.")
        if group.startswith(("uncontended read", "read of a published", "thread-local value, read", "serial queue, 1",
                             "async work", "delay of 1 ms", "round trip", "semaphore, ", "hand-over to one")):
            title = f"{group[0].upper()}{group[1:]}, {LANGUAGES[language]}"
            yield from costs(run, language, group, title, "What one operation takes.")
        if group.startswith("server"):
            yield from percentiles(run, language, group, group.removeprefix("server: "),
                                   "How long a client waits for the answer to a GET.")
        if group.startswith("semaphore of 4, urgent task among 1000"):
            yield from percentiles(run, language, group, "An urgent task's wait among a thousand",
                                   "A thousand tasks want four permits all the time, and hold each for 1 ms; one more "
                                   "comes every 2 ms, at high priority where the semaphore knows priorities.")
        if group.startswith("semaphore of two, urgent thread"):
            yield from percentiles(run, language, group, "An urgent thread's wait for one of two permits",
                                   "Eight threads want two permits all the time, for 10 us each; a ninth comes every "
                                   "200 us, at high priority where the semaphore knows priorities.")
    for area in dict.fromkeys(area_of(group).name for _, group in run.groups()):
        yield from ratios_of(run, area)


def overview(run):
    """Each area's rows beside the best peer: the README's summary drawing, and what the page counts. What observation
    costs is no comparison with a peer.
    """
    found = []
    for language, group in run.groups():
        if area_of(group).name == "observation":
            continue
        for metric in main_metrics(run, language, group):
            found += beside_best(run, language, group, metric)
    return found

