"""Lets docc convert the catalogue and the doc comments, and fails where it warns; scripts/test-docs calls it.

It takes the library that check.py has built for the samples: the compiler writes the public symbols of that module
with their comments, and docc resolves each link in them and in the articles. Each run also plants two links that lead
nowhere, one into a copy of the catalogue and one into the comment of an extension of another module's type, and fails
if docc says nothing of one. Without docc, or what writes the symbols, it says so, and ends with 0.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = ROOT / "Sources/SwiftSync/SwiftSync.docc"
INCLUDE = ROOT / "Sources/CSyncKernel/include"
MODULES = ROOT / ".build/programs/release/Modules"
EXTRACT = "swift-symbolgraph-extract"
PLANTED = "a link that was planted to lead nowhere"
IN_ARTICLE, IN_EXTENSION = "NoSuchSymbol", "NoSuchNeighbour"


def find_tool(name):
    """A tool stands beside the compiler; a toolchain of a distribution may put it elsewhere."""
    compiler = shutil.which("swift")
    beside = Path(compiler).resolve().parent / name if compiler else None
    return str(beside) if beside and beside.exists() else shutil.which(name)


def triple():
    described = subprocess.run(["swift", "-print-target-info"], check=True, capture_output=True, text=True).stdout
    return json.loads(described)["target"]["unversionedTriple"]


def write_symbols(folder):
    """The public symbols of the module, with their comments, as docc reads them. What went wrong, or an empty text."""
    command = [
        find_tool(EXTRACT), "-module-name", "SwiftSync", "-target", triple(), "-I", str(MODULES),
        "-Xcc", f"-fmodule-map-file={INCLUDE / 'module.modulemap'}", "-Xcc", f"-I{INCLUDE}",
        "-minimum-access-level", "public", "-emit-extension-block-symbols", "-output-dir", str(folder),
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 0 and (folder / "SwiftSync.symbols.json").exists():
        return ""
    return f"{done.stdout}error: the symbols of SwiftSync could not be written"


def plant(catalogue):
    """A copy of the catalogue with one more article, in whose last line a link leads nowhere."""
    shutil.copytree(CATALOGUE, catalogue)
    (catalogue / "Planted.md").write_text(f"# Planted\n\nFor {PLANTED}.\n\n``SwiftSync/{IN_ARTICLE}``\n")
    return catalogue


def plant_in_extension(symbols, folder):
    """A copy of the symbols in which the first comment of an extension of another module's type is such a link."""
    shutil.copytree(symbols, folder)
    for path in sorted(folder.glob("SwiftSync@*.symbols.json")):
        graph = json.loads(path.read_text())
        for symbol in graph["symbols"]:
            if symbol["kind"]["identifier"] != "swift.extension" and "docComment" in symbol:
                symbol["docComment"]["lines"][0]["text"] = f"``SwiftSync/{IN_EXTENSION}``"
                path.write_text(json.dumps(graph))
                return folder
    return folder


def begin(docc, catalogue, symbols, output):
    command = [
        docc, "convert", str(catalogue), "--additional-symbol-graph-dir", str(symbols),
        "--fallback-display-name", "SwiftSync", "--fallback-bundle-identifier", "swiftsync",
        "--warnings-as-errors", "--ide-console-output", "--output-path", str(output),
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def faults(process):
    """What docc said, or an empty text if it said nothing that is wrong."""
    said, _ = process.communicate()
    wrong = process.returncode != 0 or re.search(r"\b(warning|error):", said)
    return said.replace(f"{ROOT}/", "").strip() or "docc failed" if wrong else ""


def main():
    docc = find_tool("docc")
    for name, tool in (("docc", docc), (EXTRACT, find_tool(EXTRACT))):
        if not tool:
            print(f"skipped: the toolchain has no {name}, so that links in doc comments were not resolved")
            return 0
    if not (MODULES / "SwiftSync.swiftmodule").exists():
        print(f"{MODULES}: error: there is no SwiftSync module; Tests/Documentation/check.py builds it")
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        symbols = folder / "symbols"
        symbols.mkdir()
        if fault := write_symbols(symbols):
            print(fault)
            return 1
        real = begin(docc, CATALOGUE, symbols, folder / "real")
        planted = begin(docc, plant(folder / "SwiftSync.docc"), plant_in_extension(symbols, folder / "with-link"),
                        folder / "planted")
        said, noticed = faults(real), faults(planted)
    for name, place in ((IN_ARTICLE, "an article"), (IN_EXTENSION, "the comment of an extension")):
        if name not in noticed:
            said = f"{said}\nerror: docc said nothing of {PLANTED} in {place}".strip()
    print(said or "docc converts the catalogue and the doc comments without a warning")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
