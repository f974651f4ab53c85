"""Compiles functions of one line each, and says by line what the compiler has against them."""
import os, re, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import tables
IMPORTS = "import Dispatch\nimport SwiftSync\nimport Synchronization\n"
# Warnings of what a line leaves unused, which says nothing of the call.
UNUSED = r"\[#no-usage\]|is unused|was never (used|mutated|written)|inferred to have type '\(\)\??'"
MESSAGE = re.compile(r"^(\S+?):(\d+):\d+: (error|warning): (.*)$", re.M)


class Compiler:
    def __init__(self, folder, modules):
        self.folder, self.modules = folder, modules
        os.makedirs(folder, exist_ok=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def flags(self):
        return ["-I", self.modules, "-I", self.folder, "-I", os.path.join(ROOT, "Sources/CSyncKernel/include"),
                "-I", os.path.join(ROOT, "Sources/CURCU"), "-module-name", "snippets"]

    def run(self, mode, source, output):
        command = ["swiftc", "-wmo", "-emit-sil", "-swift-version", str(mode), *self.flags(),
                   os.path.join(HERE, "Things.swift"), source, "-o", output]
        return subprocess.run(command, capture_output=True, text=True, errors="replace").stderr

    def compile(self, mode, functions, name="Functions.swift", sil=None, head=""):
        """What the compiler says of each function in language mode `mode`: by its number a list of "error: ..." and
        "warning: ...". It looks for races between regions only where nothing else is wrong, so it is asked again
        without the functions that it refused. With `sil` a file of this name gets what those that are left call.
        """
        path, said, refused = self.path(name), {}, set()
        before = (IMPORTS + head).count("\n") + 1
        while True:
            lines = ["" if number in refused else text for number, text in enumerate(functions)]
            with open(path, "w") as file:
                file.write(IMPORTS + head + "\n".join(lines) + "\n")
            errors, already = self.run(mode, path, self.path(sil) if sil else os.devnull), len(refused)
            for where, line, kind, text in dict.fromkeys(MESSAGE.findall(errors)):
                number = int(line) - before
                if os.path.basename(where) != name or not 0 <= number < len(functions):
                    if kind == "error":
                        raise SystemExit(f"{where}:{line}: {kind}: {text}")
                    continue
                message = f"{kind}: {text}"
                if message not in said.setdefault(number, []):
                    said[number].append(message)
                if kind == "error":
                    refused.add(number)
            if "error:" not in errors:
                return said
            if len(refused) == already:
                raise SystemExit(errors)


def lines_of(name):
    return tables.lines_of(os.path.join(HERE, name))


def is_refused(messages):
    return any(text.startswith("error") for text in messages)
