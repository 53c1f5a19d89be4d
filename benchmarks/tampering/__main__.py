"""Edits of stored trials and of public exports, each followed by `verify`: what goes unnoticed, what is a traceback.

Run from the project's root: python -m benchmarks.tampering [--each 30] [--unnoticed]
Prints a table: where the edits were made and of what kind, how many, how many `bestarm trial verify` (for exports
`verify-public`) noticed, how many changed nothing that anybody reads, how many changed something and went unnoticed,
and how many ended in a traceback. Exit status 1 if there is any of the last two kinds.

The trials lie in one SQLite file and have one of everything in them: batches, coins, follow-ups, replacements, local
privacy. Every table and every column is edited: values changed, emptied, of another type, garbled, exchanged between
rows and between trials; events deleted, doubled, reordered, cut off; and each entry of every kind of JSON.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from benchmarks.tampering.judging import HARMLESS, NOTICED, TRACEBACK, UNNOTICED, tried


def main() -> int:
    """Try the edits and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=30, help="edits of each kind at each place")
    parser.add_argument("--unnoticed", action="store_true", help="name each edit that went unnoticed, on stderr")
    given = parser.parse_args()
    table = tried(given.each, given.unnoticed)
    kinds = (NOTICED, HARMLESS, UNNOTICED, TRACEBACK)
    print(f"{'where':28}{'edit':24}{'tried':>8}" + "".join(f"{kind:>12}" for kind in kinds))
    for (place, kind), count in sorted(table.items()):
        print(f"{place:28}{kind:24}{count.total():>8}" + "".join(f"{count[each]:>12}" for each in kinds))
    total = sum(table.values(), Counter[str]())
    print(f"{'all':52}{total.total():>8}" + "".join(f"{total[each]:>12}" for each in kinds))
    return 1 if total[UNNOTICED] or total[TRACEBACK] else 0


if __name__ == "__main__":
    sys.exit(main())
