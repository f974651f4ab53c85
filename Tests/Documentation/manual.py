"""Checks the public headers of the C kernel, and the manual pages that Sources/CSyncKernel/man/pages.py makes of them.
scripts/test-docs calls it from the root of the repository.

- Each function, and each variable, has a comment above it; one whose result is an int says what it returns.
- Each header says what holds in a signal handler and in a child of fork.
- Each name and each error that a comment has exists.
- No function is missing on the pages, counted by the lines that look like one. (exported_names_test.cmake compares the
  headers with what the library exports.)
- `mandoc -T lint` is silent about the pages, and about csk_probes.7, which is kept by hand.
- Each header has one example, a program. It compiles without a warning, runs within a few seconds, and ends with 0 and
  without a word on the standard error stream.
"""

import errno
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from check import BUILD, build_kernel, compile_c, run

HEADERS = Path("Sources/CSyncKernel/include/csynckernel")
MAN = Path("Sources/CSyncKernel/man")
sys.path.insert(0, str(MAN))
import pages  # noqa: E402
from headers import lines_of_comment, parts_of, read_headers, words_of  # noqa: E402

ERRORS = set(errno.errorcode.values()) | {"ENOTSUP", "EDEADLK", "EWOULDBLOCK"}
# Macros of builds, and a variable of the environment.
OF_BUILDS = {"CSK_LOCK_ORDER", "CSK_DEADLOCK"}
# How a comment says what a function returns: itself, or by naming one that does.
RESULT = re.compile(r"\breturns?\b|\bafter 0\b|\bE[A-Z]{3,}\b"
                    r"|\b(does|do) (the same|so|what)\b|\bthe same\b|\bas csk_", re.I)

failures = 0


def fail(text):
    global failures
    failures += 1
    print(f"error: {text}", flush=True)


# ---- What the headers say -------------------------------------------------------------------------------------------

def check_comments(header):
    for _, parts, blocks in header.groups:
        for block in blocks:
            said = block.words()
            for declaration in [] if block.hidden else block.declarations:
                where = f"{header.path}:{declaration.line}"
                if declaration.kind in ("function", "variable") and not said:
                    fail(f"{where}: nothing is said of {declaration.name}")
                elif declaration.text.startswith("int ") and not RESULT.search(f"{words_of(parts)} {said}"):
                    fail(f"{where}: what {declaration.name} returns is not said")
    for words in "signal handler", "fork":
        if words not in " ".join(header.text.replace("\n *", " ").split()):
            fail(f"{header.path}: nothing is said of {words}")


def check_count(header):
    looks = len(re.findall(r"^(?:CSK_API|(?:CSK_(?:MUST|SHOULD)_USE )?static inline) ", header.text, re.M))
    found = len(header.declarations("function", "variable", hidden=True))
    if looks != found:
        fail(f"{header.path}: {looks} functions and variables are there, {found} were understood")


def names_of(headers):
    names = set(OF_BUILDS)
    for header in headers.values():
        code = re.sub(r"/\*.*?\*/", " ", header.text, flags=re.S)
        names |= set(re.findall(r"\b(?:csk|CSK)_\w+", code)) | {f"csk_{header.name}"}
    return names


def check_names(header, names):
    """Each name exists, but in what is shown as it is; with dots or a star behind it something begins so."""
    for match in re.finditer(r"/\*.*?\*/", header.text, re.S):
        line = header.text[:match.start()].count("\n") + 1
        text = match[0]
        if match.start() == 0 or header.text[match.start() - 1] == "\n":
            text = words_of(parts_of(lines_of_comment(text)))
        for name, more in re.findall(r"\b((?:csk|CSK)_\w+)(\.\.\.|\*)?", text):
            if name not in names and not (more and any(known.startswith(name) for known in names)):
                fail(f"{header.path}:{line}: there is no {name}")
        for name in re.findall(r"\bE[A-Z]{3,}\b", text):
            if name not in ERRORS:
                fail(f"{header.path}:{line}: there is no error {name}")


# ---- Pages ----------------------------------------------------------------------------------------------------------

def lint(paths):
    """References are left out: mandoc would look them up among the pages that happen to be installed. And the date: the
    pages state a version instead."""
    done = subprocess.run(["mandoc", "-T", "lint", *paths], capture_output=True, text=True)
    for message in done.stdout.split("\n"):
        if message and "referenced manual not found" not in message and 'missing date, using "": TH' not in message:
            fail(message.removeprefix("mandoc: "))
    if done.returncode > 2:
        fail(f"mandoc ends with {done.returncode}: {done.stderr}")


def check_pages(headers):
    with tempfile.TemporaryDirectory() as name:
        pages.write_pages(Path(name))
        paths = [path for path in sorted(Path(name).glob("*.3")) if not path.read_text().startswith(".so ")]
        if [path.stem for path in paths] != [f"csk_{name}" for name in headers]:
            fail(f"the pages are {[path.stem for path in paths]}")
        lint([*paths, MAN / "csk_probes.7"])
        return len(list(Path(name).glob("*.3"))) - len(paths)


def check_example(header, *libraries):
    text, before = header.example()
    if not text:
        fail(f"{header.path}: there must be one example")
        return
    program = BUILD / "manual" / header.name
    fault = compile_c(program, f'#line {before + 1} "{header.path}"\n{text}', *libraries) or run([str(program)])
    if fault:
        fail(f"{header.path}:{before + 1}: the example: {fault}")


def main():
    headers = read_headers(HEADERS)
    names = names_of(headers)
    for header in headers.values():
        check_comments(header)
        check_count(header)
        check_names(header, names)
    links = check_pages(headers)
    kernel = build_kernel()
    for header in headers.values() if kernel else []:
        check_example(header, kernel)
    if failures or not kernel or not headers:
        print(f"the manual pages: {failures} failures")
        return 1
    print(f"all {len(headers)} manual pages passed: {links} functions, {len(headers)} programs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
