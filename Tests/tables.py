"""How the checks read their tables."""


def lines_of(path):
    """The lines of a table with their numbers. A line that begins with spaces goes on with the one before it."""
    lines = []
    for number, line in enumerate(open(path), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if line.startswith(" "):
            lines[-1] = (lines[-1][0], lines[-1][1] + " " + text)
        else:
            lines.append((number, text))
    return lines
