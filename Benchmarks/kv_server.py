"""Builds and runs Examples/KeyValueServer, for the programs that measure it."""

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "Examples/KeyValueServer"
BUILD = ("swift", "build", "--package-path", str(PACKAGE), "-c", "release")


def folder():
    """Where the programs are."""
    where = subprocess.run((*BUILD, "--show-bin-path"), check=True, capture_output=True, text=True).stdout
    return Path(where.strip())


class Server:
    """Runs until `stop`, on a port of its own."""

    def __init__(self, programs, *options):
        self.process = subprocess.Popen([programs / "kv-server", "--port", "0", *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        ready = re.match(r"ready on 127\.0\.0\.1:(\d+)", self.process.stdout.readline())
        if not ready:
            sys.exit(f"error: the server with {' '.join(options)} did not start; "
                     "Benchmarks/server --build builds it")
        self.port = int(ready[1])

    def stop(self):
        self.process.terminate()
        self.process.wait()


def probe(programs, *words):
    """What kv-probe printed."""
    return subprocess.run([programs / "kv-probe", *words], check=True, capture_output=True, text=True).stdout.strip()
