"""Files in and out: CSV of outcomes all or nothing, the public files, and the report."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from bestarm.errors import InputError
from bestarm.trial.exchange import RowsRefused
from bestarm.trial.trial import Trial
from tests.trial.people import ChosenNoise, Clock, enrol


def make(place: str | Path, **changes: Any) -> Trial:
    plan: dict[str, Any] = {"name": "t", "arms": ["a", "b", "<c & d>"], "epsilon": 1, "delta": 0.1}
    return Trial.create(place, **(plan | {"algorithm": "uniform", "noise": ChosenNoise()} | changes))


def test_a_file_of_outcomes_is_told_all_or_not_at_all(place: str, tmp_path: Path) -> None:
    trial = make(place)
    ids = [str(a.id) for a in trial.ask_many(["x", "y", "z"])]
    trial.tell(ids[2], 1)
    file = tmp_path / "in.csv"
    file.write_text(f"outcome,assignment\n1,{ids[0]}\n2,{ids[1]}\n1,7-aaaa\n0,{ids[2]}\n")
    with pytest.raises(RowsRefused) as refused:
        trial.tell_csv(file)
    assert [(a.line, a.problem is None) for a in refused.value.answers] == [
        (2, True),
        (3, False),
        (4, False),
        (5, False),
    ]
    assert "between 0 and 1" in str(refused.value.answers[1].problem)
    assert len(trial.open_assignments()) == 2
    file.write_text(f"\ufeffassignment,outcome\n{ids[0]}, 1\n\n{ids[1]},0.5\n{ids[2]},1\n", encoding="utf-8")
    assert [a.status for a in trial.tell_csv(file)] == ["recorded", "recorded", "already recorded"]
    assert trial.verify().ok


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "assignment,outcome\n1,2,3\n"])
def test_files_that_cannot_be_read(sqlite_place: str, tmp_path: Path, text: str) -> None:
    file = tmp_path / "in.csv"
    file.write_text(text)
    with pytest.raises(InputError):
        make(sqlite_place).tell_csv(file)


def test_public_files_hold_the_releases(sqlite_place: str, tmp_path: Path) -> None:
    trial = make(sqlite_place)
    enrol(trial, {"a": 0.1, "b": 0.5, "<c & d>": 0.9}, 30)
    files = trial.export_public(tmp_path / "out")
    with Path(files["releases.csv"]).open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [float(row["value"]) for row in rows] == [r["value"] for r in trial.status()["releases"]]
    assert json.loads(Path(files["status.json"]).read_text()) == trial.status()
    assert json.loads(Path(files["ledger.json"]).read_text()) == trial.ledger()


def test_confidential_files_hold_everything(sqlite_place: str, tmp_path: Path) -> None:
    trial = make(sqlite_place)
    enrol(trial, {"a": 0.1, "b": 0.5, "<c & d>": 0.9}, 10)
    files = trial.export_confidential(tmp_path / "out")
    with Path(files["assignments.csv"]).open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 10
    assert {row["outcome"] for row in rows} <= {"0", "1"}
    log = [json.loads(line) for line in Path(files["events.jsonl"]).read_text().splitlines()]
    assert log[-1]["hash"] == trial.verify().head
    assert all(Path(path).stat().st_mode & 0o077 == 0 for path in files.values())
    assert "subject 3" not in Path(files["events.jsonl"]).read_text()


def test_the_report_stands_alone(sqlite_place: str, tmp_path: Path) -> None:
    trial = make(sqlite_place)
    enrol(trial, {"a": 0.1, "b": 0.5, "<c & d>": 0.9}, 60)
    files = trial.report(tmp_path / "out")
    page = Path(files["html"]).read_text()
    assert page.count('<div class="bars">') == 2
    assert page.count('class="timeline"') == 1
    assert "&lt;c &amp; d&gt;" in page
    assert "<c & d>" not in page
    outside = re.findall(r"(?:src|href|url\()\s*=?\s*[\"']?(?!http://www.w3.org)([^\"' >)]+)", page)
    assert outside == []
    assert "<script" not in page
    data = json.loads(Path(files["json"]).read_text())
    assert data["status"] == trial.status()
    with trial._store.reading(trial.name) as reading:
        assert data["head"] == reading.public_head
    assert data["design"]["epsilon"] == "1"


@pytest.mark.parametrize("people", [0, 2])
def test_a_report_of_a_trial_that_has_hardly_begun(sqlite_place: str, tmp_path: Path, people: int) -> None:
    trial = make(sqlite_place)
    enrol(trial, {"a": 0.1, "b": 0.5, "<c & d>": 0.9}, people)
    page = Path(trial.report(tmp_path / "out")["html"]).read_text()
    assert "No verdict yet" in page
    assert "The trial is recruiting." in page


def test_reports_of_the_same_releases_are_the_same_but_for_the_head(tmp_path: Path) -> None:
    def page(name: str, outcomes: list[int], noise: list[int]) -> str:
        trial = make(tmp_path / f"{name}.db", noise=ChosenNoise(noise), clock=Clock())
        asked = trial.ask_many(["x", "y", "z"])
        trial.tell_many([(str(a.id), x) for a, x in zip(asked, outcomes, strict=True)])
        text = Path(trial.report(tmp_path / name)["html"]).read_text()
        with trial._store.reading(trial.name) as reading:
            return text.replace(reading.public_head, "HEAD")

    step = 2**20
    assert page("one", [0, 1, 1], [0, 0, 0]) == page("two", [1, 0, 1], [-step, step, 0])


def test_heuristics_say_so_wherever_results_are_shown(sqlite_place: str, tmp_path: Path) -> None:
    trial = make(sqlite_place, algorithm="adap-tt-published")
    assert trial.status()["caveat"] == "heuristic threshold, not proven"
    assert "Heuristic threshold, not proven" in Path(trial.report(tmp_path / "out")["html"]).read_text()
