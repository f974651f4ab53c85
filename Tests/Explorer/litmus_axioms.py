#!/usr/bin/env python3
"""Compares the explorer's RC11 with RC11's axioms: all outcomes of each litmus test, and of random programs.

    litmus_axioms.py PROGRAM [--random N] [--seed S]      PROGRAM: the explorer, built

The axioms are those of rc11.cat (herd), with C++20's release sequences and membarrier's points; they are computed here
from every reads-from and every modification order, with nothing of the explorer's way of executing. litmus.h has the
notation of programs. Ends with 1 at the first difference, which is one program and the outcomes that one side alone
has.
"""
import argparse, itertools, random, re, subprocess, sys

ACQUIRES, RELEASES = {"acq", "ar", "sc"}, {"rel", "ar", "sc"}


class Event:
    def __init__(self, thread, kind, order, place=None, value=None, wanted=None, target=None, change=None):
        self.thread, self.kind, self.order, self.place = thread, kind, order, place
        self.value, self.wanted, self.target, self.change = value, wanted, target, change
        self.reads = "R" in kind
        self.writes = "W" in kind


def parse(program):
    """By thread: (kind, target, place, value, wanted, order, failure)."""
    threads = []
    for text in program.split("||"):
        statements = []
        for part in text.split(";"):
            part = part.strip()
            orders = re.findall(r"\.(rlx|acq|rel|ar|sc)", part)
            body = re.sub(r"\.(rlx|acq|rel|ar|sc)", "", part).strip()
            order = orders[0] if orders else "rlx"
            failure = orders[1] if len(orders) > 1 else "rlx"
            if body in ("F", "M"):
                statements.append((body, None, None, None, None, order, failure))
            elif body[0] in "stuvwxyz":
                place, value = body.split("=")
                statements.append(("W", None, place, value, None, order, failure))
            else:
                target, what = body.split("=")
                call = re.fullmatch(r"(swap|add|cas)\((.*)\)", what)
                if call is None:
                    statements.append(("R", target, what, None, None, order, failure))
                    continue
                inner = [one.strip() for one in call[2].split(",")]
                wanted = inner[1] if call[1] == "cas" else None
                statements.append((call[1], target, inner[0], inner[-1], wanted, order, failure))
        threads.append(statements)
    return threads


def closure(rows):
    rows = list(rows)
    for via in range(len(rows)):
        for i in range(len(rows)):
            if rows[i] >> via & 1:
                rows[i] |= rows[via]
    return rows


def compose(a, b):
    result = []
    for row in a:
        joined, at = 0, 0
        while row:
            if row & 1:
                joined |= b[at]
            row >>= 1
            at += 1
        result.append(joined)
    return result


def union(*relations):
    result = [0] * len(relations[0])
    for relation in relations:
        result = [x | y for x, y in zip(result, relation)]
    return result


def cyclic(rows):
    return any(row >> i & 1 for i, row in enumerate(closure(rows)))


def irreflexive(rows):
    return not any(row >> i & 1 for i, row in enumerate(rows))


def expansions(threads):
    """With each membarrier as its two fences and a point in each other thread, at any place; which compare-and-swaps
    succeed; yields lists of events by thread and the order of the points."""
    calls = [(t, i) for t, statements in enumerate(threads) for i, s in enumerate(statements) if s[0] == "M"]
    swaps = [(t, i) for t, statements in enumerate(threads) for i, s in enumerate(statements) if s[0] == "cas"]
    spots = [(call, t) for call in calls for t in range(len(threads)) if t != call[0]]
    # Between two of another thread's own steps; a membarrier is two steps, with a place between them.
    lengths = [sum(2 if s[0] == "M" else 1 for s in statements) for statements in threads]
    for where in itertools.product(*(range(lengths[t] + 1) for _, t in spots)):
        for success in itertools.product((True, False), repeat=len(swaps)):
            lists, ordered, begins, ends = [], [], {}, {}
            for t, statements in enumerate(threads):
                steps = []
                for i, (kind, target, place, value, wanted, order, failure) in enumerate(statements):
                    if kind == "M":
                        begins[t, i], ends[t, i] = Event(t, "F", "sc"), Event(t, "F", "sc")
                        steps += [begins[t, i], ends[t, i]]
                    elif kind == "F":
                        steps.append(Event(t, "F", order))
                    elif kind in ("R", "W"):
                        steps.append(Event(t, kind, order, place, value, None, target))
                    elif kind == "cas":
                        if success[swaps.index((t, i))]:
                            steps.append(Event(t, "RW", order, place, value, wanted, target, "swap"))
                        else:
                            steps.append(Event(t, "R", failure, place, None, wanted, target, "fails"))
                    else:
                        steps.append(Event(t, "RW", order, place, value, None, target, kind))
                lists.append(steps)
            points = {}
            for (call, t), at in zip(spots, where):
                points.setdefault((t, at), []).append(call)
            for t, steps in enumerate(lists):
                full = []
                for at in range(len(steps) + 1):
                    for call in points.get((t, at), ()):
                        point = Event(t, "F", "sc")
                        full.append(point)
                        ordered += [(begins[call], point), (point, call)]
                    full += steps[at:at + 1]
                lists[t] = full
            yield lists, [(a, ends[b] if isinstance(b, tuple) else b) for a, b in ordered]


