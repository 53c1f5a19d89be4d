"""Executes a notebook in place: every code cell again, its outputs written into the file. Needs no Jupyter.

    python docs/figures/notebook.py docs/notebook.ipynb

Outputs are what a notebook would show: printed text, and the value of a last expression as HTML, PNG or text.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its code cells made anew, in a folder that is gone afterwards."""
    names: dict[str, Any] = {"__name__": "notebook"}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            count = 0
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    count += 1
                    cell["execution_count"] = count
                    cell["outputs"] = outputs("".join(cell["source"]), names, count)
        finally:
            os.chdir(here)
    return notebook


def outputs(code: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Run one cell; what it printed, and what its last line is worth."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {count}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), names)  # type: ignore[attr-defined]
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(keepends=True)})
    if value is not None:
        data = shown(value)
        found.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    return found


def shown(value: Any) -> dict[str, Any]:
    """A value as a notebook would show it."""
    data: dict[str, Any] = {"text/plain": str(value).splitlines(keepends=True)}
    if hasattr(value, "_repr_html_") and value._repr_html_() is not None:
        data["text/html"] = value._repr_html_().splitlines(keepends=True)
    if hasattr(value, "savefig"):
        picture = io.BytesIO()
        value.savefig(picture, format="png", dpi=80)
        data = {"text/plain": ["<Figure>"], "image/png": base64.b64encode(picture.getvalue()).decode()}
    return data


def main() -> None:
    """Execute the notebooks that are named."""
    for name in sys.argv[1:]:
        path = Path(name)
        done = executed(json.loads(path.read_text(encoding="utf-8")))
        path.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
