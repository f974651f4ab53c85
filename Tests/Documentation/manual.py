"""Checks the manual pages of the C kernel; scripts/test-docs calls it from the root of the repository.

Each public header has one page, Sources/CSyncKernel/man/csk_NAME.3. This script compares the two:

- The SYNOPSIS declares each function and each variable of the header, and nothing else. Declarations are compared token
  by token. (exported_names_test.cmake compares the headers with what the library exports.)
- The NAME section lists the page itself and each function, but those that stand under "For the inline functions" in the
  SYNOPSIS.
- Each type, constant and error code that the header names is on the page, and each name on the page exists.
- `mandoc -T lint` is silent.
- The program in EXAMPLES compiles without a warning, runs within a few seconds, and ends with 0 and without a word on
  the standard error stream.
"""

import errno
import re
import subprocess
import sys
from pathlib import Path

from check import BUILD, build_kernel, compile_c, run

HEADERS = Path("Sources/CSyncKernel/include/csynckernel")
PAGES = Path("Sources/CSyncKernel/man")
# In the order of mdoc(7).
SECTIONS = ["NAME", "LIBRARY", "SYNOPSIS", "DESCRIPTION", "THREAD SAFETY", "RETURN VALUES", "EXAMPLES", "ERRORS",
            "SEE ALSO"]
INTERNAL = "For the inline functions"
# What the headers define for themselves and for the inline functions.
OWN_CONSTANTS = re.compile(
    r"CSK_(\w+_H|BEGIN_DECLS|END_DECLS|STATIC_ASSERT|API|MUST_USE|LIKELY|UNLIKELY|HAS_BUILTIN|THREAD_POINTER"
    r"|SECTION_ENDS|GATE_READY|GATE_NOBODY|THREAD_UNNUMBERED|RCU_MAP_(FROZEN|MOVED|TAG_SHIFT)"
    r"|WITHOUT_THREAD_POINTER_BUILTIN"
    r"|SEM_(WAITERS|PERMIT)|READS_IN_RECORD|RWLOCK_(TAKEN|READER|BIAS_(OFF|ON|REVOKING)))$")

failures = 0


def fail(text):
    global failures
    failures += 1
    print(f"error: {text}", flush=True)


def tokens(declaration):
    """A declaration without what says how it is linked."""
    declaration = re.sub(r"__attribute__\s*\(\(.*?\)\)(?=\s|;|$)", " ", declaration)
    found = re.findall(r"\w+|[^\s\w]", declaration)
    return [token for token in found if token not in ("CSK_API", "CSK_MUST_USE", "static", "inline", "extern", ";")]


def name_of(declaration):
    found = tokens(declaration)
    return found[found.index("(") - 1] if "(" in found else found[-1]


# ---- Headers --------------------------------------------------------------------------------------------------------

class Header:
    def __init__(self, path):
        text = path.read_text()
        code = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        macros = re.findall(r"^#define (CSK_\w+)", code, re.M)
        code = re.sub(r"^#.*?(?<!\\)$", "", code, flags=re.M | re.S)
        self.declarations, self.constants, self.types = {}, set(macros), set()
        for statement in self.statements(re.sub(r"CSK_(BEGIN|END)_DECLS", "", code)):
            if statement.startswith("CSK_API") or re.match(r"(CSK_MUST_USE )?static inline ", statement):
                self.declarations[name_of(statement)] = tokens(statement)
            elif match := re.match(r"static const \w+ (\w+)", statement):
                self.constants.add(match[1])
        for body in re.findall(r"enum\s*{(.*?)}", code, re.S):
            self.constants.update(re.findall(r"CSK_\w+", body))
        self.constants = {name for name in self.constants if not OWN_CONSTANTS.match(name)}
        self.types.update(re.findall(r"\bcsk_\w+_t\b", code))
        self.tags = set(re.findall(r"struct (csk_\w+)", code))
        self.errors = {word for word in re.findall(r"\bE[A-Z]{3,}\b", text) if word in ERRORS}
        self.own_types = set(re.findall(r"typedef[^;{]*?\(?\*?\b(csk_\w+_t)\)?(?:\([^;]*)?;", code))
        self.own_types |= set(re.findall(r"^} (csk_\w+_t);", code, re.M))

    @staticmethod
    def statements(code):
        """What stands at the outermost level: declarations up to their semicolon, functions up to their body."""
        depth, begin = 0, 0
        for place, sign in enumerate(code):
            if sign == "{":
                if depth == 0 and code[:place].rstrip().endswith(")"):
                    yield " ".join(code[begin:place].split())
                    begin = None
                depth += 1
            elif sign == "}":
                depth -= 1
                if depth == 0 and begin is None:
                    begin = place + 1
            elif sign == ";" and depth == 0 and begin is not None:
                yield " ".join(code[begin:place + 1].split())
                begin = place + 1


