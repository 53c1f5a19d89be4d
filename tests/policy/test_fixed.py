"""The fixed design as an algorithm: it takes the people it says, and errs as often as computed."""

from __future__ import annotations

import pytest
from scipy.stats import binom

import bestarm as ba
from bestarm.design import Design
from bestarm.errors import InputError
from bestarm.policy import fixed
from bestarm.policy.algorithm import NOBODY, UNDECIDED
from bestarm.policy.fixed import FixedConstants
from bestarm.policy.record import assign, open_batch, release
from bestarm.release.laws import pure_law
from bestarm.theory.fixed import fixed_error, fixed_size

RUNS = 20_000


@pytest.mark.parametrize("best", [0, 2])
def test_people_and_error(best: int) -> None:
    """Every run takes the same people. Errors are as computed, less the draws that the first arm wins.

    False alarm below 1e-7: 20,000 runs against the binomial.
    """
    means = [0.3, 0.3, 0.3]
    means[best] = 0.5
    size = fixed_size(3, 0.3, 0.2, 0.1, pure_law(0.5))
    result = ba.simulate("fixed", means=means, difference="0.2", delta=0.1, epsilon=0.5, runs=RUNS, seed=3).summary()
    assert result.mean_samples == 3 * size
    assert result.undecided == 0
    error = fixed_error(3, 0.3, 0.2, size, pure_law(0.5))
    assert result.error_rate * RUNS <= binom.isf(5e-8, RUNS, error)
    if best == 2:
        assert result.error_rate * RUNS >= binom.ppf(5e-8, RUNS, error)


def test_base_is_the_second_best_mean_or_as_planned() -> None:
    """A guess that is too low makes it smaller, and wrong too often: nothing in the trial would tell."""
    means = [0.5, 0.6]
    plain = ba.simulate("fixed", means=means, difference=0.1, delta=0.05, epsilon=1, runs=10, seed=1).summary()
    assert plain.mean_samples == 2 * fixed_size(2, 0.5, 0.1, 0.05, pure_law(1.0))
    low = ba.simulate(
        "fixed", means=means, difference=0.1, delta=0.05, epsilon=1, base="0.05", runs=RUNS, seed=1
    ).summary()
    assert low.mean_samples == 2 * fixed_size(2, 0.05, 0.1, 0.05, pure_law(1.0))
    assert low.error_rate * RUNS > binom.isf(1e-7, RUNS, 0.05)


def test_asked_step_by_step() -> None:
    """Nobody recruits once all are full; nothing is over before the last release; of equal sums the first wins."""
    constants = FixedConstants(3, 40)
    state = fixed.start_fixed(constants)
    weights = state.record.total.copy()
    for arm in range(3):
        assert fixed.recruit_evenly(state, constants, weights) == -1
        assert weights.tolist() == pytest.approx([0.0] * arm + [1 / (3 - arm)] * (3 - arm))
        open_batch(state.record, arm, fixed.size_of_arm(state, constants, arm))
        assign(state.record, arm, 40)
    assert fixed.recruit_evenly(state, constants, weights) == NOBODY
    for arm, value in enumerate((7.0, 9.0, 9.0)):
        assert fixed.highest(state, constants) == UNDECIDED
        assert "not been released" in fixed.explain_fixed(state, constants, ["a", "b", "c"])
        release(state.record, arm, 40, value)
    assert fixed.highest(state, constants) == 1
    assert fixed.explain_fixed(state, constants, ["a", "b", "c"]).startswith("b has the highest")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"algorithm": "fixed"}, "needs the smallest difference"),
        ({"algorithm": "fixed", "difference": "0.1"}, "needs the smallest difference"),
        ({"algorithm": "fixed", "difference": "0.1", "base": "0.95"}, "leave room"),
        ({"algorithm": "fixed", "difference": "0.1", "base": "1.5"}, "has to lie between"),
        ({"algorithm": "fixed", "difference": "0.1", "base": "often"}, "base rate"),
        ({"algorithm": "evidence", "difference": "0.1", "base": "0.5"}, "takes no base rate"),
    ],
)
def test_designs_that_cannot_be(given: dict[str, str], said: str) -> None:
    """A base rate belongs to the fixed design, which cannot do without."""
    with pytest.raises(InputError, match=said):
        Design.make(arms=2, delta="0.1", epsilon="1", outcomes="binary", **given)  # type: ignore[arg-type]


def test_design_keeps_its_base() -> None:
    """Frozen like everything else, in the outcome's own units; designs without one are written as before."""
    design = Design.make(arms=2, delta="0.1", epsilon="1", algorithm="fixed", low=0, high=50, difference="5", base="20")
    assert Design.from_json(design.to_json()) == design
    assert design.numbers().base == 0.4
    plain = Design.make(arms=2, delta="0.1", epsilon="1")
    assert "base" not in plain.to_json()
    assert Design.from_json(plain.to_json()) == plain
