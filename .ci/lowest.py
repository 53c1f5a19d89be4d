"""Prints a constraints file that pins everything pyproject.toml asks for to the lowest version it allows.

`make lowest` installs with it and runs a short part of the suite, so that a lower bound is a promise and not a guess.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

TOOLS = ("test", "docs")
"""Extras for those who work on the package; their newest versions will do."""


def lowest(requirement: str) -> str | None:
    """`name==version` from `name[extras]>=version`; None for a requirement of the package's own extras."""
    if requirement.startswith("bestarm["):
        return None
    found = re.fullmatch(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?>=([0-9.]+)", requirement)
    if found is None:
        sys.exit(f"pyproject.toml: {requirement!r} has no lower bound of the form name>=version.")
    return f"{found[1]}=={found[2]}"


def main() -> None:
    """Print one pin a line."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = list(project["dependencies"])
    for name, extra in project["optional-dependencies"].items():
        if name not in TOOLS:
            asked += extra
    print(*sorted(filter(None, map(lowest, asked))), sep="\n")


if __name__ == "__main__":
    main()
