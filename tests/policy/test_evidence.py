"""Evidence Top Two as a whole: wealth on average, cells, stages, ties, second looks, reports."""

from __future__ import annotations

import copy
import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from bestarm.design import Design
from bestarm.errors import InputError
from bestarm.policy import evidence, evidence_cells
from bestarm.policy.algorithm import SEVERAL, UNDECIDED, Algorithm
from bestarm.policy.catalogue import CATALOGUE
from bestarm.policy.evidence_cells import Cells, cut, join, least_wealth, new_cells, strike_out
from bestarm.policy.evidence_plan import batch_for, expected_evidence
from bestarm.policy.numbers import Numbers
from bestarm.policy.record import assign, open_batch, release
from bestarm.release import no_privacy, pure_law, zcdp_law

FORMS = ["evidence", "evidence-tilted"]


def give(algorithm: Algorithm, state: Any, constants: Any, arm: int, value: float) -> None:
    """Fill the arm's next batch and release it with this value."""
    size = algorithm.size(state, constants, arm)
    open_batch(state.record, arm, size)
    assign(state.record, arm, size)
    release(state.record, arm, size, value)
    algorithm.released(state, constants, arm)


def recruiting(algorithm: Algorithm, state: Any, constants: Any) -> list[int]:
    weights = np.zeros(constants.arms)
    answer = algorithm.recruit(state, constants, weights)
    assert answer == SEVERAL
    assert weights.sum() == pytest.approx(1)
    return [arm for arm in range(constants.arms) if weights[arm] > 0]


def wealth_at(cells: Cells, arm: int, m: float, struck: float) -> float:
    """The log wealth of the hypothesis that the arm is best with mean m; `struck` if its cell is gone."""
    for i in range(int(cells.left[arm])):
        if cells.low[arm, i] <= m <= cells.high[arm, i]:
            return float(cells.wealth[arm, i])
    return struck


