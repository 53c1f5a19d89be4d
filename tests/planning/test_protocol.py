"""The statistical analysis plan: filled in from the design, the same in every form, nothing left open but what only the
team knows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import docx
import pytest

from bestarm.cli import main
from bestarm.errors import InputError
from bestarm.planning import Plan, plan
from bestarm.planning.protocol import Heading, protocol_of
from bestarm.planning.protocol_files import markdown, write_protocol
from bestarm.policy.catalogue import CATALOGUE

SECTIONS = [
    "Question",
    "Randomisation",
    "Stopping rule and recommendation",
    "Privacy",
    "Follow-up and missing outcomes",
    "Participants and operating characteristics",
    "What is published, and when",
    "References",
    "Software and frozen design",
]


@pytest.fixture(scope="module")
def planned() -> Plan:
    options: dict[str, Any] = {"algorithm": "fixed", "epsilon": 0.5, "delta": 0.05, "runs": 20, "scenarios": True}
    life: dict[str, Any] = {"enrol": 10, "follow_up": "28d", "missing": 0.05, "withdrawal": "impute:0"}
    return plan(arms=2, difference=0.2, base=0.3, labels=["new | improved", "old"], what="cured", **options, **life)


def test_every_section_is_there_and_filled_in(planned: Plan) -> None:
    blocks = protocol_of(planned)
    assert [block.text for block in blocks if isinstance(block, Heading)] == SECTIONS
    text = markdown(blocks)
    for said in (
        "within 0.2 of the best, except with probability at most 0.05",
        "epsilon = 0.5",
        "within 28d of the assignment",
        "counted as 0 on every arm",
        "cured: one of 0 and 1; higher is better",
        "fixed design, same privacy",
        "O'Brien-Fleming",
        "nothing differs",
        CATALOGUE["fixed"].fingerprint,
        "doi:10.1214/aoms/1177728845",
        "new \\| improved",
    ):
        assert said in text
    assert re.findall(r"\[[^\]]*\]", text) == ["[Population, sites and investigators.]"]
    assert "None" not in text
    assert "nan" not in text


def test_the_rules_of_coins_are_in_words_and_formula(planned: Plan) -> None:
    from dataclasses import replace

    design = planned.design | {"algorithm": CATALOGUE["evidence"].identity}
    design.pop("base")
    text = markdown(protocol_of(replace(planned, algorithm="evidence", design=design)))
    assert "a coin of their own" in text
    assert "π(a) W(b|a) ≥ 1/δ" in text
    assert "Ville" in text
    assert "doi:10.1214/23-STS894" in text
    without = replace(planned, algorithm="evidence", design=design | {"difference": "0"}, difference=0.0)
    assert "W(b) ≥ 1/δ; the last arm is recommended" in markdown(protocol_of(without))


def test_every_form_says_the_same(planned: Plan, tmp_path: Path) -> None:
    for ending in ("md", "html", "docx"):
        planned.protocol(tmp_path / f"protocol.{ending}")
    page = (tmp_path / "protocol.html").read_text()
    assert all(f"<h2>{name}</h2>" in page for name in SECTIONS)
    assert "<script" not in page
    document = docx.Document(str(tmp_path / "protocol.docx"))
    words = [paragraph.text for paragraph in document.paragraphs]
    assert set(SECTIONS) <= set(words)
    assert len(document.tables) == 4
    assert document.tables[2].rows[1].cells[0].text == "nothing differs"
    assert "## Privacy" in (tmp_path / "protocol.md").read_text()
    with pytest.raises(InputError, match=r"\.docx"):
        write_protocol(planned, tmp_path / "protocol.pdf")
    assert not (tmp_path / "protocol.pdf").exists()


def test_the_command_writes_it_and_simulates_the_scenarios(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["plan", "--arms", "3", "--difference", "0.3", "--base", "0.3", "--epsilon", "1", "--delta", "0.1"]
    command += ["--algorithm", "fixed", "--runs", "10", "--json"]
    path = tmp_path / "protocol.md"
    assert main([*command, "--protocol", str(path)]) == 0
    assert "late outcomes" in path.read_text()
    assert main([*command, "--protocol", str(tmp_path / "p.txt")]) == 2
    assert "ends in .md, .html, .docx" in capsys.readouterr().err


def test_a_plan_shows_itself(planned: Plan) -> None:
    assert "Answer: plan for" in str(planned)
    shown = planned._repr_html_()
    assert "<table>" in shown
    assert "O&#x27;Brien-Fleming" in shown
    assert "Operating" not in shown
    assert planned.plot().axes
