"""`bestarm algorithms` and `simulate` as a user types them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import bestarm as ba
from bestarm.cli import main
from bestarm.policy.catalogue import CATALOGUE

SIMULATE_KEYS = {
    "algorithm",
    "runs",
    "mean_samples",
    "std_samples",
    "median_samples",
    "p90_samples",
    "mean_samples_decided",
    "error_rate",
    "undecided",
    "mean_releases",
    "seconds",
    "lower_bound_refined",
    "mean_days",
    "mean_outstanding",
    "within_difference",
}


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert isinstance(payload, dict)
    return payload


def test_algorithms_are_listed_with_what_they_promise(capsys: pytest.CaptureFixture[str]) -> None:
    rows = run_json(capsys, "algorithms")["algorithms"]
    assert {"adap-tt", "adap-tt-nonprivate", "ttucb", "dp-se", "uniform"} <= {row["name"] for row in rows}
    for row in rows:
        assert {"name", "summary", "privacy", "proven", "source"} <= row.keys()
        assert row["proven"] == (not row["name"].endswith("-published"))
    assert main(["algorithms"]) == 0
    assert "heuristic threshold, not proven" in capsys.readouterr().out


def test_simulate_gives_every_key_and_the_same_for_any_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["simulate", "--algorithm", "dp-se", "--means", "0.9,0.7,0.2", "--epsilon", "1", "--runs", "12"]
    one = run_json(capsys, *command, "--seed", "4")
    two = run_json(capsys, *command, "--seed", "4", "--jobs", "2")
    assert one.keys() >= SIMULATE_KEYS
    assert {**one, "seconds": 0} == {**two, "seconds": 0}


def test_undecided_runs_are_shown_and_what_does_not_exist_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(
        capsys,
        *("simulate", "--algorithm", "adap-tt", "--means", "0.51,0.5", "--epsilon", "1"),
        *("--runs", "3", "--max-samples", "50"),
    )
    assert found["undecided"] == 3
    assert found["mean_samples"] == 50
    assert found["mean_samples_decided"] is None
    assert found["error_rate"] == 0


def test_options_with_two_names(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    tied = ("simulate", "--means", "0.6,0.6", "--epsilon", "1", "--runs", "3", "--delta", "0.2")
    capped = run_json(capsys, *tied, "--max-participants", "60")
    assert {**capped, "seconds": 0} == {**run_json(capsys, *tied, "--max-samples", "60"), "seconds": 0}
    assert capped["lower_bound_refined"] is None
    apart = ("simulate", "--means", "0.9,0.1", "--epsilon", "1", "--runs", "2", "--algorithm", "dp-se")
    assert run_json(capsys, *apart)["lower_bound_refined"] > 0
    monkeypatch.setitem(CATALOGUE, "dp-se", replace(CATALOGUE["dp-se"], supports_indifference=True))
    zone = run_json(capsys, *apart, "--difference", "0.3")
    assert {**zone, "seconds": 0} == {**run_json(capsys, *apart, "--indifference", "0.3"), "seconds": 0}
    assert zone["lower_bound_refined"] is None


def test_life_is_simulated_and_every_run_can_be_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["simulate", "--algorithm", "dp-se", "--means", "0.9,0.7,0.2", "--epsilon", "1", "--runs", "12"]
    plain = run_json(capsys, *command)
    assert plain["mean_days"] is None
    assert plain["mean_outstanding"] == 0
    assert plain["within_difference"] == 1
    life = ["--enrol", "20", "--follow-up", "2w", "--missing", "0.1,0,0.2", "--trend", "bump:-0.1"]
    for ending in ("csv", "parquet"):
        path = tmp_path / f"runs.{ending}"
        found = run_json(capsys, *command, *life, "--arrivals", "poisson", "--ramp", "10d", "--out", str(path))
        frame = pd.read_csv(path) if ending == "csv" else pd.read_parquet(path)
        assert frame["days"].mean() == pytest.approx(found["mean_days"])
        assert frame["samples"].mean() == pytest.approx(found["mean_samples"])
    assert found["mean_days"] > found["mean_samples"] / 20
    assert main([*command, *life]) == 0
    shown = capsys.readouterr().out
    assert "20 people a day" in shown
    assert "a trend of all arms (bump, -0.1)" in shown
    assert "days, mean" in shown


def test_heuristics_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["simulate", "--algorithm", "ttucb-published", "--means", "0.9,0.1", "--runs", "3"]
    assert run_json(capsys, *command)["caveat"] == "heuristic threshold, not proven"
    assert main(command) == 0
    assert "heuristic threshold, not proven" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["--means", "0.9"],
        ["--means", "0.9,1.2"],
        ["--means", "0.9,nan"],
        ["--means", "0.9,0.9,0.1"],
        ["--means", "a,b"],
        ["--means", "0.9,0.1", "--epsilon", "0"],
        ["--means", "0.9,0.1", "--epsilon", "-1"],
        ["--means", "0.9,0.1", "--epsilon", "nan"],
        ["--means", "0.9,0.1", "--delta", "1"],
        ["--means", "0.9,0.1", "--runs", "0"],
        ["--means", "0.9,0.1", "--runs", "many"],
        ["--means", "0.9,0.1", "--seed", "-1"],
        ["--means", "0.9,0.1", "--jobs", "0"],
        ["--means", "0.9,0.1", "--max-samples", "1"],
        ["--means", "0.9,0.1", "--algorithm", "best"],
        ["--means", "0.9,0.1", "--privacy", "strong"],
        ["--means", "0.9,0.1", "--privacy", "zcdp"],
        ["--means", "0.9,0.1", "--indifference", "2"],
        ["--means", "0.9,0.1", "--wrong-option", "2"],
        ["--means", "0.9,0.1", "--enrol", "-3"],
        ["--means", "0.9,0.1", "--follow-up", "3d"],
        ["--means", "0.9,0.1", "--missing", "lots"],
        ["--means", "0.9,0.1", "--trend", "up"],
        ["--means", "0.9,0.1", "--out", "runs.xlsx"],
        [],
    ],
)
def test_bad_input_is_one_sentence_and_status_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    given = ["simulate", *arguments]
    if "--algorithm" not in given:
        given += ["--algorithm", "adap-tt"]
    if "--epsilon" not in given:
        given += ["--epsilon", "1"]
    assert main(given) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.strip().splitlines()) == 1
    assert "Traceback" not in shown.err


def test_version_and_quick_imports() -> None:
    script = (
        "import sys, bestarm; bad = {'numpy', 'scipy', 'numba', 'pandas', 'matplotlib'} & set(sys.modules); print(bad)"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "set()"
    script = "import sys; from bestarm.cli import main; main(['--help']); print({'numba', 'numpy'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout.strip().endswith("set()")
    version = subprocess.run(
        [sys.executable, "-m", "bestarm.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert version.stdout.strip() == f"bestarm {ba.__version__}"


def test_a_cold_run_says_that_it_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BESTARM_CACHE", str(tmp_path))
    command = [sys.executable, "-m", "bestarm.cli", "simulate", "--means", "0.9,0.1", "--epsilon", "1"]
    command += ["--algorithm", "dp-se", "--runs", "2", "--json"]
    cold = subprocess.run(command, capture_output=True, text=True, check=True)
    warm = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Compiling dp-se" in cold.stderr
    assert warm.stderr == ""
    assert json.loads(cold.stdout)["mean_samples"] == json.loads(warm.stdout)["mean_samples"]