@pytest.mark.parametrize("name", FORMS)
def test_wealth_of_the_true_cell_does_not_grow_on_average(name: str) -> None:
    # Two whole first batches and the first release of the second stage, over every possible outcome.
    algorithm = CATALOGUE[name]
    first = 4
    constants = algorithm.constants(Numbers(2, 0.05, no_privacy()))._replace(first=first)
    means = (0.55, 0.5)
    after_first = after_second = 0.0
    for a, b in itertools.product(range(first + 1), repeat=2):
        chance = binom.pmf(a, first, means[0]) * binom.pmf(b, first, means[1])
        state = algorithm.start(constants)
        give(algorithm, state, constants, 0, float(a))
        give(algorithm, state, constants, 1, float(b))
        wealth = math.exp(wealth_at(state.cells, 0, means[0], constants.threshold))
        after_first += chance * wealth
        if algorithm.over(state, constants) != UNDECIDED:
            after_second += chance * wealth
            continue
        arm = recruiting(algorithm, state, constants)[0]
        size = algorithm.size(state, constants, arm)
        for c in range(size + 1):
            following = copy.deepcopy(state)
            give(algorithm, following, constants, arm, float(c))
            wealth = math.exp(wealth_at(following.cells, 0, means[0], constants.threshold))
            after_second += chance * binom.pmf(c, size, means[arm]) * wealth
    assert 0.5 < after_first <= 1 + 1e-12
    assert 0.5 < after_second <= after_first + 1e-12


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("indifference", [0.0, 0.1])
def test_no_release_is_expected_to_raise_any_wealth(
    name: str, indifference: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From states in the middle of trials: whatever mean an arm's hypothesis gives, its wealth does not grow."""
    algorithm = CATALOGUE[name]
    constants = algorithm.constants(Numbers(4, 0.2, no_privacy(), indifference))
    rng = np.random.default_rng(6)
    checked = 0
    for _ in range(12):
        state = algorithm.start(constants._replace(first=5))
        for _ in range(int(rng.integers(3, 9))):
            if algorithm.over(state, constants) == UNDECIDED:
                arm = int(rng.choice(recruiting(algorithm, state, constants)))
                size = algorithm.size(state, constants, arm)
                give(algorithm, state, constants, arm, float(rng.binomial(size, (0.8, 0.6, 0.5, 0.1)[arm])))
        if algorithm.over(state, constants) != UNDECIDED:
            continue
        arm = int(rng.choice(recruiting(algorithm, state, constants)))
        size = algorithm.size(state, constants, arm)
        # Some release will strike this arm out; the others' bets must not notice.
        state.cells.wealth[int(rng.integers(2)), :] = constants.threshold - 0.02
        settled: list[dict[int, Cells]] = []

        def strike_out_later(cells: Cells, b: int, threshold: float, settled: Any = settled) -> None:
            settled[-1][b] = copy.deepcopy(cells)
            strike_out(cells, b, threshold)

        with monkeypatch.context() as patched:
            patched.setattr(evidence, "strike_out", strike_out_later)
            for r in range(size + 1):
                settled.append({})
                give(algorithm, copy.deepcopy(state), constants, arm, float(r))
        for b in range(4):
            for m in np.linspace(0.15, 0.97, 9):
                before = wealth_at(state.cells, b, m, math.nan)
                if math.isnan(before) or (indifference > 0 and b == state.leader[0]):
                    continue
                null = m if b == arm else m - indifference
                mean = sum(
                    binom.pmf(r, size, null) * math.exp(wealth_at(after.get(b, state.cells), b, m, math.nan) - before)
                    for r, after in enumerate(settled)
                )
                assert mean <= 1 + 1e-12
                checked += mean != 1
    assert checked > 5


@pytest.mark.parametrize("name", FORMS)
def test_cells_are_the_minimum_over_a_dense_grid(name: str) -> None:
    """Each mean carries the product of the bets of the cells it has been in; the smallest of them is the evidence."""
    algorithm = CATALOGUE[name]
    constants = algorithm.constants(Numbers(3, 0.01, pure_law(1.0)))
    state = algorithm.start(constants)
    rng = np.random.default_rng(8)
    grid = np.linspace(0, 1, 4001)
    carried = [np.zeros(grid.size) for _ in range(3)]
    for _ in range(15):
        if algorithm.over(state, constants) != UNDECIDED:
            break
        arm = recruiting(algorithm, state, constants)[0]
        size = algorithm.size(state, constants, arm)
        give(algorithm, state, constants, arm, float(rng.binomial(size, (0.8, 0.6, 0.5)[arm]) + rng.integers(-2, 3)))
        for b in range(3):
            now = np.array([wealth_at(state.cells, b, float(m), math.inf) for m in grid])
            carried[b] = np.where(np.isinf(carried[b]), carried[b], now)
            living = carried[b][np.isfinite(carried[b])]
            if living.size and state.cells.left[b]:
                assert least_wealth(state.cells, b, math.inf) <= living.min() + 1e-12
            widths = state.cells.high[b, : state.cells.left[b]] - state.cells.low[b, : state.cells.left[b]]
            assert np.all(widths > 0)


def test_cutting_inherits_and_joining_takes_the_smaller_wealth() -> None:
    cells = new_cells(1, 0.0)
    cells.wealth[0, 0] = 1.5
    cut(cells, 0, 0.4, 0.6, 0.01)
    left = int(cells.left[0])
    assert left > 40
    assert np.all(cells.wealth[0, :left] == 1.5)
    assert cells.low[0, 0] == 0
    assert cells.high[0, left - 1] == 1
    assert np.array_equal(cells.high[0, : left - 1], cells.low[0, 1:left])
    cells.wealth[0, :left] = np.arange(left)
    before = [(cells.low[0, i], cells.high[0, i], cells.wealth[0, i]) for i in range(left)]
    join(cells, 0, 0.0, 1.0, 1.0)
    joined = int(cells.left[0])
    assert joined < left
    for i in range(joined):
        inside = [w for low, high, w in before if low >= cells.low[0, i] and high <= cells.high[0, i]]
        assert cells.wealth[0, i] == min(inside)
    strike_out(cells, 0, float(cells.wealth[0, joined - 1]))
    assert cells.left[0] == joined - 1


def test_cells_stop_at_their_number() -> None:
    cells = new_cells(1, 0.0)
    cut(cells, 0, 0.5, 0.5 + 1e-9, 1e-9)
    assert cells.left[0] == evidence_cells.MOST_CELLS
    covered = cells.high[0] - cells.low[0]
    assert covered.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", FORMS)
def test_arms_recruit_until_their_batch_is_full_and_then_ahead_of_the_next_stage(name: str) -> None:
    algorithm = CATALOGUE[name]
    constants = algorithm.constants(Numbers(3, 0.05, pure_law(1.0)))
    state = algorithm.start(constants)
    assert recruiting(algorithm, state, constants) == [0, 1, 2]
    size = algorithm.size(state, constants, 0)
    open_batch(state.record, 0, size)
    assign(state.record, 0, size)
    assert recruiting(algorithm, state, constants) == [1, 2]
    for arm in (1, 2):
        open_batch(state.record, arm, size)
        assign(state.record, arm, size)
    assert recruiting(algorithm, state, constants) == [0, 1, 2]
    due = state.plan.due.copy()
    for arm in range(3):
        assert np.array_equal(state.plan.due, due), "the next stage is planned when all batches of this one are in"
        release(state.record, arm, size, 0.5 * size)
        algorithm.released(state, constants, arm)
    assert np.any(state.plan.due > due)
    assert recruiting(algorithm, state, constants)


@pytest.mark.parametrize("name", FORMS)
def test_ties_end_within_the_indifference_zone(name: str) -> None:
    algorithm = CATALOGUE[name]
    constants = algorithm.constants(Numbers(3, 0.05, pure_law(2.0), 0.2))
    rng = np.random.default_rng(2)
    for _ in range(3):
        state = algorithm.start(constants)
        for _ in range(200):
            if algorithm.over(state, constants) != UNDECIDED:
                break
            arm = int(rng.choice(recruiting(algorithm, state, constants)))
            size = algorithm.size(state, constants, arm)
            noise = int(rng.geometric(1 - math.exp(-2)) - rng.geometric(1 - math.exp(-2)))
            give(algorithm, state, constants, arm, float(rng.binomial(size, (0.6, 0.6, 0.1)[arm]) + noise))
        assert algorithm.over(state, constants) in (0, 1)


def test_a_new_leader_inherits_only_the_principal_of_an_indifferent_trial() -> None:
    algorithm = CATALOGUE["evidence"]
    constants = algorithm.constants(Numbers(3, 0.01, no_privacy(), 0.1))
    state = algorithm.start(constants)
    first = constants.first
    for arm, share in ((0, 1.0), (1, 0.5), (2, 0.0)):
        give(algorithm, state, constants, arm, round(share * first))
    assert state.leader[0] == 0
    size = algorithm.size(state, constants, 0)
    for b in (1, 2):
        assert least_wealth(state.cells, b, 99.0) != 0.0 or state.cells.left[b] == 1
    state.beliefs.mean[0] = 0.2
    evidence.follow(state, constants)
    assert state.leader[0] == 1
    for b in range(3):
        assert state.cells.left[b] == 1
        assert state.cells.low[b, 0] == 0.1
        assert state.cells.wealth[b, 0] <= 0.0
    assert size > 0


def test_an_arm_that_was_struck_out_comes_back_when_the_rest_drags_on() -> None:
    algorithm = CATALOGUE["evidence"]
    constants = algorithm.constants(Numbers(3, 0.05, pure_law(3.0)))
    rng = np.random.default_rng(1)
    state = algorithm.start(constants)
    unlucky = True
    for _ in range(400):
        verdict = algorithm.over(state, constants)
        if verdict != UNDECIDED:
            break
        arm = int(rng.choice(recruiting(algorithm, state, constants)))
        size = algorithm.size(state, constants, arm)
        unlucky = unlucky and state.cells.left[0] > 0
        mean = 0.0 if arm == 0 and unlucky else (0.8, 0.5, 0.5)[arm]
        give(algorithm, state, constants, arm, float(rng.binomial(size, mean)))
    assert not unlucky, "the best arm looked hopeless until it was struck out"
    assert verdict == 0, "and still it is the one recommended, instead of a trial of two equal arms without end"


@pytest.mark.parametrize("name", FORMS)
def test_standings_and_words(name: str) -> None:
    algorithm = CATALOGUE[name]
    constants = algorithm.constants(Numbers(3, 0.05, pure_law(5.0)))
    labels = ["5 mg", "10 mg", "20 mg"]
    state = algorithm.start(constants)
    assert algorithm.standings is not None
    assert algorithm.standings(state, constants) == []
    assert "No batch" in algorithm.explain(state, constants, labels)
    rng = np.random.default_rng(0)
    said = []
    while algorithm.over(state, constants) == UNDECIDED:
        arm = recruiting(algorithm, state, constants)[0]
        size = algorithm.size(state, constants, arm)
        give(algorithm, state, constants, arm, float(rng.binomial(size, (0.2, 0.9, 0.4)[arm])))
        said.append(algorithm.explain(state, constants, labels))
        for standing in algorithm.standings(state, constants):
            assert standing.needed == pytest.approx(math.log(20))
            assert standing.value <= standing.needed
    assert "10 mg is better than every other arm" in said[-1]
    assert any("leads" in text and "needed" in text for text in said[:-1])
    assert all(standing.value == standing.needed for standing in algorithm.standings(state, constants))


def test_forms_follow_the_outcomes_and_the_privacy_model() -> None:
    def constants(name: str, **given: Any) -> Any:
        plan: dict[str, Any] = {"arms": 3, "delta": 0.05, "epsilon": 1, "outcomes": "binary", "algorithm": name}
        return CATALOGUE[name].constants(Design.make(**(plan | given)).numbers())

    assert not constants("evidence").tilted
    assert constants("evidence", outcomes="unit").tilted
    assert constants("evidence", privacy="none", outcomes="unit").tilted
    assert not constants("evidence", privacy="none").tilted
    assert constants("evidence", privacy="zcdp", rho=0.1).tilted
    assert not constants("evidence", privacy="local", outcomes="unit").tilted
    assert not constants("evidence-likelihood", outcomes="unit").tilted
    assert constants("evidence-tilted").tilted
    assert constants("evidence", outcomes="unit").law.step == 2.0**-20
    assert constants("evidence-likelihood", outcomes="unit").law.step == 1.0
    with pytest.raises(InputError):
        constants("evidence", privacy="zcdp")


@pytest.mark.parametrize("law", [pure_law(0.01), pure_law(2.0), no_privacy(), zcdp_law(0.001)])
@pytest.mark.parametrize("tilted", [False, True])
def test_forecasts_rise_with_the_batch_and_can_be_inverted(law: Any, tilted: bool) -> None:
    rate = 0.002
    forecast = [expected_evidence(law, tilted, n, rate) for n in np.geomspace(1, 1e7, 60)]
    assert np.all(np.diff(forecast) > 0)
    assert np.all(np.array(forecast) >= 0)
    for nats in (0.1, 3.0, 12.0):
        n = batch_for(law, tilted, nats, rate, 1.0)
        assert expected_evidence(law, tilted, n, rate) == pytest.approx(nats, rel=2e-3)
