#!/usr/bin/env python3
"""Looks whether a file has more than 400 lines without saying why, or a function or a property of Swift has more
than 60.

    sizes.py [--self-test]

It counts functions by the layout that scripts/format gives them: a function ends at the brace in the column in which
its first line begins. A file says why by a line with "More than 400 lines:" among its first 60. What is generated, and
the code of earlier libraries' users, is left out.
"""
import ast, os, re, subprocess, sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MOST_OF_FILE, MOST_OF_FUNCTION, TOP = 400, 60, 60
REASON = "More than 400 lines:"
LEFT_OUT = ("Tests/SwiftSyncLegacyTests/", "Tests/Documentation/samples.swift")
# What begins at the left margin: a function's beginning has a parenthesis.
C_BEGIN = re.compile(r"^(?!struct|enum|union|typedef|extern)[A-Za-z_]")
SWIFT_BEGIN = re.compile(r"^(\s*)(?:[@\w]+(?:\([^)]*\))? )*(?:func|init|deinit|subscript|var)\b")


def c_functions(lines):
    """The first line and the length of each function, however many lines its parameters take."""
    begin = None
    for number, line in enumerate(lines):
        if C_BEGIN.match(line):
            begin = number if "(" in line and not line.endswith(";") else None
        elif line == "}" and begin is not None:
            yield begin + 1, number - begin
            begin = None


def swift_functions(lines):
    """The same for Swift. The brace that opens the body ends the first line, or stands alone in the next, or ends the
    parameters."""
    for number, line in enumerate(lines):
        if match := SWIFT_BEGIN.match(line):
            brace = lines[number + 1:number + 2] == [match[1] + "{"]
            if brace or line.endswith(("{", "(")):
                end = next((at for at in range(number + 1, len(lines)) if lines[at] == match[1] + "}"), number)
                yield number + 1, end - number


def functions(path, text):
    if path.endswith(".py"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.lineno, node.end_lineno - node.lineno
    elif path.endswith(".swift"):
        yield from swift_functions(text.split("\n"))
    else:
        yield from c_functions(text.split("\n"))


def faults_of(path, text):
    lines = text.count("\n")
    if lines > MOST_OF_FILE and REASON not in "\n".join(text.split("\n")[:TOP]):
        yield f"{path}:1: {lines} lines, and its top does not say why"
    for number, length in functions(path, text):
        if length > MOST_OF_FUNCTION:
            yield f"{path}:{number}: a function of {length} lines"


PLANTED = {
    "long.c": "int x;\n" * (MOST_OF_FILE + 1),
    "function.c": "static int f(int a) {\n" + "    a++;\n" * MOST_OF_FUNCTION + "}\n",
    "parameters.c": "static int f(int a,\n             int b) {\n" + "    a++;\n" * MOST_OF_FUNCTION + "}\n",
    "brace.swift": "func f(_ body: () -> Int) -> Int\n{\n" + "    g()\n" * MOST_OF_FUNCTION + "}\n",
    "property.swift": "    var f: Int {\n" + "        g()\n" * MOST_OF_FUNCTION + "    }\n",
    "function.swift": "    func f() {\n" + "        g()\n" * MOST_OF_FUNCTION + "    }\n",
    "function.py": "def f():\n" + "    g()\n" * (MOST_OF_FUNCTION + 1),
}


def self_test():
    missed = [path for path, text in PLANTED.items() if not list(faults_of(path, text))]
    if list(faults_of("said.c", f"/* {REASON} it is a table. */\n" + PLANTED["long.c"])):
        missed.append("said.c")
    print(f"{len(PLANTED)} faults planted, {len(missed)} not found", *missed)
    return bool(missed)


def main():
    names = subprocess.check_output(["git", "-C", ROOT, "ls-files", "*.c", "*.h", "*.cpp", "*.hpp", "*.swift", "*.py"],
                                    text=True).split()
    faults, read = [], 0
    for name in names:
        path = os.path.join(ROOT, name)
        if not name.startswith(LEFT_OUT) and os.path.exists(path):
            read += 1
            with open(path) as file:
                faults += faults_of(name, file.read())
    for fault in faults:
        print(fault)
    print(f"{read} files, {len(faults)} too long")
    return bool(faults) or ("--self-test" in sys.argv[1:] and self_test())


if __name__ == "__main__":
    sys.exit(main())
