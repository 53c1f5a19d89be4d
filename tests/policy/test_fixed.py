"""The fixed design as an algorithm: it takes the people it says, and errs as often as computed."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from bestarm import simulate
from bestarm.policy import fixed
from bestarm.policy.algorithm import NOBODY, UNDECIDED, Batched, remember_nothing
from bestarm.policy.record import assign, open_batch, release
from bestarm.release.laws import pure_law
from bestarm.theory.fixed import fixed_error

CONSTANTS = fixed.constants_for(3, 0.3, 0.2, 0.1, pure_law(0.5))

FIXED = Batched(
    name="fixed-in-tests",
    summary="The fixed design with the constants of this page",
    source="bestarm/policy/fixed.py",
    proven=True,
    privacy=("pure",),
    constants=lambda design: CONSTANTS,
    start=fixed.start_fixed,
    size=fixed.size_of_arm,
    recruit=fixed.recruit_evenly,
    assigned=remember_nothing,
    released=fixed.nothing_to_learn,
    over=fixed.highest,
    explain=fixed.explain_fixed,
    holds=True,
    noise="discrete",
)


@pytest.mark.parametrize("best", [0, 2])
def test_people_and_error(best: int) -> None:
    """Every run takes the same people. Errors are as computed, less the draws that the first arm wins.

    False alarm below 1e-7: 20,000 runs against the binomial.
    """
    means = [0.3, 0.3, 0.3]
    means[best] = 0.5
    result = simulate(FIXED, means=means, epsilon=0.5, runs=20_000, seed=3)
    summary = result.summary()
    assert summary.mean_samples == 3 * CONSTANTS.size
    assert summary.undecided == 0
    error = fixed_error(3, 0.3, 0.2, CONSTANTS.size, pure_law(0.5))
    errors = summary.error_rate * 20_000
    assert errors <= binom.isf(5e-8, 20_000, error)
    if best == 2:
        assert errors >= binom.ppf(5e-8, 20_000, error)


def test_asked_step_by_step() -> None:
    """Nobody recruits once all are full; nothing is over before the last release; of equal sums the first wins."""
    state = fixed.start_fixed(CONSTANTS)
    weights = state.record.total.copy()
    for arm in range(3):
        assert fixed.recruit_evenly(state, CONSTANTS, weights) == -1
        assert weights.tolist() == pytest.approx([0.0] * arm + [1 / (3 - arm)] * (3 - arm))
        open_batch(state.record, arm, fixed.size_of_arm(state, CONSTANTS, arm))
        assign(state.record, arm, CONSTANTS.size)
    assert fixed.recruit_evenly(state, CONSTANTS, weights) == NOBODY
    for arm, value in enumerate((7.0, 9.0, 9.0)):
        assert fixed.highest(state, CONSTANTS) == UNDECIDED
        assert "not been released" in fixed.explain_fixed(state, CONSTANTS, ["a", "b", "c"])
        release(state.record, arm, CONSTANTS.size, value)
    assert fixed.highest(state, CONSTANTS) == 1
    assert fixed.explain_fixed(state, CONSTANTS, ["a", "b", "c"]).startswith("b has the highest")
