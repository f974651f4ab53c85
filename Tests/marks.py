"""Documents that scripts write in part: each part stands between `<!-- NAME -->` and `<!-- end of KIND -->`."""
import re


def filled(text, name, kind, content):
    """The text with `content` of each match in place of what stands there, and how many places there are. `name` is a
    pattern; where `content` gives None the place stays as it is."""
    def part(match):
        new = content(match)
        return match[0] if new is None else f"{match['begin']}\n{new}\n\n{match['end']}"

    return re.subn(rf"(?P<begin><!-- (?:{name}) -->\n).*?(?P<end><!-- end of {kind} -->)", part, text, flags=re.S)


def filled_one(path, name, content):
    """The document with the content in its one place of that name, of which the end is called the same."""
    text, count = filled(open(path).read(), re.escape(name), re.escape(name), lambda _: content)
    if count != 1:
        raise SystemExit(f"{path}: error: <!-- {name} --> stands there {count} times")
    return text
