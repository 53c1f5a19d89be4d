"""Tables in and out of a trial, and what a notebook shows."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bestarm as ba
from bestarm.trial.trial import Trial
from tests.trial.people import ChosenNoise


def make(place: str, **changes: Any) -> Trial:
    plan: dict[str, Any] = {"name": "t", "arms": ["a", "b"], "epsilon": 1, "delta": 0.1, "algorithm": "uniform"}
    return Trial.create(place, **(plan | {"noise": ChosenNoise(), "outcomes": "binary"} | changes))


def test_series_and_frames_are_asked_and_told(sqlite_place: str) -> None:
    trial = make(sqlite_place)
    first = trial.ask_many(pd.Series(["p-1", "p-2", "p-3", "p-4"]))
    assert [one.arm for one in first] == ["a", "b", "a", "b"]
    again = trial.ask_many(pd.DataFrame({"subject": ["p-1", "p-2"], "age": [31, 50]}))
    assert [one.id for one in again] == [one.id for one in first[:2]]
    told = trial.tell_many(pd.DataFrame({"assignment": [one.id for one in first[:2]], "outcome": np.array([1, 0])}))
    assert told == ["recorded", "recorded"]
    assert trial.tell_many(pd.DataFrame({"subject": ["p-3"], "outcome": [1.0]})) == ["recorded"]
    assert trial.tell_many(pd.Series([0], index=[first[3].id])) == ["recorded"]
    assert trial.verify().ok


@pytest.mark.parametrize("empty", [None, np.nan, pd.NA, pd.NaT])
def test_empty_cells_are_refused_and_nobody_is_enrolled(empty: object, sqlite_place: str) -> None:
    trial = make(sqlite_place)
    with pytest.raises(ba.InputError, match="missing in row 2"):
        trial.ask_many(pd.Series(["p-1", empty, "p-3"], dtype=object))
    with pytest.raises(ba.InputError, match="missing in row 1"):
        trial.ask_many(pd.DataFrame({"subject": pd.Series([empty], dtype=object)}))
    assert sum(trial.status()["assigned"].values()) == 0
    asked = trial.ask("p-1")
    with pytest.raises(ba.InputError, match="outcome is missing in row 1"):
        trial.tell_many(pd.DataFrame({"assignment": [asked.id], "outcome": pd.Series([empty], dtype=object)}))
    with pytest.raises(ba.InputError, match="no column 'subject'"):
        trial.ask_many(pd.DataFrame({"code": ["p-1"]}))
    with pytest.raises(ba.InputError, match="no column 'outcome'"):
        trial.tell_many(pd.DataFrame({"subject": ["p-1"]}))


def test_what_is_public_comes_as_frames_and_shows_itself(sqlite_place: str) -> None:
    trial = make(sqlite_place)
    assert trial.releases_frame().empty
    for number in range(12):
        trial.tell(str(trial.ask(f"p-{number}").id), number % 2)
    releases = trial.releases_frame()
    assert list(releases.columns) == ["stage", "kind", "arm", "rival", "people", "value", "mean", "epsilon"]
    assert len(releases) == len(trial.status()["releases"])
    assert releases["people"].sum() <= 12
    estimates = trial.estimates_frame()
    assert estimates["arm"].tolist() == ["a", "b"]
    assert estimates["people"].sum() == 12
    assert "Trial <b>t</b>" in trial._repr_html_()
    assert repr(trial) == "<Trial 't': a, b; uniform@1>"
    assert trial.plot().axes


def test_markup_in_labels_is_never_markup(sqlite_place: str) -> None:
    trial = make(sqlite_place, arms=["<b>", "b"])
    assert "<b></th>" not in trial._repr_html_()
    assert "&lt;b&gt;" in trial._repr_html_()


def test_results_show_themselves() -> None:
    results = ba.simulate("dp-se", means=[0.9, 0.2], epsilon=1, delta=0.1, runs=20, enrol=5, follow_up="3d")
    assert "people, mean" in str(results)
    assert "days, mean" in results._repr_html_()
    assert results.plot().axes


def test_a_progress_bar_draws_itself_once_for_each_change() -> None:
    shown = io.StringIO()
    bar = ba.ProgressBar("Planning", shown)
    for done in (0, 50, 50, 100):
        bar(done, 100)
    assert shown.getvalue().count("\r") == 3
    assert shown.getvalue().endswith("100 %\n")
    ba.simulate("dp-se", means=[0.9, 0.2], epsilon=1, delta=0.1, runs=5, progress=ba.ProgressBar("Simulating", shown))
    assert "Simulating" in shown.getvalue()
