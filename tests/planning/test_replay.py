"""Replays: a finished experiment, run again with this design on its own people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bestarm as ba
from bestarm.cli import main
from bestarm.planning.replaying import PARTS, read_experiment
from bestarm.theory.fixed import fixed_people
from tests.chance import FALSE_ALARM, same_law

QUICK: dict[str, Any] = {"algorithm": "fixed", "epsilon": 1.0, "delta": 0.05, "difference": 0.2, "runs": 40}
COUNTED = Path(__file__).parents[2] / "docs" / "replay"


def experiment(people: int = 600, seed: int = 1, drift: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    arms = rng.integers(0, 2, people)
    when = np.arange(people)
    means = np.where(arms == 0, 0.7, 0.3) + drift * (when >= people // 2)
    frame = pd.DataFrame({"group": np.where(arms == 0, "new", "old"), "well": (rng.random(people) < means) * 1})
    frame["day"] = when
    return frame.sample(frac=1, random_state=3)


def test_it_is_the_simulation_of_the_files_own_rates() -> None:
    frame = experiment()
    found = ba.replay(frame, arm="group", outcome="well", **QUICK)
    rates = frame.groupby("group")["well"].mean()
    assert found.means["new"] == pytest.approx(rates["new"])
    assert found.people_in_file == 600
    assert found.counts == frame["group"].value_counts().to_dict()
    assert found.fixed_people == found.mean_people
    from bestarm.release import no_privacy

    assert found.fixed_people_nonprivate == fixed_people(2, rates["old"], 0.2, 0.05, no_privacy())
    assert found.recommended["new"] == 1.0
    assert found.enough == 1.0
    assert found.within_difference == 1.0
    assert "people in the file" in found._repr_html_()
    assert found.plot().axes
    assert "people in the file: 600" in str(found)


def test_in_time_order_what_drifted_drifts_again() -> None:
    # Everybody does better in the second half; a design of the first hundred people sees the first half only.
    frame = experiment(people=4000, drift=0.25)
    recorded = read_experiment(frame, "group", "well", "day", None)
    assert recorded.ordered
    # In order: of the first half so many did well as in the sorted table.
    assert np.nanmean(recorded.outcomes[:2000]) == frame.sort_values("day")["well"][:2000].mean()
    found = ba.replay(frame, arm="group", outcome="well", time="day", **QUICK)
    assert found.in_time_order
    assert found.recommended["new"] > 0.9
    steady = ba.replay(
        experiment(people=4000),
        arm="group",
        outcome="well",
        time="day",
        **QUICK | {"algorithm": "dp-se", "difference": None},
    )
    mixed = ba.replay(
        experiment(people=4000), arm="group", outcome="well", **QUICK | {"algorithm": "dp-se", "difference": None}
    )
    assert same_law(steady.samples.tolist(), mixed.samples.tolist()) > FALSE_ALARM
    assert PARTS > 1


def test_missing_outcomes_and_outcomes_on_a_scale() -> None:
    frame = experiment().assign(score=lambda f: 100 - 60 * f["well"] + np.arange(len(f)) % 7)
    frame.loc[frame.index[::5], "score"] = np.nan
    options = QUICK | {"difference": 15, "low": 0, "high": 110}
    found = ba.replay(frame, arm="group", outcome="score", lower_is_better=True, **options)
    assert found.recommended["new"] == 1.0
    assert 40 < found.means["new"] < found.means["old"] < 110
    with pytest.raises(ba.InputError, match="--low"):
        ba.replay(frame, arm="group", outcome="score", **QUICK)


def test_the_command_reads_counts_and_has_the_promised_keys(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = COUNTED / "torch.csv"
    command = ["replay", str(path), "--count", "count", "--lower-is-better", "--epsilon", "1", "--delta", "0.1"]
    command += ["--difference", "0.05", "--algorithm", "fixed", "--runs", "20"]
    assert main([*command, "--json", "--figure", str(tmp_path / "f.png")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"people_in_file", "mean_people", "p90_people", "fixed_people", "recommended"} <= set(found)
    assert found["people_in_file"] == 6112
    assert sum(found["recommended"].values()) == pytest.approx(1)
    assert found["means"]["combination"] == pytest.approx(0.1259, abs=1e-4)
    assert (tmp_path / "f.png").exists()
    assert main(command) == 0
    assert "the fixed design with the same promise" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "people", "rates"),
    [
        ("gusto-i", 40_830, [0.0631, 0.0701, 0.0732]),
        ("turnout", 305_866, [0.297, 0.315, 0.322, 0.378]),
        ("torch", 6_112, [0.126, 0.135, 0.152, 0.160]),
        ("class-sizes", 3_047, [0.836, 0.825, 0.839]),
    ],
)
def test_the_published_counts_are_those_that_are_cited(name: str, people: int, rates: list[float]) -> None:
    frame = pd.read_csv(COUNTED / f"{name}.csv")
    by_arm = frame.groupby("arm", sort=False)["count"].sum()
    assert by_arm.sum() == people
    ones = frame[frame["outcome"] == 1].set_index("arm")["count"]
    assert (ones / by_arm).tolist() == pytest.approx(rates, abs=6e-4)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("a,b\n1,2\n", {}, "no column 'arm'"),
        ("", {}, "not a CSV"),
        ("arm,outcome\n", {}, "at least one row"),
        ("arm,outcome\na,1\n", {}, "one arm only"),
        ("arm,outcome\na,1\nb,x\n", {}, "numbers"),
        ("arm,outcome\na,1\n,0\n", {}, "an arm in every row"),
        ("arm,outcome,n\na,1,2\nb,0,x\n", {"count": "n"}, "whole numbers"),
        ("arm,outcome,n\na,1,2\nb,0,1.5\n", {"count": "n"}, "whole numbers"),
        ("arm,outcome,day\na,1,2\nb,0,\n", {"time": "day"}, "order is not known"),
        ("arm,outcome\na,1\nb,\n", {}, "no outcomes in the file"),
    ],
)
def test_a_file_that_cannot_be_replayed_says_why(
    text: str, options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "data.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ba.InputError, match=words):
        ba.replay(path, **QUICK | options)
