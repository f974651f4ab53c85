"""What the checks of mutants and of planted faults say of one whose text no longer stands in the kernel once."""
import os

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def place_of(script, text):
    """Where in the script the first line with this text is, as editors say it."""
    path = os.path.relpath(script, ROOT)
    with open(script) as file:
        return next((f"{path}:{number}" for number, line in enumerate(file, 1) if text in line), path)


def stale(place, kind, name, count, file):
    return (f'{place}: "{name}" is stale: its text stands {count} times in Sources/CSyncKernel/{file}, and should '
            f"stand once; write the {kind}'s text as the source is now, or drop the {kind} if what it breaks is gone")
