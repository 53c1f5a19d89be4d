"""Operating characteristics: what each scenario is, what its figures say, and how the table can be kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bestarm.cli import main
from bestarm.errors import InputError
from bestarm.planning import OperatingCharacteristics, Question, operating_characteristics
from bestarm.planning.operating import SCENARIOS, _round_up
from tests.chance import FALSE_ALARM, at_most

RUNS = 60
OPTIONS: dict[str, Any] = {"algorithm": "fixed", "epsilon": 1.0, "delta": 0.05, "base": 0.3, "difference": 0.2}


@pytest.fixture(scope="module")
def table() -> OperatingCharacteristics:
    return operating_characteristics(arms=3, runs=RUNS, enrol=10, follow_up="14d", **OPTIONS)


def test_every_scenario_is_there_and_its_shares_add_up(table: OperatingCharacteristics) -> None:
    rows = table.to_json()
    assert [row["name"] for row in rows] == [case.name for case in SCENARIOS]
    for row in rows:
        assert row["within_difference"] + row["wrong"] + row["undecided"] == pytest.approx(1)
        assert row["correct"] <= row["within_difference"]
        assert sum(row["per_arm"]) == pytest.approx(row["mean_samples"])
        assert row["median_samples"] <= row["p80_samples"] <= row["p90_samples"]
        assert row["wrong_se"] > 0
        assert row["mean_days"] >= 14


def test_scenarios_are_what_they_say() -> None:
    question = Question.ask([0.3, 0.5, 0.2], epsilon=1, difference=0.1, delta=0.05)
    made = {case.name: case.of(question, 1000.0) for case in SCENARIOS}
    assert made["nothing differs"].means == (0.3, 0.3, 0.3)
    assert made["least favourable"].means == (0.3, 0.4, 0.3)
    assert made["as hoped"] == question
    assert made["twice as good"].means == (0.3, 0.7, 0.2)
    assert made["one bad arm"].means == (0.3, 0.5, 0.1)
    assert (made["a trend"].life.trend, made["a trend"].life.size) == ("linear", 0.2)
    assert made["10 % missing"].life.missing == (0.1, 0.1, 0.1)
    assert made["late outcomes"].design.follow_up == 500 * 86400
    high = Question.ask([0.9, 0.95], epsilon=1, difference=0.2)
    assert {case.name: case.of(high, 10.0) for case in SCENARIOS}["least favourable"].means == (0.8, 1.0)


def test_the_promise_is_kept_in_every_row(table: OperatingCharacteristics) -> None:
    for row in table.rows:
        if row.name not in ("10 % missing",):  # imputed zeros shrink the gap below what was promised
            assert at_most(round(row.wrong.value * RUNS), RUNS, 0.05) > FALSE_ALARM


def test_the_winners_estimate_is_biased_upwards_where_nothing_differs(table: OperatingCharacteristics) -> None:
    by_name = {row.name: row for row in table.rows}
    bias = by_name["nothing differs"].bias
    assert bias is not None
    # The highest of three equal means: .85 standard deviations above, and here the deviation is about .07.
    assert 0.0 < bias.value < 0.15
    hoped = by_name["as hoped"].bias
    assert hoped is not None
    assert abs(hoped.value) < bias.value


def test_the_table_is_kept_in_every_form(table: OperatingCharacteristics, tmp_path: Path) -> None:
    for ending in ("md", "html", "csv", "png"):
        table.save(tmp_path / f"table.{ending}")
    lines = (tmp_path / "table.md").read_text().splitlines()
    assert lines[0].startswith("| scenario | means | people: mean")
    assert sum(line.startswith("| ") for line in lines) == 1 + len(SCENARIOS)
    assert len({line.count("|") for line in lines[: 2 + len(SCENARIOS)]}) == 1
    frame = pd.read_csv(tmp_path / "table.csv")
    assert frame["mean_samples"].tolist() == pytest.approx([row.mean_samples.value for row in table.rows])
    assert (tmp_path / "table.png").read_bytes()[:4] == b"\x89PNG"
    page = (tmp_path / "table.html").read_text()
    assert table._repr_html_() in page
    assert page.count("<tr>") == 1 + len(SCENARIOS)
    with pytest.raises(InputError, match=r"\.csv"):
        table.save(tmp_path / "table.xlsx")


def test_without_a_calendar_there_are_no_days_and_ties_end_at_the_cap() -> None:
    # DP-SE cannot be told a difference, and goes on for ever where nothing differs.
    quick: dict[str, Any] = {"algorithm": "dp-se", "epsilon": 1.0, "delta": 0.1, "runs": 20}
    found = operating_characteristics([0.9, 0.3], **quick)
    assert found.warnings == ()
    rows = {row.name: row for row in found.rows}
    assert rows["as hoped"].mean_days is None
    assert "days" not in found.to_markdown()
    assert rows["nothing differs"].undecided.value == 1.0
    assert rows["nothing differs"].mean_samples.value == found.cap
    assert rows["as hoped"].undecided.value == 0.0
    assert found.to_dataframe()["bias"].notna()[2]


def test_what_is_odd_is_said_with_the_table() -> None:
    found = operating_characteristics([0.9, 0.3], algorithm="dp-se", epsilon=50.0, delta=0.1, runs=2)
    assert found.warnings == tuple(Question.ask([0.9, 0.3], algorithm="dp-se", epsilon=50.0, delta=0.1).warnings())
    assert "protects hardly anybody" in found.warnings[0]
    assert "Mind: epsilon is 50; a budget above 10 protects hardly anybody" in found.to_markdown()


def test_the_command_shows_and_keeps_the_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["plan", "--arms", "2", "--difference", "0.3", "--base", "0.3", "--epsilon", "1", "--delta", "0.1"]
    command += ["--algorithm", "fixed", "--runs", "20", "--scenarios"]
    assert main([*command, "--json", "--table", str(tmp_path / "t.md")]) == 0
    found = json.loads(capsys.readouterr().out)
    keys = {"name", "mean_samples", "median_samples", "p90_samples", "mean_days", "correct", "within_difference"}
    assert all(keys | {"wrong", "undecided", "per_arm"} <= set(row) for row in found["scenarios"])
    assert len(found["scenarios"]) == 8
    assert (tmp_path / "t.md").exists()
    assert main(command) == 0
    assert "Operating characteristics" in capsys.readouterr().out
    assert main([*command[:-1], "--table", "t.md"]) == 2
    assert main([*command, "--table", "t.doc"]) == 2


def test_a_generous_cap_is_a_round_number() -> None:
    assert [_round_up(x) for x in (0.0, 7.2, 99.0, 101.0, 4567.0)] == [0, 8, 99, 110, 4600]