ERRORS = set(errno.errorcode.values()) | {"ENOTSUP", "EDEADLK", "EWOULDBLOCK"}


# ---- Pages ----------------------------------------------------------------------------------------------------------

class Page:
    def __init__(self, path):
        self.path, self.text, self.sections, current = path, path.read_text(), {}, []
        for line in self.text.split("\n"):
            if line.startswith(".Sh "):
                current = self.sections.setdefault(line[4:].strip().strip('"'), [])
            current.append(line)
        self.names = [match[1] for line in self.section("NAME") if (match := re.match(r"\.Nm (csk_\w+)( ,)?$", line))]
        self.declarations, self.internal = {}, set()
        self.read_synopsis()

    def section(self, name):
        return self.sections.get(name, [])

    def read_synopsis(self):
        result, name, arguments, internal = "", None, [], False
        for line in self.section("SYNOPSIS"):
            macro, words = line[:3], re.findall(r'"([^"]*)"|(\S+)', line[4:])
            words = [quoted or plain for quoted, plain in words]
            if macro == ".Ft":
                result = " ".join(words)
            elif macro == ".Fo":
                name, arguments = words[0], []
            elif macro == ".Fa":
                arguments += words
            elif macro in (".Fn", ".Fc"):
                if macro == ".Fn":
                    name, arguments = words[0], words[1:]
                self.declare(f"{result} {name}({', '.join(arguments)})", internal)
            elif macro == ".Vt":
                self.declare(" ".join(words), internal)
            elif macro == ".Ss":
                internal = line[4:].strip().strip('"') == INTERNAL

    def declare(self, declaration, internal):
        name = name_of(declaration)
        if name in self.declarations:
            fail(f"{self.path}: {name} stands twice in the SYNOPSIS")
        self.declarations[name] = tokens(declaration)
        if internal:
            self.internal.add(name)

    def example(self):
        """The lines of the displays in EXAMPLES, with the number of the first one."""
        lines, inside, first = [], False, 0
        start = self.text.split("\n").index(".Sh EXAMPLES") + 1
        for number, line in enumerate(self.section("EXAMPLES"), start):
            if line.startswith(".Bd "):
                inside, first = True, first or number + 1
            elif line == ".Ed":
                inside = False
            elif inside:
                line = re.sub(r"^\\&", "", line)
                if re.search(r"\\(?!e)", line):
                    fail(f"{self.path}:{number}: only \\e and \\& at the beginning are understood in an example")
                lines.append(line.replace("\\e", "\\"))
        return "\n".join(lines) + "\n", first

    def words(self):
        """The text without the programs, and without what is invisible in it."""
        sections = [lines for name, lines in self.sections.items() if name != "EXAMPLES"]
        return "\n".join(line for lines in sections for line in lines).replace("\\&", "")


# ---- Comparing ------------------------------------------------------------------------------------------------------

