"""Compiles and runs every sample of the documentation; scripts/test-docs calls it from the root of the repository.

A Swift sample becomes the body of one throwing function in a package in .build-docs, its extensions stand before that
function, which is asynchronous, and leaves the main thread to others, if the sample or its setup awaits; a C sample
becomes a program of its own. Faults are reported with the file and the line of the document. The Swift samples of
TOP_LEVEL run a second time as what a user makes of them, the main.swift of a program: its code is isolated to the main
actor, and chooses among overloads as a function does that can't suspend.

A sample is a fenced block that begins with ```swift or ```c. What it needs but readers don't stands in comments before
the fence:

    <!-- setup: let logger = Logger() -->            goes before the sample
    <!-- check: expect(answer == 42) -->             goes after it (in C: assert)
    <!-- reports: in a circle -->                    what the one line has that it writes to the standard error stream

A doc comment's are in samples.swift beside this file. A C sample without a `main` needs a check; a check without a
`main` becomes the body of one. Any other sample that writes to the standard error stream fails: the library reports
misuse there. Of ```sh blocks the paths into this repository must exist, and be executable where they name a script.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from manifest import MANIFEST, TARGET

ROOT = Path.cwd()
HERE = Path("Tests/Documentation")
BUILD = Path(".build-docs")
SECONDS = 10
# Blocks in other languages are not run. What is not listed is an error, so that a misspelt name can't hide a sample.
LANGUAGES = {"swift", "c", "sh", "cmake", "make", "text", ""}
# What a user pastes into main.swift. Each of these samples is a program of its own, so all would take minutes to build.
TOP_LEVEL = {"Deployment.md", "ErrorsAndShutdown.md", "ServerRecipes.md"}
FENCE = re.compile(r"^\s*```(\S*)\s*$")

failures = 0


def fail(text):
    global failures
    failures += 1
    print(text, flush=True)


class Part:
    """Lines of code, and where the first of them stands."""

    def __init__(self, file, line, text):
        self.file, self.line, self.text = file, line, text


class Sample:
    def __init__(self, language, file, line, code, setup=(), check=(), reports=()):
        self.language, self.line = language, line
        self.code = Part(file, line + 1, code)
        self.setup, self.check, self.reports = list(setup), list(check), list(reports)

    @property
    def place(self):
        return f"{self.code.file}:{self.line}"

    def parts(self):
        return [*self.setup, self.code, *self.check]

    def has(self, pattern):
        return any(re.search(pattern, part.text) for part in self.parts())


# ---- Finding samples ----------------------------------------------------------------------------------------------

def undecorated(path):
    """The lines of a document; those of a source without the signs of a doc comment, and with None for code."""
    lines = path.read_text().split("\n")
    if path.suffix == ".swift":
        return [match[1] if (match := re.match(r"^\s*/// ?(.*)$", line)) else None for line in lines]
    if path.suffix == ".h":
        return [match[1] if (match := re.match(r"^\s*(?:/\*|\*) ?(.*)$", line)) else None for line in lines]
    return lines


def comments_before(path, lines, fence):
    """The setup, check and reports comments that end right before the line `fence`, blank lines aside."""
    found = {"setup": [], "check": [], "reports": []}
    end = fence
    while True:
        while end > 0 and not (lines[end - 1] or "").strip():
            end -= 1
        if end == 0 or not (lines[end - 1] or "").rstrip().endswith("-->"):
            return found.values()
        begin = end - 1
        while "<!--" not in lines[begin]:
            begin -= 1
        match = re.match(r"\s*<!-- (setup|check|reports):[ ]*(\n?)(.*?)\s*-->\s*$", "\n".join(lines[begin:end]), re.S)
        if not match:
            return found.values()
        found[match[1]].insert(0, Part(str(path), begin + 1 + len(match[2]), match[3]))
        end = begin


def hidden_parts():
    """What samples.swift holds, by (type, number of its sample, setup, check or reports)."""
    path, parts, key = HERE / "samples.swift", {}, None
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if match := re.match(r"^// MARK: (\S+)(?: (\d+))? (setup|check|reports)$", line):
            key = (match[1], int(match[2] or 1), match[3])
            parts[key] = Part(str(path), number + 1, "")
        elif key:
            parts[key].text += line + "\n"
    return parts


def blocks_of(path):
    lines, opened = undecorated(path), None
    for number, line in enumerate(lines, 1):
        match = FENCE.match(line) if line is not None else None
        if opened is None and match:
            opened = number
            language = match[1]
            if language not in LANGUAGES:
                fail(f"{path}:{number}: error: a block in an unknown language, {language}")
        elif opened is not None and match and not match[1]:
            code = "\n".join(line or "" for line in lines[opened:number - 1])
            yield Sample(language, str(path), opened, code, *comments_before(path, lines, opened - 1))
            opened = None
        elif opened is not None and (line is None or match):
            fail(f"{path}:{opened}: error: the block is not closed")
            opened = None
    if opened is not None:
        fail(f"{path}:{opened}: error: the block is not closed")


def all_samples():
    sources = sorted(Path("Sources/SwiftSync").rglob("*.swift"))
    headers = sorted(Path("Sources/CSyncKernel/include/csynckernel").glob("*.h"))
    documents = [
        Path("README.md"), Path("CONTRIBUTING.md"), *sorted(Path("Sources/SwiftSync/SwiftSync.docc").glob("*.md"))]
    hidden = hidden_parts()
    samples = []
    for path in documents + sources + headers:
        samples_of_type = 0
        for sample in blocks_of(path):
            if path.suffix == ".swift" and sample.language == "swift":
                samples_of_type += 1
                name = (path.stem, samples_of_type)
                for key, parts in (("setup", sample.setup), ("check", sample.check), ("reports", sample.reports)):
                    parts += [part] if (part := hidden.pop((*name, key), None)) else []
            samples.append(sample)
        # Counted another way: nothing that looks like a sample may have been missed.
        looks = len(re.findall(r"^[\s/*]*```(?:swift|c)\b", path.read_text(), re.M | re.I))
        taken = sum(sample.language in ("swift", "c") for sample in samples if sample.code.file == str(path))
        if looks != taken:
            fail(f"{path}: error: {looks} samples are there, {taken} were understood")
    for (name, number, kind), part in hidden.items():
        fail(f"{part.file}:{part.line}: error: {name} has no sample {number} that this {kind} is for")
    return samples


# ---- Paths --------------------------------------------------------------------------------------------------------

def check_shell(sample):
    names = re.findall(r"(?<![\w./-])((?:scripts|Tests|Examples|\.ci)/[\w./-]*\w)", sample.code.text)
    faults = []
    for name in names:
        if not Path(name).exists():
            faults.append(f"{name} does not exist")
        elif name.startswith("scripts/") and not os.access(name, os.X_OK):
            faults.append(f"{name} is not executable")
    return "; ".join(faults)


# ---- Building -----------------------------------------------------------------------------------------------------

def write_if_changed(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)



def swift_parts(sample):
    """What stands at the head of a file, imports and extensions, and the other lines of the sample."""
    imports, extensions, body = {"Dispatch", "Foundation", "SwiftSync", "Synchronization"}, [], []
    for part in sample.parts():
        def moved(match):
            line = part.line + part.text[:match.start()].count("\n")
            extensions.append(f'#sourceLocation(file: "{part.file}", line: {line})\n{match[0]}\n#sourceLocation()\n')
            return "\n" * match[0].count("\n")

        lines = re.sub(r"^extension .*?^}$", moved, part.text, flags=re.M | re.S).split("\n")
        for number, line in enumerate(lines):
            if match := re.match(r"^\s*import (\w+)\s*$", line):
                imports.add(match[1])
                lines[number] = ""
        body.append(f'#sourceLocation(file: "{part.file}", line: {part.line})\n' + "\n".join(lines))
    head = "".join(f"import {name}\n" for name in sorted(imports))
    return head + "".join(extensions), "\n".join(body) + "\n#sourceLocation()\n"


def swift_file(index, sample):
    head, body = swift_parts(sample)
    effects = "async throws" if awaits(sample) else "throws"
    return f"{head}\nfunc sample{index}() {effects} {{\n{body}}}\n"


def is_top_level(sample):
    return Path(sample.code.file).name in TOP_LEVEL


def top_level_names(samples):
    """By sample: the name of its program, from its number in its document."""
    counts, names = {}, {}
    for sample in filter(is_top_level, samples):
        stem = Path(sample.code.file).stem
        counts[stem] = counts.get(stem, 0) + 1
        names[sample] = f"{stem}{counts[stem]}"
    return names


def awaits(sample):
    """Code without an await is compiled as what it is: a function that may block."""
    return any(re.search(r"\bawait\b", re.sub(r"//.*", "", part.text)) for part in sample.parts())


def print_faults(log):
    """The compiler's messages, each once: it repeats them for every file of a batch."""
    log = re.sub(r"^\[\d+/\d+\] .*\n", "", log, flags=re.M)
    for message in dict.fromkeys(re.split(r"^(?=\S+:\d+:\d+: )", log, flags=re.M)):
        print(message.rstrip(), flush=True)


