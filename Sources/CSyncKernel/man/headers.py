"""Reads the public headers of the C kernel, for pages.py, which says how they are written."""

import re
from pathlib import Path

HEADERS = Path(__file__).resolve().parent.parent / "include/csynckernel"
INTERNAL = "For the inline functions"
# What belongs to no page: how headers are written, and what compilers want.
MACHINERY = re.compile(r"CSK_(\w+_H|BEGIN_DECLS|END_DECLS|STATIC_ASSERT|API|MUST_USE|SHOULD_USE|LIKELY|UNLIKELY"
                       r"|HAS_BUILTIN|THREAD_POINTER|SECTION_ENDS)$")
FORWARD = re.compile(r"CSK_(?:BEGIN|END)_DECLS|CSK_STATIC_ASSERT|struct \w+;|typedef struct (\w+) \1_t;")
ATTRIBUTES = re.compile(r"\b(CSK_API|CSK_MUST_USE|CSK_SHOULD_USE|static|inline|extern)\b"
                        r"|__attribute__\s*\(\(.*?\)\)(?=\s|;|$)")


# ---- Comments -------------------------------------------------------------------------------------------------------

def lines_of_comment(comment):
    """The lines without what makes them a comment."""
    lines = re.sub(r"\s*\*/$", "", comment).split("\n")
    return [re.sub(r"^/\* ?", "", lines[0])] + [re.sub(r"^\s*\* ?", "", line) for line in lines[1:]]


def parts_of(lines):
    """What the lines say, as ("text", words), ("code", lines) and ("list", [[term, words], ...])."""
    parts, goes_on = [], False
    for line in lines:
        kind = parts[-1][0] if parts else None
        entry = re.match(r"^  ? ?(\S.*?)  +(\S.*)$", line) or re.match(r"^(-|\d\.) (.*)$", line)
        if not line.strip():
            goes_on = False
            if kind == "code":
                parts[-1][1].append("")
        elif kind == "list" and goes_on and re.match(r"^  ", line) and not (entry and len(line[:4].strip()) > 1):
            parts[-1][1][-1][1] += " " + line.strip()
        elif entry and not line.startswith("    "):
            if kind != "list":
                parts.append(("list", []))
            parts[-1][1].append([entry[1], entry[2]])
            goes_on = True
        elif line.startswith("    "):
            if kind != "code":
                parts.append(("code", []))
            parts[-1][1].append(line[4:])
        elif kind == "text" and goes_on:
            parts[-1] = ("text", parts[-1][1] + " " + line.strip())
        else:
            parts.append(("text", line.strip()))
            goes_on = True
    for kind, what in parts:
        while kind == "code" and not what[-1]:
            what.pop()
    return parts


def words_of(parts):
    """All that is said, but what is shown as it is."""
    return " ".join(what if kind == "text" else " ".join(word for entry in what for word in entry)
                    for kind, what in parts if kind != "code")


# ---- Declarations ---------------------------------------------------------------------------------------------------

class Declaration:
    """A function, variable, type or constant; `line` is where it stands."""

    def __init__(self, text, line):
        self.line, self.source = line, text
        bare = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        head = bare if "{" not in bare or re.match(r"(typedef|struct|enum)\b", bare) else bare[:bare.index("{")]
        self.text = " ".join(ATTRIBUTES.sub(" ", head).split()).rstrip("; ").replace("( ", "(")
        self.kind, self.name = self.classify(bare)

    def classify(self, bare):
        if match := re.match(r"#define (CSK_\w+)", bare):
            return "constant", match[1]
        if match := re.match(r"static const \w+ (CSK_\w+)", bare):
            return "constant", match[1]
        if match := re.match(r"typedef .*?\(\*(csk_\w+)\)", bare, re.S):
            return "type", match[1]
        if re.match(r"(typedef|struct)\b", bare):
            match = re.search(r"(\w+);\s*$", bare) if bare.startswith("typedef") else None
            return "type", match[1] if match else re.match(r"struct \w+", bare)[0]
        if bare.startswith("enum"):
            return "enum", re.search(r"\bCSK_\w+", bare)[0]
        if "(" in self.text:
            return "function", re.search(r"(\w+)\s*\(", self.text)[1]
        return "variable", re.search(r"(\w+)$", self.text)[1]

    def parameters(self):
        inner, depth, found = self.text[self.text.index("(") + 1:-1], 0, [""]
        for sign in inner:
            depth += (sign == "(") - (sign == ")")
            if sign == "," and depth == 0:
                found.append("")
            else:
                found[-1] += sign
        return [text.strip() for text in found if text.strip() not in ("", "void")]

    def names(self):
        """The names of its parameters."""
        return [(re.search(r"\(\*(\w+)\)", text) or re.search(r"(\w+)(?:\[\w*\])?$", text))[1]
                for text in self.parameters()]

    def said(self):
        """The comment behind a constant."""
        match = re.search(r"/\* (.*?) \*/", self.source, re.S) if self.kind == "constant" else None
        return " ".join(match[1].split()) if match else ""

    def members(self):
        """Of a struct or an enum, [[text, what is said of it], ...]; an own comment stands for all up to a blank."""
        if "{" not in self.source or self.kind not in ("type", "enum"):
            return []
        body = self.source[self.source.index("{") + 1:self.source.rindex("}")]
        end, found, above = ";" if self.kind == "type" else ",", [], ""
        for piece in re.finditer(rf"\s*(?:/\*(.*?)\*/|([^{end}/]+?)\s*(?:{end}|(?=/\*)|$))", body, re.S):
            said = " ".join(" ".join(lines_of_comment("/*" + (piece[1] or "") + "*/")).split())
            if piece[2] and piece[2].strip():
                found.append([" ".join(piece[2].split()), above])
                above = ""
            elif said and found and "\n" not in piece[0].split("/*")[0]:
                found[-1][1] = f"{found[-1][1]} {said}".strip()
            elif said:
                above = said
        return found