def outcomes(program):
    threads = parse(program)
    found = set()
    places = sorted({s[2] for statements in threads for s in statements if s[2]})
    for lists, ordered in expansions(threads):
        events = [Event(-1, "W", "rlx", place, "0") for place in places] + [e for steps in lists for e in steps]
        found |= executions(events, lists, ordered, places)
    return found


def executions(events, lists, ordered, places):
    size = len(events)
    number = {event: i for i, event in enumerate(events)}
    inits = len(places)
    sb = [0] * size
    for i in range(inits):
        sb[i] = ((1 << size) - 1) & ~((1 << inits) - 1)
    for steps in lists:
        for i, a in enumerate(steps):
            for b in steps[i + 1:]:
                sb[number[a]] |= 1 << number[b]
    extra = [0] * size
    for a, b in ordered:
        extra[number[a]] |= 1 << number[b]
    reads = [i for i, e in enumerate(events) if e.reads]
    writes = {place: [i for i, e in enumerate(events) if e.writes and e.place == place] for place in places}
    found = set()
    for sources in itertools.product(*(writes[events[i].place] for i in reads)):
        if any(i == w for i, w in zip(reads, sources)):
            continue
        rf = [0] * size
        for i, w in zip(reads, sources):
            rf[w] |= 1 << i
        if cyclic(union(sb, rf, extra)):
            continue
        result = values(events, sb, dict(zip(reads, sources)))
        if result is None:
            continue
        registers, written = result
        for orders in itertools.product(*(modification_orders(writes[p], events, dict(zip(reads, sources)))
                                          for p in places)):
            final = {p: written[order[-1]] for p, order in zip(places, orders)}
            end = (tuple(registers.get(r, 0) for r in "abcdefgh"), tuple(final.get(p, 0) for p in "stuvwxyz"))
            if end not in found and is_consistent(events, sb, rf, orders, dict(zip(reads, sources)), extra):
                found.add(end)
    return found


def values(events, sb, source):
    """Registers and what each write writes, or None where a compare-and-swap does not fit."""
    registers, written, left = {}, {}, list(range(len(events)))
    done = set()
    while left:
        for i in left:
            before = [j for j in left if j != i and sb[j] >> i & 1]
            if not before and (i not in source or source[i] in done):
                break
        left.remove(i)
        done.add(i)
        event = events[i]

        def operand(text):
            return registers.get(text, 0) if text in tuple("abcdefgh") else int(text)
        read = written[source[i]] if event.reads else None
        if event.wanted is not None and (read == operand(event.wanted)) != (event.change != "fails"):
            return None
        if event.writes:
            written[i] = operand(event.value) + (read if event.change == "add" else 0)
        if event.reads:
            registers[event.target] = read
    return registers, written


def modification_orders(writes, events, source):
    for order in itertools.permutations(writes[1:]):
        order = (writes[0],) + order
        if all(not events[w].reads or (at > 0 and order[at - 1] == source[w]) for at, w in enumerate(order)):
            yield order


