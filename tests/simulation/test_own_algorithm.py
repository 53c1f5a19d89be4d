"""The generic wrapper is an extension point: a sampling rule in user code becomes private and proven with it."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import bestarm as ba
from bestarm.policy.algorithm import NOBODY, SEVERAL, UNDECIDED
from bestarm.policy.lucb import lucb
from bestarm.policy.numbers import Numbers
from bestarm.policy.record import FloatArray
from bestarm.release.laws import pure_law
from bestarm.simulation.driver import driving

LUCB = ba.wrap("mine", lucb, summary="LUCB made private by the paper's wrapper", source="user code")


def test_a_sampling_rule_of_ones_own_runs_private_and_proven() -> None:
    results = ba.simulate(LUCB, means=[0.9, 0.6, 0.3], epsilon=1, delta=0.05, runs=40, seed=2, max_samples=10**6)
    summary = results.summary()
    assert summary.algorithm == "mine"
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


def ends_with(sentence: str, algorithm: ba.Algorithm, compiled: bool) -> None:
    """A run of this algorithm, as it stands or compiled, ends with this sentence and nothing worse."""

    def run_plainly() -> None:
        constants = algorithm.constants(Numbers(2, 0.1, pure_law(1.0)))
        run = driving(algorithm, {"draw": lambda rng, world, arm, size: 0.0})
        run(np.random.default_rng(0), None, constants, 100, np.zeros(2, np.int64))

    def run_compiled() -> None:
        ba.simulate(algorithm, means=[0.9, 0.1], epsilon=1, runs=1)

    run = run_compiled if compiled else run_plainly
    with pytest.raises(ValueError, match=sentence):
        run()


@pytest.mark.parametrize(("answer", "holds", "compiled"), [(99, False, True), (-7, True, False), (2, False, False)])
def test_a_rule_that_names_no_arm_ends_the_run_with_a_sentence(answer: int, holds: bool, compiled: bool) -> None:
    def wrong(state: Any, constants: Any, weights: FloatArray) -> int:
        return answer

    lost = dataclasses.replace(ba.wrap("lost", wrong, summary="names no arm", source="user code"), holds=holds)
    ends_with("an arm that does not exist", lost, compiled)


@pytest.mark.parametrize(("weight", "compiled"), [(math.nan, True), (0.7, False), (-0.5, False)])
def test_weights_that_are_no_probabilities_end_the_run_with_a_sentence(weight: float, compiled: bool) -> None:
    def odd(state: Any, constants: Any, weights: FloatArray) -> int:
        weights[0] = weight
        weights[1] = 0.5
        return SEVERAL

    lost = ba.wrap("odd", odd, summary="no probabilities", source="user code")
    ends_with("not probabilities", lost, compiled)
    ends_with("not probabilities", dataclasses.replace(lost, holds=True), False)


@pytest.mark.parametrize(("people", "compiled"), [(0, True), (-3, False), (2**61, False)])
def test_a_batch_that_cannot_be_ends_the_run_with_a_sentence(people: int, compiled: bool) -> None:
    def size(state: Any, constants: Any, arm: int) -> int:
        return people

    ends_with("a batch of fewer than 1", dataclasses.replace(LUCB, name="sized", size=size), compiled)


def test_a_rule_that_never_stops_is_stopped_by_the_cap() -> None:
    def never(state: Any, constants: Any) -> int:
        return UNDECIDED

    endless = dataclasses.replace(LUCB, name="endless", over=never)
    summary = ba.simulate(endless, means=[0.9, 0.1], epsilon=1, runs=3, max_samples=5000).summary()
    assert (summary.undecided, summary.mean_samples) == (3, 5000)
