"""Plants a fault of each kind that documents.py and manual.py promise to find, and fails if one is not reported.

scripts/test runs it from the root of the repository. The faults of documents stand in a copy of the repository, most of
them in a document of their own; those of manual pages in pages and a header of their own.
"""


import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import check
import manual

LONG = "words " * 21
# A line or some of docs/planted.md, and what must be said of the first; None where nothing may be said.
LINES = [
    ("[a](nothing.md)", "the link leads nowhere: nothing.md"),
    ("[a](limits.md#no-such-heading)", "limits.md has no heading #no-such-heading"),
    ("[a](#no-such-heading)", "planted.md has no heading #no-such-heading"),
    ("![a](nothing.svg)", "the link leads nowhere: nothing.svg"),
    ('<img src="nothing.png">', "the link leads nowhere: nothing.png"),
    ('<a href="nothing/">a</a>', "the link leads nowhere: nothing/"),
    ("[a]: nothing.txt", "the link leads nowhere: nothing.txt"),
    ("<doc:NoSuchArticle>", "there is no article NoSuchArticle"),
    ("`csk_no_such_function()`", "'csk_no_such_function()' is not in the sources"),
    ("`csk_gate_t.no_such_field`", "'csk_gate_t.no_such_field' is not in the sources"),
    ("`no_such_file.c`", "'no_such_file.c' is not in the sources"),
    ("`src/lock/no_such_file.c`", "'src/lock/no_such_file.c' is not in the sources"),
    ("| `csk_no_such_cell` |", "'csk_no_such_cell' is not in the sources"),
    ("- an item,\n  `csk_no_such_item`", "'csk_no_such_item' is not in the sources"),
    ("`gate.c`: `csk_gate_init`, `csk_heap_insert`", "csk_heap_insert is not defined in gate.c"),
    ("The client `no_such_client` shows it.", "there is no client 'no_such_client'"),
    ("The mutants `an ordered mutex is entered inline` and\n  `no such mutant`", "there is no mutant 'no such mutant'"),
    ("Swift mutant `no such promise`", "there is no Swift mutant 'no such promise'"),
    ("model `no_such_model.pml`", "there is no model 'no_such_model.pml'"),
    ("variant `NOSUCHVARIANT`", "there is no variant 'NOSUCHVARIANT'"),
    ("tests `an_unknown_policy_is_refused`,\n`no_such_test`", "there is no test 'no_such_test'"),
    ("test `waitUntil`", "there is no test 'waitUntil'"),
    (LONG, "126 columns"),
    ("`csk_no_such_call(gate, 0)`", "'csk_no_such_call(gate, 0)' is not in the sources"),
    ("[a](limits.md), [b](#planted), [c](https://example.org/nothing), `csk_gate_init`", None),
    ("`csk_gate_init(gate, NULL)`, `gate.c`: `csk_gate_init`", None),
    (f"| {LONG} |", None),
    (f"```text\n{LONG}\n```", None),
]
# A file of the copy, what is replaced in it, by what, and what must be said; where nothing is replaced, it is appended.
REPLACED = [
    ("docs/verification.md", r"\w+( clients,\s+half a page)", r"7\1", "7 stands here, and there are "),
    ("docs/verification.md", r"runs(\s+must pass)", r"runs do\1", "no number stands at: (\\w+) runs must pass"),
    ("README.md", r"\w+( mutants,\s+each of which)", r"7\1", "README.md:LINE: error: 7 stands here, and there are "),
    ("Tests/README.md", r"\w+( more\s+sizes)", r"seven\1", "seven stands here, and there are "),
    ("docs/design/gate.dot", None, "\n", "docs/design/gate.dot:1: error: gate.svg was not made from it"),
    ("docs/planted.dot", None, "graph {}\n", "docs/planted.dot:1: error: planted.svg was not made from it"),
    *((name, None, LONG, f"{name}:LINE: error: 126 columns") for name in (
        "scripts/test", "scripts/planted.py", "Tests/Model/mutex.pml", "Sources/CSyncKernel/man/csk_gate.3",
        ".github/workflows/ci.yml", "Sources/CSyncKernel/CMakeLists.txt")),
]


def plant_documents(root):
    """What must be said of the copy, and what must not."""
    wanted, text = [], "# Planted\n\n"
    for line, words in LINES:
        place = f"docs/planted.md:{text.count(chr(10)) + 1}: error: "
        wanted += [place + words] if words else []
        text += f"{line}\n\n"
    (root / "docs/planted.md").write_text(text)
    for name, old, new, words in REPLACED:
        path = root / name
        before = path.read_text() if path.exists() else ""
        after, line = before + new, before.count("\n") + 1
        if old:
            after, line = re.sub(old, new, before), before[:re.search(old, before).start()].count("\n") + 1
        path.write_text(after)
        wanted.append(words.replace("LINE", str(line)))
    return wanted


def unnoticed_documents():
    with tempfile.TemporaryDirectory() as folder:
        listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], check=True, capture_output=True)
        for name in filter(os.path.lexists, listed.stdout.decode().split("\0")):
            os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
            shutil.copy(name, f"{folder}/{name}", follow_symlinks=False)
        wanted = plant_documents(Path(folder))
        done = subprocess.run([sys.executable, f"{folder}/Tests/Documentation/documents.py"], capture_output=True,
                              text=True)
    yield from unnoticed(wanted, [line for line in done.stdout.split("\n") if "error:" in line])
    if done.returncode != 1:
        yield f"documents.py ends with {done.returncode}: {done.stderr}"


