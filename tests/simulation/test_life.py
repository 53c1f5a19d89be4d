"""Time in the simulator: arrivals, follow-up, missing outcomes, trends, and what the results say of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bestarm as ba
from bestarm.instance import Bernoulli, Beta, Empirical, Instance, RewardLaw, TruncatedNormal
from bestarm.release import GRID
from bestarm.simulation import Life, make_scenario
from bestarm.simulation.by_the_clock import longer_ring
from bestarm.simulation.clock import Clock, come, count_by, day_of, due_after, is_before, next_after
from bestarm.simulation.people import (
    BUMP,
    DISCRETE_LAPLACE,
    LINEAR,
    NO_NOISE,
    RANDOMISED_RESPONSE,
    RECORDED,
    SEASON,
    STEP,
    Changes,
    SimulatedNoise,
    World,
    draw_counted,
    moved_mean,
    people_of,
    world_of,
)
from bestarm.simulation.runs import PILOT_RUNS, expected_people
from tests.chance import CLEARLY, FALSE_ALARM, fits_weights, mean_is, same_law

QUICK: dict[str, Any] = {"algorithm": "dp-se", "means": [0.9, 0.5, 0.3], "epsilon": 1.0, "delta": 0.1}


@pytest.mark.parametrize("ramp", [0.0, 30.0])
def test_days_and_counts_are_each_others_inverse(ramp: float) -> None:
    clock = Clock(rate=7.0, ramp=ramp, follow_up=28.0)
    for count in (0.0, 1.0, 50.0, 104.9, 105.0, 1e6):
        assert count_by(clock, day_of(clock, count)) == pytest.approx(count)
        assert day_of(clock, due_after(clock, count)) == pytest.approx(day_of(clock, count) + 28.0)
    assert day_of(clock, 7000.0) == pytest.approx(1000.0 + ramp / 2)


def arrivals(clock: Clock, rng: np.random.Generator, until: float, most: int) -> int:
    """How many come before a count, taken `most` at a time."""
    people, coming = 0, next_after(rng, clock, 0.0)
    while is_before(coming, until):
        step, last, coming = come(rng, clock, coming, until, most)
        assert 1 <= step <= most
        assert last <= until <= coming + 1e-6 or step == most
        people += step
    return people


@pytest.mark.parametrize("most", [1, 2, 7, 1000])
def test_a_poisson_stream_is_one_however_it_is_cut(most: int) -> None:
    rng = np.random.default_rng(3)
    counts = [arrivals(Clock(poisson=True), rng, 12.0, most) for _ in range(20_000)]
    weights = [math.exp(-12.0 + k * math.log(12.0) - math.lgamma(k + 1)) for k in range(60)]
    assert fits_weights(counts, 0, weights) > FALSE_ALARM
    wrong = [math.exp(-12.5 + k * math.log(12.5) - math.lgamma(k + 1)) for k in range(60)]
    assert fits_weights(counts, 0, wrong) < CLEARLY


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_an_even_stream_has_one_person_at_each_count(most: int) -> None:
    rng = np.random.default_rng(0)
    for until, people in ((12.0, 12), (12.3, 13), (12.0 + 1e-12, 12), (0.5, 1)):
        assert arrivals(Clock(), rng, until, most) == people


def plainly(
    missing: list[float] | None = None, imputed: float = 0.0, trend: int = 0, size: float = 0.0, length: float = 1.0
) -> Changes:
    """Changes of two arms."""
    return Changes(np.array(missing or [0.0, 0.0]), np.full(2, imputed), trend, size, length, np.zeros((1, 2)))


def changed(law: RewardLaw, noise: SimulatedNoise, changes: Changes, expected: float = 100.0) -> World:
    return world_of(people_of(Instance((law, Bernoulli(0.5))), False), noise, None, changes, expected)


@pytest.mark.parametrize(
    "law", [Bernoulli(0.3), Beta(2.0, 5.0), TruncatedNormal(0.8, 0.4), Empirical([0.0, 0.25, 0.25, 1.0, 0.7])]
)
@pytest.mark.parametrize("size", [0.4, -0.2])
def test_a_trend_moves_the_mean_of_every_law_by_its_size(law: RewardLaw, size: float) -> None:
    changes = plainly(trend=LINEAR, size=size, length=100.0)
    world = changed(law, SimulatedNoise(NO_NOISE, 0.0, GRID), changes)
    rng = np.random.default_rng(4)
    total = sum(draw_counted(rng, world, 0, 25, 50.0) for _ in range(4000))
    right = law.mean + size / 2
    assert moved_mean(world, 0, 50.0) == pytest.approx(right)
    assert mean_is(total, 100_000, right) > FALSE_ALARM
    assert mean_is(total, 100_000, law.mean) < CLEARLY


def test_trends_run_their_course() -> None:
    def course(kind: int, size: float = 0.2) -> list[float]:
        world = changed(Bernoulli(0.5), SimulatedNoise(NO_NOISE, 0.0, 1), plainly(trend=kind, size=size, length=100.0))
        return [moved_mean(world, 0, at) for at in (0.0, 25.0, 49.0, 75.0, 100.0, 1000.0)]

    assert course(LINEAR) == pytest.approx([0.5, 0.55, 0.598, 0.65, 0.7, 0.7])
    assert course(STEP) == pytest.approx([0.5, 0.5, 0.5, 0.7, 0.7, 0.7])
    assert course(BUMP) == pytest.approx([0.5, 0.65, 0.69992, 0.65, 0.5, 0.5])
    assert course(LINEAR, 0.9)[-1] == 1.0
    assert course(LINEAR, -0.9)[-1] == 0.0
    waves = changed(Bernoulli(0.5), SimulatedNoise(NO_NOISE, 0.0, 1), plainly(trend=SEASON, size=0.2, length=100.0))
    peaks = [moved_mean(waves, 0, at) for at in np.arange(0.0, 100.0, 0.25)]
    assert max(peaks) == pytest.approx(0.7)
    assert sum(a < b > c for a, b, c in zip(peaks, peaks[1:], peaks[2:], strict=False)) == 4


@pytest.mark.parametrize(
    ("noise", "imputed", "mean"),
    [
        (SimulatedNoise(NO_NOISE, 0.0, GRID), 0.25, 0.8 * 0.6 + 0.2 * 0.25),
        (SimulatedNoise(DISCRETE_LAPLACE, 1.0, 1), 0.25, 0.8 * 0.6 + 0.2 * 0.25),
        (SimulatedNoise(DISCRETE_LAPLACE, 1.0, 1), 1.0, 0.8 * 0.6 + 0.2),
        (SimulatedNoise(RANDOMISED_RESPONSE, 0.75, 1), 0.0, 0.25 + 0.5 * 0.8 * 0.6),
    ],
)
def test_missing_outcomes_are_counted_as_imputed(noise: SimulatedNoise, imputed: float, mean: float) -> None:
    world = changed(Bernoulli(0.6), noise, plainly([0.2, 0.0], imputed))
    rng = np.random.default_rng(5)
    total = sum(draw_counted(rng, world, 0, 40, 0.0) for _ in range(2500))
    assert mean_is(total, 100_000, mean) > FALSE_ALARM
    assert mean_is(total, 100_000, mean + 0.03) < CLEARLY
    certain = world_of(world.people, noise, None, plainly(None, imputed))
    if noise.kind == NO_NOISE:
        assert draw_counted(rng, certain, 0, 40, 0.0) in range(41)


def test_what_the_clock_changes_and_what_it_does_not() -> None:
    plain = ba.simulate(**QUICK, runs=50, seed=2)
    timed = ba.simulate(**QUICK, runs=50, seed=2, enrol=5)
    assert plain.days is None
    assert plain.summary().mean_days is None
    assert timed.days is not None
    # At once is at once: the last person's outcome ends the trial on the day on which they come.
    assert timed.days == pytest.approx((timed.samples - 1) / 5)
    assert same_law(plain.samples.tolist(), timed.samples.tolist()) > FALSE_ALARM
    slow = ba.simulate(**QUICK, runs=50, seed=2, enrol=5, follow_up="30d")
    assert slow.days is not None
    assert (slow.days >= 30 + (slow.samples - 1) / 5 - 1e-6).all()
    dates = slow.releases_by_date()
    assert dates.groupby("run")["day"].max().to_numpy() == pytest.approx(slow.days)
    assert len(dates) == slow.releases.sum()
    assert dates.groupby("run")["day"].apply(lambda days: days.is_monotonic_increasing).all()
    assert plain.releases_by_date().empty


def test_at_the_cap_what_is_due_comes_in() -> None:
    results = ba.simulate(**QUICK | {"means": [0.52, 0.5]}, runs=5, enrol=10, follow_up="20d", max_participants=3000)
    assert (results.samples == 3000).all()
    assert (results.outstanding < 3000).all()
    assert results.days is not None
    assert results.days.max() <= (3000 - 1) / 10 + 20 + 1e-6


def test_jobs_and_numbers_of_runs_do_not_matter_in_life_either() -> None:
    life: dict[str, Any] = {"enrol": 9, "arrivals": "poisson", "ramp": "10d", "follow_up": "14d"}
    life |= {"missing": [0.1, 0.0, 0.2], "trend": "season:-0.1", "withdrawal": "impute:0.5"}
    one = ba.simulate(**QUICK, **life, runs=23, seed=3)
    two = ba.simulate(**QUICK, **life, runs=23, seed=3, jobs=2)
    few = ba.simulate(**QUICK, **life, runs=7, seed=3)
    assert np.array_equal(one.samples, two.samples)
    assert one.to_dataframe().equals(two.to_dataframe())
    assert one.to_dataframe()[:7].equals(few.to_dataframe())
    assert one.scenario["missing"] == (0.1, 0.0, 0.2)
    assert one.scenario["follow_up"] == 14 * 86400


def test_a_trend_runs_over_the_length_of_an_undisturbed_trial() -> None:
    options: dict[str, Any] = {name: QUICK[name] for name in ("epsilon", "delta")}
    scenario = make_scenario("dp-se", Instance.bernoulli(QUICK["means"]), trend="step:0.1", enrol=3, **options)
    undisturbed = replace(scenario, life=Life())
    results = ba.simulate(**QUICK, runs=PILOT_RUNS, seed=0)
    assert expected_people(scenario) == results.samples.mean()
    assert expected_people(undisturbed) == 1.0


def test_a_record_is_followed_part_by_part() -> None:
    levels = np.array([[0.1, 0.5], [0.2, 0.5], [0.9, 0.5]])
    changes = Changes(np.zeros(2), np.zeros(2), RECORDED, 0.0, 300.0, levels)
    world = changed(Bernoulli(0.4), SimulatedNoise(NO_NOISE, 0.0, 1), changes, 300.0)
    assert [moved_mean(world, 0, at) for at in (0.0, 99.0, 101.0, 299.0, 5000.0)] == [0.1, 0.1, 0.2, 0.9, 0.9]
    assert world.longest_step == 1


def test_the_ring_of_waiting_batches_grows_without_losing_any() -> None:
    ring = np.arange(12.0).reshape(4, 3)
    longer = longer_ring(ring, 6)  # entries 6, 7, 8, 9 stand at 2, 3, 0, 1
    assert [longer[number % 8, 0] for number in (6, 7, 8, 9)] == [6.0, 9.0, 0.0, 3.0]


def test_thousands_of_outcomes_may_be_awaited() -> None:
    results = ba.simulate("ttucb", means=[0.9, 0.2], delta=0.1, runs=3, enrol=100, follow_up="30d")
    assert (results.outstanding == 3000 - 1).all()
    assert (results.recommended == 0).all()


def test_a_law_of_ones_own_drifts_and_goes_missing_too() -> None:
    def halves(rng: np.random.Generator, arm: int) -> float:
        return 0.5 * (rng.random() + rng.random()) if arm == 0 else 0.4 * rng.random()

    instance = Instance.sampled(halves, [0.5, 0.2])
    results = ba.simulate("dp-se", instance=instance, epsilon=1, delta=0.1, runs=10, missing=0.1, trend="linear:0.2")
    assert (results.recommended == 0).all()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"enrol": 0}, "positive"),
        ({"enrol": math.nan}, "positive"),
        ({"enrol": 5, "arrivals": "daily"}, "poisson"),
        ({"arrivals": "poisson"}, "--enrol"),
        ({"ramp": "3d"}, "--enrol"),
        ({"follow_up": "3d"}, "--enrol"),
        ({"enrol": 5, "ramp": "3"}, "The ramp"),
        ({"missing": 1.0}, "below 1"),
        ({"missing": -0.1}, "at least 0"),
        ({"missing": [0.1, 0.1]}, "one an arm"),
        ({"missing": 0.1, "algorithm": "dp-se", "withdrawal": "replace"}, "impute:X"),
        ({"trend": "linear"}, "such as"),
        ({"trend": "linear:x"}, "such as"),
        ({"trend": "up:0.1"}, "season"),
        ({"trend": "linear:2"}, "between -1 and 1"),
        ({"withdrawal": "impute:3"}, "between"),
    ],
)
def test_bad_input_is_one_clear_sentence(change: dict[str, Any], word: str) -> None:
    with pytest.raises(ba.InputError) as caught:
        ba.simulate(**{**QUICK, "runs": 2, **change})
    assert word in str(caught.value)
    assert str(caught.value).endswith(".")