# ---- Headers --------------------------------------------------------------------------------------------------------

class Block:
    """Declarations, and what the comment above them says."""

    def __init__(self, parts, line, hidden=False):
        self.parts, self.line, self.declarations = parts, line, []
        self.hidden = hidden or bool(parts) and parts[0][0] == "text" and parts[0][1].startswith(INTERNAL)

    def words(self):
        return words_of(self.parts)


class Header:
    """`parts`: the first comment; `groups`: [(title, its text, blocks), ...], the first one without a title."""

    def __init__(self, path):
        self.path, self.name, self.text = path, path.stem, path.read_text()
        self.groups, self.parts, self.block = [("", [], [])], None, None
        self.lines, self.at = self.text.split("\n"), 0
        while self.at < len(self.lines):
            self.read_next()
        self.blocks = [block for _, _, blocks in self.groups for block in blocks if block.declarations]

    def read_next(self):
        line, number = self.lines[self.at], self.at + 1
        if line.startswith("/*"):
            self.take_comment(self.take(lambda text: text.endswith("*/")), number)
        elif not line.strip() or line.startswith("#include"):
            self.block = None
            self.at += 1
        elif line.startswith("#"):
            text = self.take(lambda text: not text.endswith("\\") and text.count("/*") == text.count("*/"))
            match = re.match(r"#define (CSK_\w+)", text)
            if match and not MACHINERY.match(match[1]) and not self.find(match[1]):
                self.declare(Declaration(text, number))
        else:
            text = self.take(self.is_whole)
            if not FORWARD.match(text):
                self.declare(Declaration(text, number))

    def take(self, is_whole):
        begin = self.at
        while True:
            self.at += 1
            text = "\n".join(self.lines[begin:self.at])
            if is_whole(text):
                return text

    @staticmethod
    def is_whole(text):
        bare = re.sub(r"/\*.*?\*/", "", text, flags=re.S).rstrip()
        return bare.count("{") == bare.count("}") and bare[-1:] in (";", "}", "S")

    def take_comment(self, comment, number):
        lines = lines_of_comment(comment)
        if self.parts is None:
            self.parts = parts_of(lines)
            return
        hidden = self.groups[-1][0].startswith(INTERNAL)
        if title := re.match(r"^---- (.*?) -+$", lines[0]):
            parts, hidden = parts_of(lines[1:]), title[1].startswith(INTERNAL)
            above = self.lines[self.at].strip() == ""
            self.groups.append((title[1], parts if above else parts[:-1], []))
            lines = [] if above else lines
            self.block = None if above else Block(parts[-1:], number, hidden)
        else:
            self.block = Block(parts_of(lines), number, hidden)
        if self.block:
            self.groups[-1][2].append(self.block)

    def declare(self, declaration):
        if self.block is None:
            self.block = Block([], declaration.line, self.groups[-1][0].startswith(INTERNAL))
            self.groups[-1][2].append(self.block)
        tag = declaration.name.removeprefix("struct ")
        if f"typedef struct {tag} {tag}_t;" in self.text:
            declaration.name = f"{tag}_t"
        self.block.declarations.append(declaration)

    def find(self, name):
        return any(declaration.name == name for _, _, blocks in self.groups for block in blocks
                   for declaration in block.declarations)

    def declarations(self, *kinds, hidden=False):
        return [declaration for block in self.blocks if hidden or not block.hidden
                for declaration in block.declarations if declaration.kind in kinds]

    def example(self):
        """The program, and the number of the line before its first."""
        words = [words for kind, words in self.parts if kind == "text" and words.startswith("Example:")]
        if len(words) != 1:
            return None, 0
        place = self.parts.index(("text", words[0]))
        program = self.parts[place + 1][1]
        return "\n".join(program) + "\n", self.lines.index(f" *     {program[0]}")


def read_headers(folder=HEADERS):
    return {path.stem: Header(path) for path in sorted(folder.glob("*.h")) if path.stem != "csynckernel"}