def unnoticed(wanted, said):
    """What should have been said, and what should not: a fault of the copy that nobody planted."""
    yield from (f"nothing is said of it: {words}" for words in wanted if not any(words in line for line in said))
    yield from (f"this is said: {line}" for line in said if not any(words in line for words in wanted))


# ---- Manual pages -------------------------------------------------------------------------------------------------

HEADER = """/* EBUSY: it is not on the page. */
typedef struct csk_planted { int field; } csk_planted_t;
typedef int (*csk_unnamed_t)(void);
enum { CSK_UNNAMED = 1 };
#define CSK_UNNAMED_EITHER 2
CSK_API int csk_planted_same(csk_planted_t *it, int value);
CSK_API int csk_planted_other(int value);
CSK_API int csk_planted_absent(void);
CSK_API extern int csk_planted_variable;
static inline int csk_planted_inline(void) {
    return 0;
}
"""
PAGE = """.Dd January 1, 2026
.Dt CSK_PLANTED 3
.Os
.Sh NAME
.Nm csk_planted_same ,
.Nm csk_planted ,
.Nm csk_planted_stray
.Nd planted
.Sh SYNOPSIS
.Ft int
.Fn csk_planted_same "csk_planted_t *it" "int value"
.Ft int
.Fn csk_planted_other "long value"
.Ft int
.Fn csk_planted_other "long value"
.Ft int
.Fn csk_planted_extra "int value"
.Vt long csk_planted_variable ;
.Ss For the inline functions
.Ft int
.Fn csk_planted_inline void
.Sh DESCRIPTION
.Fn csk_no_such_function
.Sh ERRORS
.Bl -tag -width Er
.It
.Er ENOSUCHERROR
.El
.Sh SEE ALSO
.Xr csk_no_such_page 3
"""
OF_PAGE = [
    "unplanted has a header or a page and lacks the other", "unheaded has a header or a page and lacks the other",
    "the sections are ['NAME', 'SYNOPSIS', 'DESCRIPTION', 'ERRORS', 'SEE ALSO']",
    "the SYNOPSIS does not include the header", "csk_planted_extra is not in the header",
    "csk_planted_absent is missing in the SYNOPSIS",
    "csk_planted_other is\n    int csk_planted_other ( int value )\nin the header and not\n",
    "csk_planted_variable is\n    int csk_planted_variable\nin the header and not\n",
    "csk_planted_other stands twice in the SYNOPSIS",
    *(f"{name} is in one of NAME and SYNOPSIS and not in the other" for name in (
        "csk_planted_stray", "csk_planted_other", "csk_planted_extra", "csk_planted_variable")),
    "the names are ['csk_planted_same', 'csk_planted', 'csk_planted_stray']",
    "the type csk_unnamed_t of the header is not on the page",
    "the constant CSK_UNNAMED of the header is not on the page",
    "the constant CSK_UNNAMED_EITHER of the header is not on the page",
    "the error EBUSY of the header is not on the page", "there is no csk_no_such_function",
    *(f"there is no {name}" for name in ("csk_planted_stray", "csk_planted_extra", "csk_no_such_page")),
    "there is no error ENOSUCHERROR", "there is no page csk_no_such_page", "empty head in list item",
]
INCLUDE = "#include <stdio.h>\n"
PROGRAMS = {
    "warns": ("int main(void) {\n    int unused;\n    return 0;\n}", "csk_warns.3:4:9: error: unused variable"),
    "fails": ("int main(void) {\n    return 1;\n}", "csk_fails.3:3: the example: status 1"),
    "speaks": (INCLUDE + 'int main(void) {\n    fputs("oh", stderr);\n}', "csk_speaks.3:3: the example: status 0\noh"),
    "hangs": ("int main(void) {\n    for (;;) {}\n}", "csk_hangs.3:3: the example: did not end within"),
    "escapes": ("int main(void) {\n    /* \\n */\n}", "csk_escapes.3:4: only \\e and \\& at the beginning"),
    "passes": (INCLUDE + 'int main(void) {\n    puts("\\ea");\n}', None),
}


def unnoticed_pages():
    said, seconds = [], check.SECONDS
    manual.fail = said.append
    with tempfile.TemporaryDirectory() as name:
        folder = manual.PAGES = manual.HEADERS = Path(name)
        manual.BUILD = folder / "build"
        for file, text in (("csk_planted.3", PAGE), ("csk_unheaded.3", ""), ("planted.h", HEADER), ("unplanted.h", "")):
            (folder / file).write_text(text)
        pages = [manual.Page(path) for path in sorted(folder.glob("*.3"))]
        manual.compare_all(pages, {path.stem: manual.Header(path) for path in folder.glob("*.h")})
        manual.lint(pages[:1])
        for name, (program, _) in PROGRAMS.items():
            path = folder / f"csk_{name}.3"
            path.write_text(f".Sh EXAMPLES\n.Bd -literal\n{program}\n.Ed\n")
            check.SECONDS = 0.5 if name == "hangs" else seconds
            manual.check_example(manual.Page(path))
    yield from unnoticed(OF_PAGE + [words for _, words in PROGRAMS.values() if words], said)


def main():
    faults = [*unnoticed_documents(), *unnoticed_pages()]
    for fault in faults:
        print(f"Tests/Documentation/selftest.py: error: {fault}")
    count = len(LINES) + len(REPLACED) + len(OF_PAGE) + len(PROGRAMS)
    print(f"{count} texts planted for documents.py and manual.py, {len(faults)} of them misjudged")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
