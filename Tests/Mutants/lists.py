"""What all engines of mutants share: how lists are read and checked, mutants chosen and tried, and who noticed noted.

A mutant stands in a file THEME.mutants:

    = the promise that it breaks, which is its name
    @ the file         for a header also `in SOURCE, SOURCE`: those that see the change
    - whole lines, which stand there once   or   - a line, or a part of it, with the «expression» that is replaced
    + what takes their place                     + what takes the place of the expression
    ~ why nobody could notice, if that is so
    ? who is tried first where nobody is known
    ! alone            where it needs a build of its own

Several texts that change together each begin with their `@`. Neither indentation nor Swift's word `unsafe` before an
expression matters in the lines that are looked for. A line that begins with # is a comment.
"""
import argparse, collections, concurrent.futures, glob, os, random, re, sys, time, zlib

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Steps"))
from changes import ROOT, changed_since, git


class Text:
    """A place of a file and what takes it: `begin..<end`, once `find` has found it."""

    def __init__(self, mutant, path, within=()):
        self.mutant, self.path, self.within, self.old, self.new = mutant, path, within, [], []
        self.begin = self.end = None

    @property
    def is_expression(self):
        return any("«" in line for line in self.old)

    def pattern(self):
        # The file may say `unsafe` wherever an expression may begin; it stays outside of what is replaced.
        begins = re.compile(r"(^|[ (\[{«])(?=[\w!$&(.-])")
        parts = []
        for line in self.old:
            pieces = re.split("([«»\0])", begins.sub("\\1\0", line.strip()).replace("«\0", "\0«"))
            parts.append("".join({"«": "(", "»": ")", "\0": "(?:unsafe )?"}.get(piece) or re.escape(piece)
                                 for piece in pieces))
        text = r"[ \t]*\n\s*".join(parts)
        return re.compile(text if self.is_expression else r"^([ \t]*" + text + r"[ \t]*\n)", re.M)

    def find(self, source):
        """None, or what is wrong."""
        if not self.old:
            return "it replaces nothing"
        if source is None:
            return f"there is no {self.path}"
        found = list(self.pattern().finditer(source))
        if len(found) != 1:
            return (f"stale: its text stands {len(found)} times in {self.path}, and should stand once; write its `-` "
                    "lines as the source is now, or drop the mutant if the promise is gone")
        self.begin, self.end = found[0].span(1)
        return None

    def replacement(self):
        return "\n".join(self.new) + ("\n" if self.new and not self.is_expression else "")


class Mutant:
    def __init__(self, theme, place, name):
        self.theme, self.place, self.name = theme, place, name
        # From the name, so that a new mutant changes no other's place in the copy.
        self.number = zlib.crc32(name.encode()) & 0x7FFFFFFF
        self.texts, self.hints, self.equivalent, self.alone = [], [], None, False

    @property
    def paths(self):
        return list(dict.fromkeys(text.path for text in self.texts))

    def changed(self, path, source):
        """The file with the mutant in it."""
        for text in sorted((text for text in self.texts if text.path == path), key=lambda text: -text.begin):
            source = source[:text.begin] + text.replacement() + source[text.end:]
        return source


def parse(path, sources):
    """The mutants of a file; the paths in it begin in the folder `sources`."""
    mutants, theme, short = [], os.path.basename(path)[:-8], os.path.relpath(path, ROOT)
    for number, line in enumerate(open(path).read().split("\n"), 1):
        mark, text = line[:1], line[2:]
        last = mutants[-1] if mutants else None
        if mark == "=":
            mutants.append(Mutant(theme, f"{short}:{number}", text.strip()))
        elif mark == "@":
            file, _, within = text.strip().partition(" in ")
            last.texts.append(Text(last, f"{sources}/{file}", tuple(within.split(", ")) if within else ()))
        elif mark == "-":
            last.texts[-1].old.append(text)
        elif mark == "+":
            last.texts[-1].new.append(text)
        elif mark == "?":
            last.hints.append(text.strip())
        elif mark == "~":
            last.equivalent = f"{last.equivalent or ''} {text.strip()}".strip()
        elif line.startswith("! alone"):
            last.alone = True
        elif line.strip() and mark != "#":
            sys.exit(f"{short}:{number}: what is this? {line}")
    return mutants


def read(path):
    return open(path).read() if os.path.isfile(path) else None


def overlaps(mutant):
    ends = {}
    for text in sorted(mutant.texts, key=lambda text: text.begin):
        if text.begin < ends.get(text.path, 0):
            return True
        ends[text.path] = text.end
    return False


def load(patterns, sources, root=ROOT):
    """All mutants of the files that fit the patterns, and what makes them wrong."""
    mutants = [m for pattern in patterns for path in sorted(glob.glob(pattern)) for m in parse(path, sources)]
    names, numbers = (collections.Counter(getattr(m, key) for m in mutants) for key in ("name", "number"))
    texts, wrong = {path: read(os.path.join(root, path)) for m in mutants for path in m.paths}, []
    for mutant in mutants:
        errors = [error for text in mutant.texts if (error := text.find(texts[text.path]))]
        if not mutant.texts:
            errors.append("it replaces nothing")
        elif not errors and overlaps(mutant):
            errors.append("two of its texts overlap")
        if names[mutant.name] > 1 or numbers[mutant.number] > 1:
            errors.append("another mutant has this name, or a name of the same number")
        wrong += [f"{mutant.place}: {mutant.name}: {error}" for error in errors]
    return mutants, wrong


