"""Makes the manual pages of the C kernel from its public headers: csk_gate.3 from gate.h, and for each function of it a
file that leads there.

    pages.py FOLDER [--without NAME ...]        into FOLDER; no page for the headers that are named

CMakeLists.txt calls it, and Tests/Documentation/manual.py checks headers and pages. What it goes by, beside headers.py:

- The first comment begins with "NAME.h: what it is." The first sentence becomes NAME, the rest DESCRIPTION. A paragraph
  that begins with "A status is" becomes ERRORS; with "fork." or "No function here may", NOTES; with "Example:", and the
  program below it, EXAMPLES; with "Source:" or "Sources:", the end of SEE ALSO.
- A comment describes the declarations right below it, up to the next comment or blank line. "/* ---- Title" begins a
  part of the page. What stands below "For the inline functions", as comment or as title, is left out.
- The members of a struct are shown, unless its comment says that "fields belong to the library".
- In a comment, what stands four columns to the right is shown as it is. Two columns to the right begins an entry of a
  list: a term, two blanks or more, and the text. So do "- " and "1. ".
"""

import re
import sys
import textwrap
from pathlib import Path

from headers import read_headers


def plain(text):
    """As it is, whatever the formatter makes of some signs."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    text = text.replace("^", "\\(ha").replace("~", "\\(ti")
    return re.sub(r"^(?=[.'\\])", r"\\&", text)


class Page:
    def __init__(self, header, known, version):
        self.header, self.known = header, known
        self.title = f"csk_{header.name}"
        text = header.parts[0][1].removeprefix(f"{header.name}.h: ")
        summary, _, rest = text.partition(". ")
        opening = [("text", rest)] * bool(rest) + header.parts[1:]
        functions = [declaration.name for declaration in header.declarations("function")]
        self.links = [name for name in functions if name != self.title]
        self.lines = [f'.TH {self.title.upper()} 3 "" "CSyncKernel {version}" "CSyncKernel"', ".SH NAME",
                      *textwrap.wrap(f"{', '.join([self.title, *self.links])} \\- {plain(summary.rstrip('.'))}", 79)]
        self.synopsis()
        self.sections(opening)

    def words(self, text):
        """A sentence on each line; names of the library in bold, parameters in italics, headers as pages."""
        text = text.replace("\\", "\\e")

        def name(match):
            if match[3]:
                return f"\\fI{match[3]}\\fR"
            if match[2]:
                return f"\\fBcsk_{match[2]}\\fR(3)" if match[2] in self.known else match[0]
            return f"\\fB{match[1]}\\fR"

        text = re.sub(r"\b((?:csk|CSK)_\w+)|(?<![\w/])(\w+)\.h\b|`([^`]*)`", name, text)
        sentences = re.sub(r"(?<=[.:;?])(\)?) +(?=\S)", "\\1\n", text).split("\n")
        lines = [line for sentence in sentences for line in textwrap.wrap(sentence, 79, break_long_words=False,
                                                                          break_on_hyphens=False)]
        return [re.sub(r"^(?=[.'])", r"\\&", line) for line in lines]

    def show(self, parts, first=".PP"):
        for kind, what in parts:
            if kind == "text":
                begins = first and not self.lines[-1].startswith((".SH", ".SS"))
                self.lines += [first] * bool(begins) + self.words(what)
            elif kind == "code":
                self.lines += [".PP" if first == ".PP" else ".IP", ".in +4n", ".nf", *map(plain, what), ".fi", ".in"]
            else:
                self.lines += [".RS"] if first != ".PP" else []
                for term, text in what:
                    self.lines += [".TP 4", "\\(bu" if term == "-" else self.words(term)[0], *self.words(text)]
                self.lines += [".RE"] if first != ".PP" else []
            first = first or ".IP"

    def synopsis(self):
        self.lines += [".SH SYNOPSIS", ".nf", f"\\fB#include <csynckernel/{self.header.name}.h>\\fR", ".PP",
                       "Link with \\fB\\-lcsynckernel \\-pthread\\fR."]
        for title, _, blocks in self.header.groups:
            found = [declaration for block in blocks if not block.hidden
                     for declaration in block.declarations if declaration.kind in ("function", "variable")]
            self.lines += [".PP"] + [f"/* {plain(title)} */"] * bool(title) if found else []
            for declaration in found:
                self.lines += self.prototype(declaration)
        self.lines += [".fi"]

    @staticmethod
    def prototype(declaration):
        if declaration.kind == "variable":
            return [f"\\fB{declaration.text};\\fR"]
        head = declaration.text[:declaration.text.index("(") + 1]
        lines, parameters = [head], declaration.parameters() or ["void"]
        for number, parameter in enumerate(parameters):
            parameter += ", " if number < len(parameters) - 1 else ");"
            if len(lines[-1]) + len(parameter) > 72:
                lines.append("    ")
            lines[-1] += parameter
        return [f"\\fB{line.rstrip()}\\fR" for line in lines]

    def sections(self, opening):
        kinds = {"ERRORS": r"A status is", "NOTES": r"fork\.|No function here may", "EXAMPLES": r"Example:",
                 "SEE ALSO": r"Sources?:"}
        found, current = {name: [] for name in ("DESCRIPTION", *kinds)}, "DESCRIPTION"
        for kind, what in opening:
            if kind == "text":
                current = next((name for name, begin in kinds.items() if re.match(begin, what)), "DESCRIPTION")
            if current == "EXAMPLES" and kind == "text":
                what = what.removeprefix("Example: ")
                what = what[:1].upper() + what[1:]
            found[current].append((kind, what))
        self.section("DESCRIPTION", found["DESCRIPTION"])
        self.describe()
        self.section("ERRORS", [part for kind, what in found["ERRORS"] for part in self.errors(kind, what)])
        self.section("NOTES", found["NOTES"])
        self.section("EXAMPLES", found["EXAMPLES"])
        names = {name: re.findall(r"(?<![\w/])(\w+)\.h\b", header.text) for name, header in self.known.items()}
        others = {"base", *names[self.header.name], *(name for name in names if self.header.name in names[name])}
        others = sorted((others & set(names)) - {self.header.name})
        self.lines += [".SH SEE ALSO", *(f".BR csk_{name} (3)" + "," * (name != others[-1]) for name in others)]
        self.show(found["SEE ALSO"])

    @staticmethod
    def errors(kind, what):
        """A list of what each error says, where the text has that form."""
        pieces = re.split(r"(?<=\. )(E[A-Z]+): ", what) if kind == "text" else []
        if len(pieces) < 3:
            return [(kind, what)]
        return [("text", pieces[0].strip()), ("list", [list(pair) for pair in zip(pieces[1::2], pieces[2::2])])]

    def section(self, name, parts):
        if parts:
            self.lines.append(f".SH {name}")
            self.show(parts)

    def describe(self):
        self.lines.append(".SH FUNCTIONS AND TYPES")
        for title, parts, blocks in self.header.groups:
            blocks = [block for block in blocks if block.declarations and not block.hidden]
            if title and blocks:
                self.lines.append(f'.SS "{plain(title)}"')
                self.show(parts)
            for block in blocks:
                self.block(block)

    def block(self, block):
        """What belongs to the library shows no members. Others' follow each declaration that has some."""
        hidden, said = "fields belong to the library" in block.words(), False
        declarations = sorted(block.declarations, key=lambda declaration: declaration.kind == "enum")
        for number, declaration in enumerate(declarations):
            members = [] if hidden else declaration.members()
            goes_on = number < len(declarations) - 1 and not members
            self.lines += [".TP" if number == 0 or ended else ".TQ", self.tag(declaration)]
            self.lines += self.words(declaration.said())
            if not goes_on and not said:
                self.show(block.parts, "")
                said = True
            if not goes_on and self.lines[-1].startswith("\\fB"):
                self.lines.append("\\&")
            self.members(members)
            ended = bool(members)

    @staticmethod
    def tag(declaration):
        if declaration.kind == "function":
            names = ", ".join(f"\\fI{name}\\fR" for name in declaration.names())
            return f"\\fB{declaration.name}\\fR({names})"
        if declaration.kind == "constant":
            return "\\fB" + plain(re.sub(r"^#define |^static const \w+ | *\\\n.*|/\*.*", "", declaration.source,
                                         flags=re.S).strip().rstrip(";")) + "\\fR"
        if declaration.kind == "enum":
            return "\\fBenum\\fR"
        return f"\\fB{declaration.text if '(*' in declaration.text else declaration.name}\\fR"

    def members(self, members):
        self.lines += [".RS"] * bool(members)
        for text, said in members:
            self.lines += [".TP 4", f"\\fB{plain(text)}\\fR", *(self.words(said) if said else ["\\&"])]
        self.lines += [".RE"] * bool(members)


def version_of(headers):
    return ".".join(re.findall(r"^#define CSK_VERSION_\w+ (\d+)$", headers["base"].text, re.M))


def write_pages(folder, without=()):
    headers = read_headers()
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob("*.3"):
        stale.unlink()
    for header in headers.values():
        if header.name not in without:
            page = Page(header, headers, version_of(headers))
            (folder / f"{page.title}.3").write_text("\n".join(page.lines) + "\n")
            for name in page.links:
                (folder / f"{name}.3").write_text(f".so man3/{page.title}.3\n")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-") or sys.argv[2:3] not in ([], ["--without"]):
        sys.exit(__doc__)
    write_pages(Path(sys.argv[1]), sys.argv[3:])
