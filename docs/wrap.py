"""Wraps the project's pages evenly at 120 characters: paragraphs and list items, whatever their lines were before.

    python docs/wrap.py            # wrap every page
    python docs/wrap.py --check    # change nothing; name the pages that are not wrapped, exit status 1 if there are any

Code, tables, headings, HTML and pages that a command writes stay as they are.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
WIDTH: Final = 120
WRITTEN_BY_A_COMMAND: Final = ("docs/reproduction/report.md",)

WORD: Final = re.compile(r"(?:`[^`]*`|\S)+")
"""What stays on one line; code does."""
ITEM: Final = re.compile(r"( {0,6})([-*]|\d+\.) +(?=\S)")
AS_IT_IS: Final = re.compile(r"\s*(#|\||<|!\[|:::|---|>|\[[^\]]+\]:)|\s*$")
"""How a line begins that is not part of a paragraph."""
NOT_FIRST: Final = re.compile(r"[-+*>|#=]|\d+[.)]$")
"""A word that would mean something else at the beginning of a line."""


def pages() -> list[Path]:
    """Every page of the project that people write."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(path for path in found if str(path.relative_to(ROOT)) not in WRITTEN_BY_A_COMMAND)


def wrapped(text: str) -> str:
    """The page with its paragraphs and list items filled to the width."""
    return "\n".join(line for block in blocks(text.splitlines()) for line in block) + "\n"


def blocks(lines: list[str]) -> Iterator[list[str]]:
    """The page piece by piece: paragraphs and list items filled, everything else as it is."""
    at, in_list = 0, False
    while at < len(lines):
        line = lines[at]
        item = ITEM.match(line)
        fence = re.match(r"\s*(```+|~~~+)", line)
        if fence:
            end = at + 1
            while end < len(lines) and not lines[end].strip().startswith(fence[1]):
                end += 1
            yield lines[at : end + 1]
            at = end + 1
        elif item or not (AS_IT_IS.match(line) or (line.startswith("    ") and not in_list)):
            end = at + 1
            while end < len(lines) and not (AS_IT_IS.match(lines[end]) or ITEM.match(lines[end])):
                if re.match(r"\s*(```|~~~)", lines[end]):
                    break
                end += 1
            first = item[0] if item else re.match(r" *", line)[0]  # type: ignore[index]
            words = WORD.findall(" ".join(piece.strip() for piece in lines[at:end])[len(first.strip()) :])
            yield filled(words, first, " " * len(first))
            in_list = in_list or item is not None
            at = end
        else:
            in_list = in_list and not line.strip()
            yield [line]
            at += 1
        if at < len(lines) and lines[at].strip() and not lines[at].startswith(" ") and not ITEM.match(lines[at]):
            in_list = False


def filled(words: list[str], first: str, rest: str) -> list[str]:
    """The words in lines of at most the width; no line begins with what Markdown would take for a sign."""
    lines: list[list[str]] = [[]]
    length = len(first)
    for word in words:
        if lines[-1] and length + 1 + len(word) > WIDTH:
            carried: list[str] = []
            if NOT_FIRST.match(word) and len(lines[-1]) > 1:
                carried = [lines[-1].pop()]
            lines.append(carried)
            length = len(rest) + sum(map(len, carried))
        length += len(word) + bool(lines[-1])
        lines[-1].append(word)
    return [(rest if number else first) + " ".join(line) for number, line in enumerate(lines)]


def main() -> int:
    """Wrap, or only look."""
    uneven = [path for path in pages() if path.read_text(encoding="utf-8") != wrapped(path.read_text(encoding="utf-8"))]
    if "--check" in sys.argv[1:]:
        for path in uneven:
            print(f"{path.relative_to(ROOT)} is not wrapped evenly; run: python docs/wrap.py")
        return 1 if uneven else 0
    for path in uneven:
        path.write_text(wrapped(path.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
