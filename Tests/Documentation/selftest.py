"""Plants a fault of each kind that documents.py and manual.py promise to find, and fails if one is not reported.

scripts/test runs it from the root of the repository. The faults of documents stand in a copy of the repository, most of
them in a document of their own; those of headers in headers of their own.
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
from headers import read_headers

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
    ("The mutants `slow leaver stores relaxed` and\n  `no such mutant`", "there is no mutant 'no such mutant'"),
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
ORDERS = "docs/who-goes-next.md"
# A file of the copy, what is replaced in it, by what, and what must be said; where nothing is replaced, it is appended.
REPLACED = [
    ("docs/verification.md", r"\w+( clients,\s+half a page)", r"7\1", "7 stands here, and there are "),
    ("docs/verification.md", r"runs(\s+must pass)", r"runs do\1", "no number stands at: (\\w+) runs must pass"),
    ("README.md", r"\w+( mutants,\s+each of which)", r"7\1", "README.md:LINE: error: 7 stands here, and there are "),
    ("Tests/README.md", r"\w+( more\s+sizes)", r"seven\1", "seven stands here, and there are "),
    ("docs/verification.md", r"\d+( newest\s+messages)", r"25\1", "25 stands here, and there are 24"),
    ("ARCHITECTURE.md", r"folders( of `src`)", r"eleven folders\1", "eleven is neither written nor checked"),
    ("ARCHITECTURE.md", r"(# Architecture)", r"\1 of 17 parts", "17 is neither written nor checked by a script"),
    ("docs/design/gate.md", r"(bit 6  )LOOKS", r"\1OTHERS", "the table is not its source's"),
    ("docs/design/probes.md", r"(table of base/)hooks", r"\1hookss", "0 sources are called base/hookss.h"),
    ("docs/design/fork.md", r"(queue_lock.h: bits 0-1)   0 free", r"\1 free", "0 lines of wait/queue_lock.h begin"),
    (ORDERS, r"`cond\.c`: `move_first`", "`cond.c`: `csk_gate_next`", "csk_gate_next is not defined in cond.c"),
    (ORDERS, r"(`TaskQueue\.swift`): `\w+`", r"\1: `refill`", "refill is not defined in TaskQueue.swift"),
    (ORDERS, r"`snapshot\.c`: `\w+`", "its gate", "the row names no function that decides"),
    ("ARCHITECTURE.md", r"`arrivals`", r"those", "arrivals.c of base is not named"),
    ("docs/design/gate.dot", None, "\n", "docs/design/gate.dot:1: error: gate.svg was not made from it"),
    ("docs/planted.dot", None, "graph {}\n", "docs/planted.dot:1: error: planted.svg was not made from it"),
    *((name, None, LONG, f"{name}:LINE: error: 126 columns") for name in (
        "scripts/test", "scripts/planted.py", "Tests/Model/mutex.pml", "Sources/CSyncKernel/man/csk_probes.7",
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


# ---- Headers and their manual pages ---------------------------------------------------------------------------------

HEADER = """/* planted.h: planted. It names csk_no_such_function, csk_planted_..., csk_nothing_... and ENOSUCHERROR.
 *
 *     csk_shown_as_it_is() gives ESHOWN
 */
typedef struct csk_planted { int field; } csk_planted_t;

CSK_API int csk_planted_bare(void);

/* Returns 0. */
CSK_API int csk_planted_said(csk_planted_t *planted);
/* Plants something. */
CSK_API int csk_planted_silent(csk_planted_t *planted);
/* Does the same. */
static inline int csk_planted_inline(void) {
    return 0;
}
/* For the inline functions only: where that ends. */
CSK_API int csk_planted_slow(void);
struct csk_planted_around {
CSK_API int csk_planted_inside(void);
};
"""
OF_HEADER = [
    "planted.h:7: nothing is said of csk_planted_bare", "planted.h:12: what csk_planted_silent returns is not said",
    "planted.h: nothing is said of signal handler", "planted.h: nothing is said of fork",
    "planted.h: 6 functions and variables are there, 5 were understood",
    "planted.h:1: there is no csk_no_such_function", "planted.h:1: there is no csk_nothing_",
    "planted.h:1: there is no error ENOSUCHERROR", "planted.h: there must be one example",
]
# What a page says, and what mandoc must say of it.
PAGE = (".TH CSK_PLANTED 3\n.SH NAME\ncsk_planted \\- planted\n.SH DESCRIPTION\n.PP\nwords\n",
        "skipping paragraph macro")
INCLUDE = "#include <stdio.h>\n"
PROGRAMS = {
    "warns": ("int main(void) {\n    int unused;\n    return 0;\n}", "warns.h:5:9: error: unused variable"),
    "fails": ("int main(void) {\n    return 1;\n}", "fails.h:4: the example: status 1"),
    "speaks": (INCLUDE + 'int main(void) {\n    fputs("oh", stderr);\n}', "speaks.h:4: the example: status 0\noh"),
    "hangs": ("int main(void) {\n    for (;;) {}\n}", "hangs.h:4: the example: did not end within"),
    "passes": (INCLUDE + 'int main(void) {\n    puts("\\\\a");\n}', None),
}


def unnoticed_headers():
    said, seconds = [], check.SECONDS
    manual.fail = said.append
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manual.BUILD = folder / "build"
        (folder / "planted.h").write_text(HEADER)
        header = read_headers(folder)["planted"]
        manual.check_comments(header)
        manual.check_count(header)
        manual.check_names(header, manual.names_of({"planted": header}))
        manual.check_example(header)
        (folder / "csk_planted.3").write_text(PAGE[0])
        manual.lint([folder / "csk_planted.3"])
        for name, (program, _) in PROGRAMS.items():
            lines = "\n".join(f" *     {line}" for line in program.split("\n"))
            (folder / f"{name}.h").write_text(f"/* {name}.h: an example.\n *\n * Example: it {name}.\n{lines}\n */\n")
            check.SECONDS = 0.5 if name == "hangs" else seconds
            manual.check_example(read_headers(folder)[name])
        check.SECONDS = seconds
    yield from unnoticed(OF_HEADER + [PAGE[1]] + [words for _, words in PROGRAMS.values() if words], said)


def main():
    faults = [*unnoticed_documents(), *unnoticed_headers()]
    for fault in faults:
        print(f"Tests/Documentation/selftest.py: error: {fault}")
    count = len(LINES) + len(REPLACED) + len(OF_HEADER) + 1 + len(PROGRAMS)
    print(f"{count} texts planted for documents.py and manual.py, {len(faults)} of them misjudged")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
