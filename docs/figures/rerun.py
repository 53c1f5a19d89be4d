"""Runs the commands of a page of the documentation again and puts their output in place of the old one.

Run from the repository's folder: python docs/figures/rerun.py docs/worked-example.md

A console block is a command after a dollar sign and its output; a backslash continues a command on the next line.
Commands of one page share a temporary folder, which appears in the page as the working folder would.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(
    r"^```console\n"
    r"\$ (?P<command>(?:[^\n]*\\\n)*[^\n]*)\n"
    r"(?:(?!```)[^\n]*\n)*"  # the old output
    r"```$",
    re.MULTILINE,
)


def rerun(page: Path) -> None:
    """Replace the output of every console block of the page."""
    with tempfile.TemporaryDirectory() as folder:

        def fresh(block: re.Match[str]) -> str:
            command = block["command"]
            print(f"$ {command}", file=sys.stderr)
            answer = subprocess.run(
                ["bash", "-c", command],
                cwd=folder,
                env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            output = "\n".join(line.rstrip() for line in answer.stdout.rstrip().splitlines())
            return f"```console\n$ {command}\n{output}\n```"

        text = BLOCK.sub(fresh, page.read_text(encoding="utf-8"))
        for figure in Path(folder).glob("*.png"):
            (Path(__file__).parent / figure.name).write_bytes(figure.read_bytes())
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rerun(Path(name))
