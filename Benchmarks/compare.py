"""What changed between two runs of scripts/bench beyond the noise; see report_pages/compare.py.

    scripts/bench compare OLD.tsv NEW.tsv

Ends with 0 where nothing of this library got worse, with 1 where something did, with 2 where nothing can be compared.
"""
import sys

from report_pages import compare

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        sys.exit(compare.report(sys.argv[1], sys.argv[2]))
    except (OSError, UnicodeDecodeError) as fault:
        print(f"error: {fault}", file=sys.stderr)
        sys.exit(2)
