"""The public functions of the library, and which of them a file of functions calls."""
import glob, json, os, re, subprocess, sys

from compiler import HERE, lines_of

sys.path.append(os.path.join(os.path.dirname(HERE), "Lifetimes"))
from check import plain, target  # noqa: E402

KINDS = ("func", "method", "init", "subscript")


class Function:
    def __init__(self, symbol, aliases):
        self.title = ".".join(symbol["pathComponents"])
        self.declaration = re.sub(r"\s+", " ", text_of(symbol["declarationFragments"]))
        self.mangled = symbol["identifier"]["precise"].replace("s:", "$s", 1).split("::SYNTHESIZED")[0]
        parameters = symbol.get("functionSignature", {}).get("parameters", [])
        self.closures = []
        for parameter in parameters:
            kind = text_of(parameter["declarationFragments"]).split(":", 1)[-1]
            if "->" in kind or set(re.findall(r"\w+", kind)) & aliases:
                self.closures.append(kind)

    @property
    def lets_a_closure_out(self):
        """Whether a closure may run elsewhere, or after the call. Those that it is called with don't count."""
        return any("->" not in kind or re.search(r"@escaping|@Sendable|sending", kind[:kind.index("(")]) or
                   re.search(r"\)\?\s*(=|$)", kind) for kind in self.closures)

    def __str__(self):
        return f"{self.title}\n        {self.declaration}"


def text_of(fragments):
    return "".join(part["spelling"] for part in fragments)


def functions(compiler):
    """All public functions, initializers and subscripts that the library itself declares."""
    subprocess.run(["swift-symbolgraph-extract", "-module-name", "SwiftSync", *compiler.flags()[:-2], "-target",
                    target(), "-minimum-access-level", "public", "-skip-synthesized-members", "-output-dir",
                    compiler.folder], check=True, capture_output=True)
    symbols = [symbol for path in glob.glob(os.path.join(compiler.folder, "SwiftSync*.symbols.json"))
               for symbol in json.load(open(path))["symbols"]]
    aliases = {symbol["pathComponents"][-1] for symbol in symbols if symbol["kind"]["identifier"] == "swift.typealias"
               and "->" in text_of(symbol["declarationFragments"])}
    found = {}
    for symbol in symbols:
        if symbol["kind"]["identifier"].split(".")[-1] in KINDS:
            one = Function(symbol, aliases)
            found[one.mangled] = one
    for one, name in zip(found.values(), plain(*found)):
        one.name = name
    return sorted(found.values(), key=lambda one: (one.title, one.declaration))


def called(*paths):
    """The names of what the functions of these files call, and "Class.method" where a class of the library is asked."""
    names, methods = set(), set()
    for path in paths:
        text = open(path).read()
        names.update(re.findall(r"@(\$s[\w$]+)", text))
        methods.update(re.findall(r"_method %\d+, #(\w+\.\w+)\s", text))
    return set(plain(*names)) | methods


def missing(functions, paths, table):
    """Functions that nobody calls and that `table` does not explain, and lines of the table that explain none."""
    names, lines, used, wrong = called(*paths), [line.split(" ~ ", 1) for _, line in lines_of(table)], set(), []
    for one in functions:
        fitting = [at for at, (pattern, _) in enumerate(lines) if re.search(pattern, f"{one.title} {one.declaration}")]
        used.update(fitting)
        is_called = {one.name, one.name + ".getter", one.title.split("(")[0]} & names
        if not is_called and not fitting:
            wrong.append(f"nobody calls {one}")
    return wrong + [f"{table}: {pattern}: there is no such function, or a snippet calls it"
                    for at, (pattern, _) in enumerate(lines) if at not in used]
