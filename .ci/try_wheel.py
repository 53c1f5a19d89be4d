"""Tries the installed package as a user would: run by `make wheel` with the environment that got the wheel alone.

What a wheel forgets are files that are no modules: templates, the pages' styles, the mark of a typed package; and the
modules that nothing imports by name, such as migrations. So these are looked for, and a store is made.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib import metadata, resources
from pathlib import Path

import bestarm

BIN = Path(sys.executable).parent


def said(*arguments: str) -> str:
    """What the installed command prints."""
    return subprocess.run([BIN / "bestarm", *arguments], capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Fail at the first thing that is not as promised."""
    home = Path(bestarm.__file__)
    assert BIN.parent in home.parents, f"this is {home}, not what the wheel installed"
    assert said("--version").strip() == f"bestarm {bestarm.__version__}"
    assert metadata.version("bestarm") == bestarm.__version__
    assert "evidence" in {row["name"] for row in json.loads(said("algorithms", "--json"))["algorithms"]}
    assert json.loads(said("bounds", "--means", "0.9,0.5", "--epsilon", "1", "--delta", "0.1", "--json"))["t_kl"] > 0
    for file in ("py.typed", "service/static/style.css", "service/static/htmx.min.js", "service/templates/base.html"):
        assert resources.files("bestarm").joinpath(file).is_file(), f"the wheel lacks {file}"
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "trials.db")
        said("trial", "create", store, "--name", "t", "--arms", "a,b", "--epsilon", "1", "--delta", "0.1")
        assert json.loads(said("trial", "ask", store, "--name", "t", "--subject", "p-1", "--json"))["arm"] in "ab"
        assert json.loads(said("trial", "verify", store, "--name", "t", "--json"))["ok"]
    print(f"The wheel of bestarm {bestarm.__version__} works on its own.")


if __name__ == "__main__":
    main()
