"""The notebook in the docs: every cell runs, and its outputs are there."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


def test_the_notebook_runs_from_question_to_report() -> None:
    kept = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    run = runpy.run_path(str(ROOT / "docs" / "figures" / "notebook.py"))["executed"]
    again = run(json.loads(NOTEBOOK.read_text(encoding="utf-8")))
    cells = [cell for cell in kept["cells"] if cell["cell_type"] == "code"]
    fresh = [cell for cell in again["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 8
    for before, now in zip(cells, fresh, strict=True):
        assert before["execution_count"] == now["execution_count"]
        kinds = [[sorted(one.get("data", {})) for one in cell["outputs"]] for cell in (before, now)]
        assert kinds[0] == kinds[1], "execute it again: python docs/figures/notebook.py docs/notebook.ipynb"
    text = json.dumps(again["cells"])
    assert "Answer: plan for" in text
    assert "Verdict" in text


def test_a_cell_that_fails_fails_the_notebook() -> None:
    outputs = runpy.run_path(str(ROOT / "docs" / "figures" / "notebook.py"))["outputs"]
    found = outputs("print('a')\n1 + 1", {}, 1)
    assert found[0]["text"] == ["a\n"]
    assert found[1]["data"] == {"text/plain": ["2"]}
    try:
        outputs("1 / 0", {}, 1)
    except ZeroDivisionError:
        return
    raise AssertionError("a cell's error was swallowed")