def compare(page, header, known):
    where = page.path
    if list(page.sections) != SECTIONS:
        fail(f"{where}: the sections are {list(page.sections)}")
    if f".In csynckernel/{where.stem.removeprefix('csk_')}.h" not in page.section("SYNOPSIS"):
        fail(f"{where}: the SYNOPSIS does not include the header")
    for name in header.declarations.keys() | page.declarations.keys():
        declared, documented = header.declarations.get(name), page.declarations.get(name)
        if declared is None:
            fail(f"{where}: {name} is not in the header")
        elif documented is None:
            fail(f"{where}: {name} is missing in the SYNOPSIS, and in NAME if it is not there either")
        elif declared != documented:
            fail(f"{where}: {name} is\n    {' '.join(declared)}\nin the header and not\n    {' '.join(documented)}")
    expected = {where.stem} | (page.declarations.keys() - page.internal)
    for name in expected ^ set(page.names):
        fail(f"{where}: {name} is in one of NAME and SYNOPSIS and not in the other")
    if len(page.names) != len(set(page.names)) or page.names[:1] != [where.stem]:
        fail(f"{where}: the names are {page.names}")
    words = page.words()
    for kind, names in ("type", header.own_types), ("constant", header.constants), ("error", header.errors):
        for name in sorted(names):
            if not re.search(rf"\b{name}\b", words):
                fail(f"{where}: the {kind} {name} of the header is not on the page")
    # An item in quotes is text that a function writes.
    for name in sorted(set(re.findall(r"\b(?:csk|CSK)_\w+", re.sub(r"^\.It Ql \w+$", "", words, flags=re.M)))):
        if name not in known and name != where.stem.upper():
            fail(f"{where}: there is no {name}")
    for name in sorted(set(re.findall(r"^\.Er (\w+)", words, re.M))):
        if name not in ERRORS:
            fail(f"{where}: there is no error {name}")
    for name in re.findall(r"^\.Xr (csk_\w+) 3", page.text, re.M):
        if not (PAGES / f"{name}.3").exists():
            fail(f"{where}: there is no page {name}")


def lint(pages):
    """References are compared above: mandoc would look them up among the pages that happen to be installed."""
    done = subprocess.run(["mandoc", "-T", "lint", *(str(page.path) for page in pages)], capture_output=True, text=True)
    for message in done.stdout.split("\n"):
        if message and "referenced manual not found" not in message:
            fail(message.removeprefix("mandoc: "))
    if done.returncode > 2:
        fail(f"mandoc ends with {done.returncode}: {done.stderr}")


def check_example(page, *libraries):
    text, first = page.example()
    program = BUILD / "manual" / page.path.stem
    fault = compile_c(program, f'#line {first} "{page.path}"\n{text}', *libraries) or run([str(program)])
    if fault:
        fail(f"{page.path}:{first}: the example: {fault}")


def compare_all(pages, headers):
    # The macro by which a program knows the form that lacks three of the modules.
    known = {f"csk_{name}" for name in headers} | {"CSK_WITHOUT_RCU", "CSK_LOCK_ORDER"}
    for header in headers.values():
        known |= header.declarations.keys() | header.constants | header.types | header.tags
    for name in headers.keys() ^ {page.path.stem.removeprefix("csk_") for page in pages}:
        fail(f"{name} has a header or a page and lacks the other")
    for page in pages:
        if header := headers.get(page.path.stem.removeprefix("csk_")):
            compare(page, header, known)


def main():
    pages = [Page(path) for path in sorted(PAGES.glob("*.3"))]
    compare_all(pages, {path.stem: Header(path) for path in sorted(HEADERS.glob("*.h")) if path.stem != "csynckernel"})
    lint(pages)
    kernel = build_kernel()
    for page in pages if kernel else []:
        check_example(page, kernel)
    count = sum(len(page.declarations) for page in pages)
    if failures or not kernel or not pages:
        print(f"the manual pages: {failures} failures")
        return 1
    print(f"all {len(pages)} manual pages passed: {count} functions and variables, {len(pages)} programs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
