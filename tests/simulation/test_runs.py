"""Runs are reproducible, capped honestly, checked at the door, and the same however they are computed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bestarm as ba
from bestarm.instance import Beta, Empirical, Instance, TruncatedNormal
from bestarm.policy.catalogue import CATALOGUE
from bestarm.simulation.runs import make_scenario, run_chunk
from bestarm.simulation.tables import read_table

MEANS = [0.9, 0.5, 0.3]


def same(a: ba.Results, b: ba.Results) -> bool:
    return bool(
        np.array_equal(a.samples, b.samples)
        and np.array_equal(a.recommended, b.recommended)
        and np.array_equal(a.per_arm, b.per_arm)
        and np.array_equal(a.releases, b.releases)
    )


def test_what_is_odd_about_a_design_is_said_with_its_runs() -> None:
    odd = ba.simulate("dp-se", means=[0.9, 0.1], epsilon=50, delta=0.1, runs=2)
    assert odd.warnings == ("epsilon is 50; a budget above 10 protects hardly anybody.",)
    assert "mind: epsilon is 50;" in str(odd)
    assert "epsilon is 50;" in odd._repr_html_()
    assert ba.simulate("dp-se", means=[0.9, 0.1], epsilon=1, delta=0.1, runs=2).warnings == ()


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_run_depends_on_seed_scenario_and_number_only(name: str) -> None:
    run: dict[str, Any] = {"means": [0.9, 0.76, 0.3], "epsilon": 1.0, "delta": 0.1, "seed": 11}
    if CATALOGUE[name].needs_base:  # of a fixed size, so that runs differ in what they recommend alone: let them
        run |= {"means": [0.52, 0.5, 0.5], "difference": 0.02, "delta": 0.6}
    many = ba.simulate(name, runs=12, **run)
    few = ba.simulate(name, runs=5, **run)
    assert np.array_equal(many.samples[:5], few.samples)
    assert np.array_equal(many.per_arm[:5], few.per_arm)
    other = ba.simulate(name, runs=12, **{**run, "seed": 12})
    assert not same(many, other)
    assert (many.samples == many.per_arm.sum(axis=1)).all()


def test_jobs_and_chunks_do_not_matter() -> None:
    run: dict[str, Any] = {"means": MEANS, "epsilon": 1.0, "delta": 0.1, "seed": 3, "runs": 23}
    alone = ba.simulate("dp-se", jobs=1, **run)
    assert same(alone, ba.simulate("dp-se", jobs=2, **run))
    assert same(alone, ba.simulate("dp-se", jobs=1, progress=lambda done, of: None, **run))
    scenario = make_scenario("dp-se", Instance.bernoulli(MEANS), epsilon=1.0, delta=0.1)
    pieces = np.concatenate([run_chunk(scenario, 3, a, b, 10**8).samples for a, b in ((0, 1), (1, 20), (20, 23))])
    assert np.array_equal(pieces, alone.samples)


def test_progress_is_told_and_ends_at_all_runs() -> None:
    told: list[tuple[int, int]] = []
    ba.simulate("dp-se", means=MEANS, epsilon=1, runs=30, progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (30, 30)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_a_capped_run_is_undecided_at_the_cap_and_else_unchanged() -> None:
    run: dict[str, Any] = {"means": [0.7, 0.6], "epsilon": 1.0, "delta": 0.05, "runs": 40, "seed": 5}
    free = ba.simulate("adap-tt-published", **run)
    cap = int(np.median(free.samples))
    capped = ba.simulate("adap-tt-published", max_samples=cap, **run)
    late = free.samples > cap
    assert late.any()
    assert (~late).any()
    assert (capped.samples[late] == cap).all()
    assert not capped.decided[late].any()
    assert np.array_equal(capped.samples[~late], free.samples[~late])
    summary = capped.summary()
    assert summary.undecided == late.sum()
    assert summary.mean_samples_decided == pytest.approx(free.samples[~late].mean())
    assert summary.mean_samples == pytest.approx(np.minimum(free.samples, cap).mean())


def test_jumping_runs_are_capped_too() -> None:
    results = ba.simulate("dp-se", means=[0.51, 0.5], epsilon=0.1, runs=3, max_samples=12_345)
    assert (results.samples == 12_345).all()
    assert results.summary().undecided == 3
    assert math.isnan(results.summary().mean_samples_decided)


def test_an_undecided_run_is_not_an_error() -> None:
    assert ba.simulate("adap-tt", means=[0.5, 0.49], epsilon=1, runs=5, max_samples=100).summary().error_rate == 0


def test_the_frame_says_where_it_comes_from() -> None:
    frame = ba.simulate("dp-se", means=MEANS, epsilon=1, runs=4, seed=9).to_dataframe()
    assert list(frame.columns)[:6] == ["run", "samples", "recommended", "decided", "wrong", "releases"]
    assert frame.attrs["seed"] == 9
    assert frame.attrs["version"] == ba.__version__
    assert frame.attrs["algorithm"] == "dp-se"


@pytest.mark.parametrize(
    "laws",
    [
        (Beta(8.0, 2.0), Beta(2.0, 8.0)),
        (TruncatedNormal(0.9, 0.2), TruncatedNormal(0.2, 0.2)),
        (Empirical([0.0, 0.9, 1.0, 1.0]), Empirical([0.1, 0.2, 0.0])),
    ],
)
def test_bounded_outcomes_of_any_law(laws: tuple[Any, ...]) -> None:
    results = ba.simulate("dp-se", instance=Instance(laws), epsilon=1, delta=0.05, runs=30, seed=1)
    assert (results.recommended == 0).all()


def triangle(rng: np.random.Generator, arm: int) -> float:
    return float((rng.random() + rng.random()) / (2 + 2 * arm))


def test_a_sampler_of_ones_own() -> None:
    instance = Instance.sampled(triangle, [0.5, 0.25])
    results = ba.simulate("dp-se", instance=instance, epsilon=1, delta=0.05, runs=30, seed=1)
    assert (results.recommended == 0).all()
    other = ba.simulate("adap-tt-published", instance=instance, epsilon=1, delta=0.05, runs=30, seed=1)
    assert (other.recommended == 0).all()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"algorithm": "adapt"}, "adap-tt"),
        ({"means": [0.5]}, "two"),
        ({"means": [0.5, 1.5]}, "between 0 and 1"),
        ({"means": [0.5, math.nan]}, "between 0 and 1"),
        ({"means": [0.5, 0.5, 0.1]}, "--difference"),
        ({"means": None}, "either"),
        ({"epsilon": 0.0}, "positive"),
        ({"epsilon": math.nan}, "positive"),
        ({"epsilon": math.inf}, "finite"),
        ({"epsilon": None}, "--epsilon"),
        ({"delta": 0.0}, "between 0 and 1"),
        ({"delta": 1.0}, "between 0 and 1"),
        ({"delta": math.nan}, "between 0 and 1"),
        ({"runs": 0}, "at least 1"),
        ({"seed": -1}, "from 0"),
        ({"jobs": 0}, "from 1"),
        ({"max_samples": 1}, "between"),
        ({"max_samples": 10**16}, "between"),
        ({"privacy": "secret"}, "pure"),
        ({"privacy": "local"}, "offers"),
        ({"max_samples": 99, "max_participants": 99}, "one of the two"),
        ({"indifference": -0.1}, "at least 0"),
        ({"difference": 1}, "below"),
        ({"indifference": 0.1}, "--difference"),
        ({"difference": 0.1, "indifference": 0.1}, "one of the two"),
        ({"algorithm": "adap-tt@7"}, "adap-tt@1"),
        ({"beta": 0.0}, "beta"),
        ({"s": 1.0}, "above 1"),
    ],
)
def test_bad_input_is_one_clear_sentence(change: dict[str, Any], word: str) -> None:
    settings: dict[str, Any] = {"algorithm": "adap-tt", "means": MEANS, "epsilon": 1.0, "delta": 0.1, "runs": 2}
    with pytest.raises(ba.InputError) as caught:
        ba.simulate(**{**settings, **change})
    sentence = str(caught.value)
    assert word in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence


def test_non_private_algorithms_ignore_epsilon() -> None:
    with_budget = ba.simulate("ttucb", means=MEANS, epsilon=0.01, delta=0.1, runs=5)
    assert same(with_budget, ba.simulate("ttucb", means=MEANS, delta=0.1, runs=5))


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_results_are_saved_with_their_settings(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"runs.{ending}"
    results = ba.simulate("dp-se", means=MEANS, epsilon=1, runs=4, seed=9)
    results.save(path)
    if ending == "parquet":
        frame, notes = read_table(path)
        assert notes["seed"] == "9"
        assert notes["algorithm"] == "dp-se"
    else:
        frame = pd.read_csv(path)
        assert (frame["seed"] == 9).all()
        assert (frame["version"] == ba.__version__).all()
    assert frame["samples"].tolist() == results.samples.tolist()


def test_results_are_not_saved_as_something_else(tmp_path: Path) -> None:
    with pytest.raises(ba.InputError, match=r"\.parquet or \.csv"):
        ba.simulate("dp-se", means=MEANS, epsilon=1, runs=2).save(tmp_path / "runs.xlsx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("means", "difference"), [((0.15, 0.05), 0.1), ((0.4, 0.3), 0.1), ((0.575, 0.425), 0.15)])
def test_an_arm_at_the_very_edge_is_wrong_however_decimals_round(means: tuple[float, ...], difference: float) -> None:
    run: dict[str, Any] = {"epsilon": 1, "delta": 0.4, "difference": difference, "runs": 30, "seed": 3}
    results = ba.simulate("fixed", means=means, **run)
    assert results.wrong.tolist() == (results.recommended == 1).tolist()
    assert results.wrong.any()