EXPECT = """/// For checks: a precondition whose condition may throw.
func expect(_ condition: @autoclosure () throws -> Bool, file: StaticString = #filePath, line: UInt = #line) rethrows {
    guard try condition() else { fatalError("the check at \\(file):\\(line) fails") }
}

"""


def build_swift(samples):
    """Builds all samples into one program, which runs the one whose number it is given, and those of TOP_LEVEL into one
    each. They are optimized, as users' programs are. The folder of the programs, or None."""
    folder = BUILD / "package"
    sources = folder / "Sources"
    files = {f"Samples/Sample{index}.swift": swift_file(index, sample) for index, sample in enumerate(samples)}
    cases = "".join(
        f'        case "{index}": try {"await " if awaits(sample) else ""}sample{index}()\n'
        for index, sample in enumerate(samples))
    files["Samples/Samples.swift"] = EXPECT + (
        "@main\nstruct Samples {\n    static func main() async throws {\n        switch CommandLine.arguments[1] {\n"
        f'{cases}        default: fatalError("there is no such sample")\n        }}\n    }}\n}}\n')
    top_level = top_level_names(samples)
    for sample, name in top_level.items():
        files[f"{name}/main.swift"] = "".join(swift_parts(sample))
        files[f"{name}/Expect.swift"] = EXPECT
    targets = ",\n".join(TARGET.replace("NAME", name) for name in ["Samples", *top_level.values()])
    write_if_changed(folder / "Package.swift", MANIFEST.replace("TARGETS", targets))
    for name, text in files.items():
        write_if_changed(sources / name, text)
    for stale in set(sources.glob("*/*.swift")) - {sources / name for name in files}:
        stale.unlink()
    done = subprocess.run(["scripts/build-release", str(folder)], capture_output=True, text=True)
    if done.returncode != 0:
        print_faults(done.stdout + done.stderr)
        fail("error: the Swift samples do not build")
        return None
    return Path(done.stdout.strip())