def unrecorded(path, mutants):
    """What is wrong with the record: it has to know each mutant, and no other."""
    noticed = read_record(path)
    return [f"{os.path.relpath(path, ROOT)} has {'an unknown' if name in noticed else 'nobody for the'} mutant: {name}"
            for name in sorted(set(noticed) ^ {mutant.name for mutant in mutants})]


def only_looks(given, mutants, wrong, and_what=""):
    """Ends the program where a list is wrong; whether it was only to be looked at."""
    if wrong:
        sys.exit("\n".join(wrong) + f"\n{len(mutants)} mutants, {len(wrong)} stale or wrong")
    for mutant in mutants if given.list else []:
        print(f"{mutant.theme:16} {mutant.name}" + (f"\n{'':17}~ {mutant.equivalent}" if mutant.equivalent else ""))
    print(f"{len(mutants)} mutants{and_what}; each text stands where it should", flush=True)
    if not (given.check or given.list or given.folder):
        sys.exit("a folder to build in is missing")
    return given.check or given.list


def read_record(path):
    return dict(line.rstrip("\n").rsplit(": ", 1) for line in open(path)) if os.path.exists(path) else {}


def write_record(path, record, mutants):
    with open(path, "w") as file:
        file.writelines(f"{m.name}: {record[m.name]}\n" for m in mutants if m.name in record)


def put(path, text):
    """Writes only what is new, so that builds are incremental."""
    content = text if isinstance(text, bytes) else text.encode()
    if os.path.exists(path) and open(path, "rb").read() == content:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def options(description):
    """What each engine's command line has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("folder", nargs="?", help="to build in")
    add("names", nargs="*", help="a name, or a part of names; all mutants without any choice")
    add("--turn", type=int, metavar="N", help="the N whose turn it is: each commit tries others, until all had theirs")
    add("--changed", metavar="REVISION", help="those of files that have changed since, untracked ones too")
    add("--files", nargs="*", metavar="FILE", help="those of these files, as paths of the repository")
    add("--some", type=int, metavar="N", help="N that are drawn")
    add("--seed", type=int, default=0, help="of what is drawn")
    add("--seconds", type=float, default=float("inf"), help="begins no further mutant so long after the build")
    add("--jobs", type=int, default=os.cpu_count(), help="at once (default: the number of processors)")
    add("--record", action="store_true", help="notes who notices")
    add("--check", action="store_true", help="only looks whether each text stands in its file, once")
    add("--list", action="store_true", help="prints the mutants")
    return parser


def named(mutants, name):
    found = [m for m in mutants if m.name == name] or [m for m in mutants if name in m.name]
    return found or sys.exit(f"no mutant is called {name}")


def choose(given, mutants, files_of=lambda mutant: mutant.paths):
    """The mutants that the options ask for. `files_of` gives the files to which a mutant belongs."""
    chosen = [mutant for name in given.names for mutant in named(mutants, name)]
    changed = changed_since(given.changed) if given.changed else []
    if changed is None:
        print(f"this clone lacks {given.changed}: whose mutants have changed is not known", flush=True)
    files = {*(given.files or []), *(changed or [])}
    chosen += [m for m in mutants if not files.isdisjoint(files_of(m))] if files else []
    if given.turn:
        first = int(git("rev-list", "--count", "HEAD")) * given.turn
        chosen += [mutants[(first + index) % len(mutants)] for index in range(min(given.turn, len(mutants)))]
    if given.some:
        chosen += random.Random(given.seed).sample(mutants, min(given.some, len(mutants)))
    if not (given.names or given.turn or given.changed or given.files is not None or given.some):
        chosen = mutants
    return list(dict.fromkeys(chosen))


def try_all(chosen, try_one, given, jobs, good=("caught",)):
    """Tries each, prints what came of it, and gives the results by name and whether all were caught. `try_one` gives
    the result and what says so."""
    began, results = time.monotonic(), {}

    def timed(mutant):
        at = time.monotonic()
        return (None, "", 0) if at - began > given.seconds else (*try_one(mutant), time.monotonic() - at)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for number, (mutant, (result, detail, spent)) in enumerate(zip(chosen, pool.map(timed, chosen)), 1):
            if result:
                results[mutant.name] = result
                print(f"[{number:3}/{len(chosen)}] {result:10} {mutant.name:70} {spent:5.1f} s  {detail}", flush=True)
    if len(results) < len(chosen):
        print(f"{len(chosen) - len(results)} were left out, since {given.seconds:.0f} s were over; all are tried by "
              "scripts/soak")
    caught = sum(result in good for result in results.values())
    print(f"tried in {time.monotonic() - began:.0f} s")
    print(f"{caught} of {len(results)} mutants caught")
    return results, caught == len(results)
