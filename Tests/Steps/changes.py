"""What git says of this repository, and which of its files have changed."""
import os, subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def git(*arguments):
    """What git prints; None where it fails. Names of files are as they are, in whatever letters."""
    command = ["git", "-C", ROOT, "-c", "core.quotePath=false", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    return done.stdout if done.returncode == 0 else None


def changed_since(revision):
    """The paths that are not as they are in the revision, deleted and untracked ones too; None where this clone does
    not have it."""
    tracked = git("diff", "--name-only", "--no-renames", revision)
    untracked = git("ls-files", "--others", "--exclude-standard")
    return None if tracked is None else sorted({path for path in (tracked + untracked).split("\n") if path})
