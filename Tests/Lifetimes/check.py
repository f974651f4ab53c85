"""What scripts/lifetimes looks for besides running: what the optimizer made of the probes, what it believes of the
library's functions, casts that hide references from it, and public functions without a probe.
"""
import collections, glob, json, os, re, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import tables
ROOT = os.path.dirname(os.path.dirname(HERE))
SOURCES = os.path.join("Sources", "SwiftSync")
# How the name of a probe's function begins, and of all that belongs to it: closures, and parts between awaits.
PROBE = re.compile(r"\$s6probes\d+(kept|value|drop|once|used)_(\d+)")
# Classes whose objects a function gets that nobody can make but with another public call.
CLASSES = ("DispatchQueue", "DispatchGroup", "DispatchWorkItem", "EventRecorder", "ExecutorJob")


class Checker:
    def __init__(self, library, package, built, probes):
        self.library, self.package, self.probes = library, package, probes
        self.folder = os.path.join(package, "sil")
        self.modules = os.path.join(built, "Modules")
        os.makedirs(self.folder, exist_ok=True)
        self.started = {}

    def headers(self):
        return ["-I", os.path.join(self.library, "Sources/CSyncKernel/include"),
                "-I", os.path.join(self.library, "Sources/CURCU")]

    def start(self, kind, optimization="-O"):
        """Starts the compilers; they run beside the probes."""
        mine = sorted(glob.glob(os.path.join(self.package, "Sources/probes/*.swift")))
        theirs = sorted(glob.glob(os.path.join(self.library, SOURCES, "**/*.swift"), recursive=True))
        of_probes = [optimization, "-wmo", "-module-name", "probes", "-swift-version", "5", "-I", self.modules,
                     *self.headers()]
        of_library = [optimization, "-wmo", "-module-name", "SwiftSync", "-swift-version", "6", "-package-name",
                      "swiftsync", "-D", "RCU", "-D", "SWIFT_PACKAGE", *self.headers()]
        for name, what, flags, sources in (("probes.silgen", "-emit-silgen", of_probes, mine),
                                           ("probes.sil", "-emit-sil", of_probes, mine),
                                           ("library.sil", "-emit-sil", of_library, theirs)):
            if name == "probes.sil" or kind == "O":
                self.started[name] = subprocess.Popen(
                    ["swiftc", what, *flags, *sources, "-o", os.path.join(self.folder, name)],
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")

    def wait(self):
        for name, process in self.started.items():
            _, errors = process.communicate()
            if process.returncode != 0:
                return [f"{name} can't be made: {errors[-1000:]}"]
        self.started = {}
        return []

    # ------------------------------------------------------------ the probes' instructions

    def on_the_stack(self):
        """Objects and contexts that a call keeps, and that stand on the stack of who hands them over."""
        wrong, probe, found = [], None, collections.OrderedDict()
        for line in open(os.path.join(self.folder, "probes.sil")):
            if line.startswith("sil "):
                name = PROBE.search(line)
                probe = self.probes[int(name[2])] if name and name[1] in ("kept", "value") else None
            elif probe and "alloc_ref" in line and "[stack]" in line:
                if kept := re.search(r"\$(Counted|Plain|_ContiguousArrayStorage<(?!\()\S+)", line):
                    found.setdefault((probe.line, probe.family, probe.call), set()).add(kept[1])
            elif probe and "partial_apply" in line and "[on_stack]" in line and PROBE.search(line):
                found.setdefault((probe.line, probe.family, probe.call), set()).add("a closure's context")
        for (line, family, call), kinds in found.items():
            wrong.append(f"calls.txt:{line}: {family}: {call}\n"
                         f"        on the caller's stack: {', '.join(sorted(kinds))}")
        return wrong

    # ------------------------------------------------------------ the library's effects

    def believed_not_to_escape(self, required):
        """Kept closures of public functions of which the optimizer believes that nobody keeps them."""
        wrong, names, function = [], {usr: title for usr, title, _ in required}, None
        signatures = [line for line in open(os.path.join(self.folder, "library.sil")) if line.startswith("sil ")]
        mangled = [found[1] for line in signatures if (found := re.search(r"@(\$s\S+)", line))]
        plain_names = dict(zip(mangled, plain(*mangled)))
        for line in open(os.path.join(self.folder, "library.sil")):
            if line.startswith("sil "):
                found = re.search(r"@(\$s\S+)", line)
                function = plain_names[found[1]] if found else None
                function = function if function in names else None
                kept = kept_closures(line) if function else set()
            elif function and (effect := re.match(r"\[%(\d+): noescape", line)):
                if int(effect[1]) in kept:
                    wrong.append(f"{names[function]}: the optimizer believes that its closure is not kept: "
                                 f"{line.strip()[:60]}")
        return wrong

    # ------------------------------------------------------------ public functions

    def symbols(self):
        """(name for the linker, what users call it, the parameters that may be kept) of the public functions."""
        subprocess.run(["swift-symbolgraph-extract", "-module-name", "SwiftSync", "-I", self.modules, *self.headers(),
                        "-target", target(), "-minimum-access-level", "public", "-output-dir", self.folder],
                       check=True, capture_output=True)
        aliases, functions = set(), []
        graphs = [json.load(open(path)) for path in glob.glob(os.path.join(self.folder, "*.symbols.json"))]
        for symbol in (symbol for graph in graphs for symbol in graph["symbols"]):
            declaration = "".join(part["spelling"] for part in symbol["declarationFragments"])
            kind = symbol["kind"]["identifier"]
            if kind == "swift.typealias" and "->" in declaration:
                aliases.add(symbol["pathComponents"][-1])
            if kind.split(".")[-1] in ("func", "method", "init", "subscript"):
                functions.append((symbol, declaration))
        result = {}
        for symbol, declaration in functions:
            generic = [one["name"] for one in symbol.get("swiftGenerics", {}).get("parameters", [])]
            kept = []
            for parameter in symbol.get("functionSignature", {}).get("parameters", []):
                text = "".join(part["spelling"] for part in parameter["declarationFragments"])
                kind = text.split(":", 1)[-1].replace("isolated ", "").replace("(any Actor)?", "")
                if may_keep(kind, generic, aliases):
                    kept.append(parameter["name"])
            if kept:
                usr = symbol["identifier"]["precise"].replace("s:", "$s", 1)
                result[usr] = (".".join(symbol["pathComponents"]), declaration)
        return sorted(((name, *result[usr]) for usr, name in zip(result, plain(*result))), key=lambda one: one[1:])

    def without_probe(self, required):
        """Public functions that no probe calls, and lines of keeps-nothing.txt that are not needed."""
        called, probe = set(), False
        for line in open(os.path.join(self.folder, "probes.silgen")):
            if line.startswith("sil "):
                probe = bool(PROBE.search(line))
            elif probe and "@$s" in line:
                called.update(re.findall(r"@(\$s\S+)", line))
        called = set(plain(*called))
        wrong, table = [], read_table("keeps-nothing.txt")
        used = set()
        for usr, title, declaration in required:
            matching = [index for index, (pattern, _) in enumerate(table)
                        if re.search(pattern, f"{title} {declaration}")]
            used.update(matching)
            if usr not in called and not matching:
                wrong.append(f"{title}: no probe calls it; write one in Tests/Lifetimes/calls.txt, or say in "
                             f"keeps-nothing.txt why it keeps nothing\n        {declaration}")
        wrong += [f"keeps-nothing.txt: {table[index][0]}: there is no such function"
                  for index in range(len(table)) if index not in used]
        return wrong

    # ------------------------------------------------------------ casts

    def casts(self):
        """Casts that may make a reference of what the optimizer takes for a number, and that nobody has explained."""
        allowed, wrong, seen = read_table("casts.txt"), [], set()
        hides = re.compile(r"unsafeBitCast\(|Unmanaged<AnyObject>\.fromOpaque|Pointer(<[\w.]+>)?\(bitPattern:")
        for path in sorted(glob.glob(os.path.join(self.library, SOURCES, "**/*.swift"), recursive=True)):
            short = os.path.relpath(path, os.path.join(self.library, SOURCES))
            for number, line in enumerate(open(path), 1):
                code = line.split("//")[0].strip()
                if not hides.search(code):
                    continue
                matching = [index for index, (text, _) in enumerate(allowed) if text in f"{short}: {code}"]
                seen.update(matching)
                if not matching:
                    wrong.append(f"{SOURCES}/{short}:{number}: the optimizer may lose a reference here; keep it in a "
                                 f"property of its type, or say in casts.txt why it is none\n        {code}")
        wrong += [f"casts.txt: {allowed[index][0]}: there is no such cast"
                  for index in range(len(allowed)) if index not in seen]
        return wrong


def target():
    return json.loads(subprocess.run(["swiftc", "-print-target-info"], capture_output=True, text=True,
                                     check=True).stdout)["target"]["triple"]


demangled = {}


def plain(*mangled):
    """What the names say, without what differs between those of the symbol graph and those of the linker: a module that
    the concurrency library's types come from, and a class's initializer, which has one for those who allocate.
    """
    missing = [name for name in mangled if name not in demangled]
    if missing:
        output = subprocess.run(["swift-demangle", "--compact"], input="\n".join(missing) + "\n", check=True,
                                capture_output=True, text=True).stdout.splitlines()
        for name, text in zip(missing, output, strict=True):
            demangled[name] = text.replace("_Concurrency.", "Swift.").replace(".__allocating_init", ".init")
    return [demangled[name] for name in mangled]


def may_keep(type_text, generic, aliases):
    words = set(re.findall(r"\w+", type_text))
    if "->" in type_text:
        # What the closure is called with may be escaping too.
        own = type_text[:type_text.index("(")]
        return "@escaping" in own or bool(re.search(r"\)\?\s*(=|$)", type_text))
    return bool(words & set(generic) or words & aliases or words & set(CLASSES) or "any" in words)


def kept_closures(signature):
    """The numbers of the arguments that are escaping closures."""
    begin = signature.index("(", signature.index("@convention(") + 12)
    depth, parts, current = 0, [], ""
    text = signature[signature.index(" : ") + 3:]
    text = text[re.match(r"\$@convention\([^)]*(\([^)]*\))?[^)]*\)( @async| @Sendable)*( <.*?>)? ?", text).end():]
    for letter, following in zip(text, text[1:] + " "):
        if letter in "(<":
            depth += 1
        if letter in ")>" and not (letter == ">" and current.endswith("-")):
            depth -= 1
            if depth == 0:
                break
        if letter == "," and depth == 1:
            parts.append(current)
            current = ""
        else:
            current += letter
    parts.append(current)
    results = len(re.findall(r"@out", text[len(",".join(parts)):]))
    return {index + results for index, part in enumerate(parts)
            if "@callee_guaranteed" in part.split(" for <")[0] and "@noescape" not in part}


def lines_of(name):
    return tables.lines_of(os.path.join(HERE, name))


def read_table(name):
    return [tuple(line.split(" ~ ", 1)) for _, line in lines_of(name)]
