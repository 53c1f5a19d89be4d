"""Error rates over many simulated trials, hard cases that must end, and what ends a trial that nobody can win."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import bestarm as ba
from bestarm.policy.algorithm import Design
from bestarm.policy.catalogue import CATALOGUE
from bestarm.simulation.compiled import make_entry_point


@pytest.mark.parametrize(
    ("algorithm", "means", "epsilon", "runs"),
    [
        ("evidence", [0.55, 0.5], 1.0, 10_000),
        ("evidence", [0.95, 0.9, 0.9], 0.3, 10_000),
        ("evidence-tilted", [0.55, 0.5], 1.0, 4_000),
    ],
)
def test_errors_stay_below_delta(algorithm: str, means: list[float], epsilon: float, runs: int) -> None:
    delta = 0.1
    found = ba.simulate(algorithm, means=means, epsilon=epsilon, delta=delta, runs=runs, seed=1).summary()
    assert found.undecided == 0
    assert binomtest(round(found.error_rate * runs), runs, delta, alternative="greater").pvalue > 1e-3


@pytest.mark.parametrize(
    "privacy", [{"privacy": "none"}, {"privacy": "local", "epsilon": 1.0}, {"privacy": "zcdp", "rho": 0.02}]
)
def test_every_privacy_model_ends_and_is_right(privacy: dict[str, Any]) -> None:
    found = ba.simulate("evidence", means=[0.8, 0.6, 0.5], delta=0.05, runs=300, seed=2, **privacy).summary()
    assert found.undecided == 0
    assert found.error_rate <= 0.05


def test_an_indifference_zone_ends_ties() -> None:
    options: dict[str, Any] = {"delta": 0.1, "epsilon": 1.0, "runs": 300, "seed": 3, "indifference": 0.1}
    found = ba.simulate("evidence", means=[0.6, 0.6, 0.45], **options).summary()
    assert found.undecided == 0
    assert found.error_rate <= 0.1


def test_the_smaller_the_gap_the_longer_but_never_for_ever() -> None:
    needed = [
        ba.simulate(
            "evidence", means=[0.5 + gap, 0.5], delta=0.05, epsilon=1.0, runs=20, seed=4, max_samples=10**11
        ).summary()
        for gap in (0.1, 0.003, 0.0003)
    ]
    assert [found.undecided for found in needed] == [0, 0, 0]
    assert needed[0].mean_samples < needed[1].mean_samples / 100 < needed[2].mean_samples / 1000


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize(
    "means",
    [
        [0.6, *[0.5] * 9],
        [0.5, 0.495, 0.492, 0.5, 0.53],
        [0.999, 0.98, 0.97],
        [0.0, 0.004, 0.03],
        [0.7, 0.6],
    ],
    ids=["tied for second", "close together", "near one", "near zero", "two arms"],
)
def test_hard_cases_end(means: list[float], epsilon: float) -> None:
    found = ba.simulate("evidence", means=means, epsilon=epsilon, delta=0.01, runs=40, seed=5, max_samples=10**9)
    assert found.summary().undecided == 0
    assert found.summary().error_rate <= 0.05


def unlucky_draw(rng: np.random.Generator, means: Any, arm: int, size: int) -> float:
    """Means in the first row; the second counts an arm's batches: the best arm's first one is all failures."""
    means[1, arm] += 1.0
    if arm == 0 and means[1, arm] == 1.0:
        return 0.0
    return float(rng.binomial(size, means[0, arm])) + float(rng.geometric(0.632) - rng.geometric(0.632))


def test_an_unlucky_first_batch_of_the_best_arm_does_not_end_its_chances() -> None:
    algorithm = CATALOGUE["evidence"]
    run = make_entry_point(algorithm, {"draw": unlucky_draw}, cached=False)
    constants = algorithm.constants(Design(4, 0.01, 1.0))
    right = 0
    for seed in range(60):
        world = np.array([[0.7, 0.5, 0.5, 0.5], [0.0] * 4])
        people, verdict, _ = run(np.random.default_rng(seed), world, constants, 10**9, np.zeros(4, np.int64))
        assert people < 10**9
        right += verdict == 0
    assert right >= 50


def test_runs_with_the_same_seed_are_the_same_whoever_drives() -> None:
    from bestarm.instance import Instance
    from bestarm.simulation import driver, people
    from bestarm.simulation.compiled import entry_point

    for name in ("evidence", "evidence-tilted"):
        algorithm = CATALOGUE[name]
        constants = algorithm.constants(Design(3, 0.05, 0.8))
        world = people.World(
            people.people_of(Instance.bernoulli([0.7, 0.5, 0.4]), False),
            people.noise_of(algorithm, Design(3, 0.05, 0.8)),
        )
        plainly = driver.driving(algorithm, {"draw": people.draw_release})
        for seed in range(4):
            plain, compiled = np.zeros(3, np.int64), np.zeros(3, np.int64)
            rng = np.random.default_rng(seed)
            slow = plainly(rng, world, constants, 10**6, plain)
            fast = entry_point(algorithm)(np.random.default_rng(seed), world, constants, 10**6, compiled)
            assert tuple(map(int, slow)) == tuple(map(int, fast))
            assert np.array_equal(plain, compiled)
            assert math.isfinite(slow[0])
