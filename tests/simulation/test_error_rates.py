"""The proven algorithms keep their promise, by a test that would catch twice the promised risk."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from scipy.stats import binom

import bestarm as ba
from bestarm.policy.catalogue import CATALOGUE
from tests.chance import FALSE_ALARM, at_most

DELTA, RUNS = 0.1, 600
TOO_MANY = int(binom.isf(FALSE_ALARM, RUNS, DELTA)) + 1
"""As many errors as this refute an error rate of DELTA."""

SLOW = ("ctb-tt", "lucb-private")
"""Most runs of these are undecided after a million people, and no wiser than after a tenth of that."""

PROVEN = [name for name, algorithm in CATALOGUE.items() if algorithm.proven]


def test_the_test_would_catch_twice_delta() -> None:
    assert at_most(TOO_MANY, RUNS, DELTA) <= FALSE_ALARM
    assert at_most(TOO_MANY, RUNS, 2 * DELTA) > 0.95


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
@pytest.mark.parametrize("name", PROVEN)
def test_proven_algorithms_err_at_most_delta_of_the_time(name: str, epsilon: float) -> None:
    stated = 0.1 if CATALOGUE[name].needs_base else 0.0  # the fixed design at its least favourable means
    cap = 10**5 if name in SLOW else 10**6
    run: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "runs": RUNS, "seed": 4, "max_samples": cap}
    results = ba.simulate(name, means=[0.6, 0.5, 0.5], difference=stated, **run)
    assert results.wrong.sum() < TOO_MANY


def test_a_hasty_rule_is_caught() -> None:
    def first_ahead(state: Any, constants: Any) -> int:
        for arm in range(constants.arms):
            if state.record.released[arm] < 3:
                return -1
        best = 0
        for arm in range(constants.arms):
            if state.mean[arm] > state.mean[best]:
                best = arm
        return best

    hasty = dataclasses.replace(CATALOGUE["uniform"], name="hasty", over=first_ahead)
    results = ba.simulate(hasty, means=[0.6, 0.5, 0.5], epsilon=0.3, delta=DELTA, runs=RUNS, seed=4)
    assert results.wrong.sum() >= TOO_MANY


@pytest.mark.parametrize(
    ("means", "rates", "trend"), [((0.3, 0.4), None, "linear:0.3"), ((0.05, 0.15), (0.05, 0.25), None)]
)
def test_a_hard_end_always_ends_and_errs_at_most_delta_of_the_time(
    means: tuple[float, ...], rates: tuple[float, float] | None, trend: str | None
) -> None:
    run: dict[str, Any] = {"epsilon": 1.0, "delta": DELTA, "difference": 0.1, "runs": RUNS, "seed": 5, "trend": trend}
    results = ba.simulate("evidence", means=means, hard_end=True, rates=rates, **run)
    assert results.decided.all()
    assert 0 < results.wrong.sum() < TOO_MANY