def build_kernel():
    """The kernel as a static library, or None."""
    folder = BUILD / "kernel"
    for options in (["-S", "Sources/CSyncKernel", "-B", folder, "-DCSYNCKERNEL_BUILD_TESTS=OFF"],
                    ["--build", folder, "--target", "csynckernel_static", "--parallel", str(os.cpu_count())]):
        done = subprocess.run(["cmake", *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            fail(f"{done.stdout}error: the kernel does not build")
            return None
    return folder / "libcsynckernel.a"


def compile_c(program, text, *libraries):
    """What is wrong with a C program, or an empty text."""
    source = program.with_suffix(".c")
    write_if_changed(source, text)
    flags = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-ISources/CSyncKernel/include"]
    done = subprocess.run(["cc", *flags, "-o", program, source, *libraries, "-lurcu-bp"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return "" if done.returncode == 0 else done.stdout.rstrip() or "it does not compile"


def build_c(index, sample, kernel):
    program = BUILD / "c" / f"sample{index}"
    if not sample.check and not sample.has(r"\bmain\s*\("):
        return program, "a C sample without a main needs a check"
    text = "#include <assert.h>\n"
    for part in sample.parts():
        wrap = part in sample.check and not sample.has(r"\bmain\s*\(")
        text += "int main(void) {\n" if wrap else ""
        text += f'#line {part.line} "{part.file}"\n{part.text}\n'
        text += "return 0;\n}\n" if wrap else ""
    return program, compile_c(program, text, kernel)


# ---- Running ------------------------------------------------------------------------------------------------------

def is_said(error_stream, reports):
    """Whether the sample has written the one line that it should, or nothing."""
    if not reports:
        return not error_stream
    return error_stream.count("\n") == 1 and all(part.text.strip() in error_stream for part in reports)


def run(command, reports=()):
    """What went wrong, or an empty text."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS,
                              env={**os.environ, "SWIFT_BACKTRACE": "enable=no"})
    except subprocess.TimeoutExpired:
        return f"did not end within {SECONDS} s"
    if done.returncode == 0 and is_said(done.stderr, reports):
        return ""
    errors = re.sub(r"^Current stack trace:\n(?:\d+ .*\n)*", "", done.stderr, flags=re.M)
    what = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
    return f"{what}\n{done.stdout}{errors}".rstrip()


def main():
    pattern = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    samples = all_samples()
    swift = [sample for sample in samples if sample.language == "swift"]
    c = [sample for sample in samples if sample.language == "c"]
    shell = [sample for sample in samples if sample.language == "sh"]
    print(f"{len(swift)} Swift samples, {len(c)} C samples, {len(shell)} blocks of commands", flush=True)
    if not swift or not c or not shell:
        fail("error: a kind of sample was not found at all")
    for sample in samples:
        if sample.language not in ("swift", "c") and (sample.setup or sample.check or sample.reports):
            fail(f"{sample.place}: error: a setup, check or report for a block that is not run")

    ran = 0

    def report(sample, fault):
        nonlocal ran
        ran += 1
        print(f"[{ran:3}] {'FAILED' if fault else 'ok    '} {sample.language:5} {sample.place}", flush=True)
        if fault:
            fail(f"{sample.place}: error: {fault}")

    programs, top_level = build_swift(swift), top_level_names(swift)
    for index, sample in enumerate(swift if programs else []):
        if pattern.search(sample.place):
            fault = run([str(programs / "Samples"), str(index)], sample.reports)
            if not fault and sample in top_level:
                fault = run([str(programs / top_level[sample])], sample.reports)
                fault = fault and f"as main.swift: {fault}"
            report(sample, fault)
    kernel = build_kernel()
    for index, sample in enumerate(c if kernel else []):
        if pattern.search(sample.place):
            c_program, fault = build_c(index, sample, kernel)
            report(sample, fault or run([str(c_program)], sample.reports))
    for sample in shell:
        if pattern.search(sample.place):
            report(sample, check_shell(sample))

    expected = sum(bool(pattern.search(sample.place)) for sample in swift + c + shell)
    if ran == 0 or ran != expected:
        fail(f"error: {ran} of {expected} samples were run")
    print(f"{ran} samples run, {failures} failures" if failures else f"all {ran} samples passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
