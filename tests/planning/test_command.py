"""`bestarm plan` on the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bestarm.cli import main
from bestarm.policy.catalogue import CATALOGUE, REVISIONS

PLAN = ["plan", "--means", "0.5,0.2,0.2", "--epsilon", "0.5", "--delta", "0.05", "--algorithm", "dp-se", "--runs", "30"]


def test_json_has_the_promised_keys(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    figure = tmp_path / "plan.png"
    assert main([*PLAN, "--participants", "5000", "--figure", str(figure), "--json"]) == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert {
        "expected_samples",
        "standard_error",
        "p90_samples",
        "per_arm",
        "releases",
        "lower_bound_refined",
        "by_epsilon",
        "smallest_epsilon",
        "smallest_gap",
    } <= set(found)
    assert len(found["per_arm"]) == 3
    assert {"epsilon", "expected_samples", "p90_samples", "lower_bound_refined"} <= set(found["by_epsilon"][0])
    assert 0 < found["smallest_epsilon"] <= 100
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert str(figure) in shown.err


def test_words_and_tables_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--arms", "3", "--gap", "0.3", "--base", "0.2", *PLAN[3:]]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "9 trials in 10 end within" in text
    assert "this plan" in text
    assert "If the gap is only 0.15 instead of 0.3" in text
    assert "high-privacy regime" in text


def test_a_difference_leaves_no_lower_bound_and_odd_designs_are_cautioned(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    zoned = replace(CATALOGUE["dp-se"], supports_indifference=True)
    monkeypatch.setitem(CATALOGUE, "dp-se", zoned)
    monkeypatch.setitem(REVISIONS, zoned.identity, zoned)
    asked = ["plan", "--means", "0.9,0.2", "--epsilon", "20", "--delta", "0.3", "--runs", "4", "--difference", "0.6"]
    asked += ["--algorithm", "dp-se"]
    assert main([*asked, "--json"]) == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert found["difference"] == 0.6
    assert found["lower_bound_refined"] is None
    assert all(point["lower_bound_refined"] is None for point in found["by_epsilon"])
    cautions = [line for line in shown.err.splitlines() if line.startswith("Caution: ")]
    assert len(cautions) == 3
    assert main(asked) == 0
    assert "No lower bound is known" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (["--arms", "3"], "not both"),
        (["--participants", "2"], "at least one for every arm"),
        (["--figure", "plan.jpg"], ".png"),
        (["--runs", "0"], "at least 2"),
        (["--algorithm", "guess"], "guess"),
        (["--epsilon", "0"], "positive"),
        (["--seed", "-1"], "seed"),
        (["--max-samples", "1"], "largest number"),
    ],
)
def test_bad_input_is_one_line(extra: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PLAN, *extra, "--json"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert words in shown.err


def test_an_unwritable_figure_is_said_in_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert main([*PLAN, "--figure", str(tmp_path / "file" / "plan.png"), "--json"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Traceback" not in shown.err
