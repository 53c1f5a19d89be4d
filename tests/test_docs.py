"""What the documentation shows, runs; what it links to, exists."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [
    (f"{page.relative_to(ROOT)}:{number}", code)
    for page in PAGES
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M), start=1)
]


@pytest.mark.parametrize(("name", "code"), BLOCKS, ids=[name for name, _ in BLOCKS])
def test_python_in_the_documentation_runs(
    name: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, name, "exec"), {"__name__": "example"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_wrapping_fills_paragraphs_and_leaves_the_rest() -> None:
    wrapped = runpy.run_path(str(ROOT / "docs" / "wrap.py"))["wrapped"]
    words = "word " * 40
    kept = "# A heading " + words.strip() + "\n\n    indented " + words.strip() + "\n\n| a table | " + words + "|\n"
    assert wrapped(kept) == kept
    fenced = f"```python\n{words.strip()}\nx\n```\n"
    assert wrapped(fenced) == fenced
    found = wrapped(f"One\ntwo {words}\n- an item\n  goes on {words}\n1. another").splitlines()
    assert found[0].startswith("One two word")
    assert found[2].startswith("- an item goes on")
    assert found[3].startswith("  word")
    assert found[-1] == "1. another"
    assert max(map(len, found)) <= 120
    assert not re.search(r"^- minus", wrapped(f"{'x' * 117} a - minus\n"), re.M), "a dash would begin a list"
    assert "`one two`" in wrapped(f"{'x' * 113} `one two` three\n")
