"""The generic wrapper is an extension point: a sampling rule in user code becomes private and proven with it."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import bestarm as ba
from bestarm.policy.algorithm import NOBODY
from bestarm.policy.record import FloatArray
from bestarm.policy.stopping import private_threshold


def lucb(state: Any, constants: Any, weights: FloatArray) -> int:
    """LUCB: the arm that looks best and the other arm whose interval reaches highest, whichever has fewer people.

    An interval's half-width is what the wrapper's stopping rule asks of one arm, so the run ends once they separate.
    """
    record = state.record
    best = 0
    for arm in range(constants.arms):
        if record.released[arm] == 0:
            return arm
        if state.mean[arm] > state.mean[best]:
            best = arm
    rival = -1
    highest = -math.inf
    for arm in range(constants.arms):
        width = math.sqrt(2 * private_threshold(record, constants, arm, arm) / record.last_size[arm])
        if arm != best and state.mean[arm] + width > highest:
            highest = state.mean[arm] + width
            rival = arm
    return best if record.assigned[best] <= record.assigned[rival] else rival


LUCB = ba.wrap("lucb-private", lucb, summary="LUCB made private by the paper's wrapper", source="user code")


def test_a_sampling_rule_of_ones_own_runs_private_and_proven() -> None:
    results = ba.simulate(LUCB, means=[0.9, 0.6, 0.3], epsilon=1, delta=0.05, runs=40, seed=2, max_samples=10**6)
    summary = results.summary()
    assert summary.algorithm == "lucb-private"
    assert summary.undecided == 0
    assert (results.recommended == 0).all()
    assert results.per_arm[:, 2].mean() < results.per_arm[:, 1].mean()


def test_a_rule_that_makes_arrays_is_refused_in_one_sentence() -> None:
    def makes_arrays(state: Any, constants: Any, weights: FloatArray) -> int:
        return int(np.argmin(state.record.assigned * np.ones(constants.arms)))

    wasteful = ba.wrap("wasteful", makes_arrays, summary="a rule that does not compile", source="user code")
    with pytest.raises(ba.InputError, match="wasteful cannot be compiled"):
        ba.simulate(wasteful, means=[0.9, 0.1], epsilon=1, runs=1)


def test_the_same_rule_samples_less_than_uniform_does() -> None:
    run: dict[str, Any] = {
        "means": [0.9, 0.6, 0.1, 0.1],
        "epsilon": 1,
        "delta": 0.05,
        "runs": 20,
        "seed": 2,
        "max_samples": 10**6,
    }
    assert ba.simulate(LUCB, **run).summary().mean_samples < ba.simulate("uniform", **run).summary().mean_samples


def test_a_rule_that_recruits_nobody_does_not_hang() -> None:
    def nobody(state: Any, constants: Any, weights: FloatArray) -> int:
        return NOBODY

    stuck = ba.wrap("stuck", nobody, summary="a rule that never recruits", source="user code")
    for algorithm in (stuck, dataclasses.replace(stuck, holds=True)):
        with pytest.raises(ValueError, match="recruits nobody"):
            ba.simulate(algorithm, means=[0.9, 0.1], epsilon=1, runs=1)