def is_consistent(events, sb, rf, orders, source, extra):
    size = len(events)
    everything = range(size)
    mo = [0] * size
    for order in orders:
        for at, w in enumerate(order):
            for later in order[at + 1:]:
                mo[w] |= 1 << later
    rb = [0] * size
    for r, w in source.items():
        rb[r] = mo[w] & ~(1 << r)
    # Release sequences: a write and the read-modify-writes that follow it one by one.
    rmw = sum(1 << i for i in everything if events[i].reads and events[i].writes)
    rs = closure([row & rmw for row in rf])
    rs = [row | 1 << i if events[i].writes else 0 for i, row in enumerate(rs)]
    observed = compose(rs, rf)
    sw = [0] * size
    for i in everything:
        if events[i].order not in RELEASES:
            continue
        if events[i].kind == "F":
            sw[i] = 0
            for j in everything:
                if sb[i] >> j & 1 and events[j].writes:
                    sw[i] |= observed[j]
        elif events[i].writes:
            sw[i] = observed[i]
    for i in everything:
        reached = 0
        for j in everything:
            if sw[i] >> j & 1:
                if events[j].order in ACQUIRES:
                    reached |= 1 << j
                for k in everything:
                    if sb[j] >> k & 1 and events[k].kind == "F" and events[k].order in ACQUIRES:
                        reached |= 1 << k
        sw[i] = reached
    hb = closure(union(sb, sw))
    eco = closure(union(rf, mo, rb))
    if not irreflexive(hb) or not irreflexive(compose(hb, eco)):
        return False
    same = [sum(1 << j for j in everything if events[i].place is not None and events[i].place == events[j].place)
            for i in everything]
    sbl = [row & ~same[i] for i, row in enumerate(sb)]
    hbl = [row & same[i] for i, row in enumerate(hb)]
    scb = union(sb, compose(compose(sbl, hb), sbl), hbl, mo, rb)
    sc = [i for i in everything if events[i].order == "sc"]
    fences = [i for i in sc if events[i].kind == "F"]
    identity = [1 << i for i in everything]
    maybe_hb = union(identity, hb)
    fence_mask, sc_mask = sum(1 << i for i in fences), sum(1 << i for i in sc)
    begin = [(1 << i if i in sc else 0) | (hb[i] if i in fences else 0) for i in everything]
    end = [(1 << i & sc_mask) | (row & fence_mask) for i, row in enumerate(maybe_hb)]
    pscb = compose(compose(begin, scb), end)
    inner = union(hb, compose(compose(hb, eco), hb))
    pscf = [inner[i] & fence_mask if i in fences else 0 for i in everything]
    return not cyclic(union(pscb, pscf, extra))


def ends_of(program, arguments, programs=None):
    text = subprocess.run([program, "litmus", *arguments], input=programs, capture_output=True, text=True, check=True)
    for block in text.stdout.split("\n\n"):
        lines = block.strip().split("\n")
        if lines == [""]:
            continue
        name, source, schedules = lines[0].split("|", 1)[0], lines[0].split("|", 1)[1].rsplit("|", 1)[0], lines[0]
        found = {(tuple(map(int, line.split()[:8])), tuple(map(int, line.split()[8:]))) for line in lines[1:]}
        yield name, source, found


def draw(dice):
    """A program of 2 to 4 threads and 4 to 9 steps."""
    threads = dice.choice((2, 2, 3, 3, 4))
    places = "xyz"[:dice.choice((1, 2, 2, 3))]
    registers, value, result = iter("abcdefgh"), itertools.count(1), []
    sc = dice.random() < 0.7
    barriers = dice.choice((0, 0, 1))
    for _ in range(threads):
        steps = []
        for _ in range(dice.choice((1, 2, 2, 3) if threads < 4 else (1, 2))):
            def order(*names):
                names = ("sc",) * 2 + names if sc else names
                return "." + dice.choice(names)
            place = dice.choice(places)
            kind = dice.choice("WWWRRRRFFAC")
            if kind == "F" and barriers and dice.random() < 0.5:
                barriers -= 1
                steps.append("M")
            elif kind == "F":
                steps.append("F" + order("acq", "rel", "ar"))
            elif kind == "W":
                steps.append(f"{place}={next(value)}" + order("rlx", "rlx", "rel"))
            else:
                register = next(registers, None)
                if register is None:
                    continue
                if kind == "R":
                    steps.append(f"{register}={place}" + order("rlx", "rlx", "acq"))
                elif kind == "A":
                    steps.append(f"{register}={dice.choice(('add', 'swap'))}({place},{10 * next(value)})" +
                                 order("rlx", "acq", "rel", "ar"))
                else:
                    steps.append(f"{register}=cas({place},{dice.randrange(3)},{10 * next(value)})" +
                                 order("rlx", "acq", "rel", "ar") + order("rlx", "acq"))
        result.append("; ".join(steps) or f"{places[0]}={next(value)}")
    return " || ".join(result)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    sets = [ends_of(options.program, ["--ends"])]
    if options.random:
        programs = "".join(draw(dice) + "\n" for _ in range(options.random))
        sets.append(ends_of(options.program, ["--programs", "-"], programs))
    count = 0
    for name, program, found in itertools.chain(*sets):
        expected = outcomes(program)
        count += 1
        if found == expected:
            continue
        print(f"{name}: {program}")
        for end in sorted(expected - found):
            print("  the axioms alone allow  ", *end)
        for end in sorted(found - expected):
            print("  the explorer alone has  ", *end)
        return 1
    print(f"{count} programs: the explorer's outcomes are those of the axioms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
