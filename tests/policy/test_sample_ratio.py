"""The sample-ratio check: exactly fair under fair coins at all times, and able to catch coins that are not."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from bestarm.errors import InputError
from bestarm.policy.sample_ratio import ALARM, StageCounts, average, sample_ratio, stage_evidence


def weights_after(sequence: tuple[int, ...]) -> tuple[float, ...]:
    """Weights of the next person: a new stage every third person, chosen from what was seen, as a policy would."""
    seen = sequence[: len(sequence) // 3 * 3]
    return ((0.2, 0.3, 0.5), (0.6, 0.4, 0.0), (0.1, 0.1, 0.8))[sum(seen) % 3]


def wealth_after(sequence: tuple[int, ...]) -> float:
    """The check's wealth person by person."""
    wealth = np.zeros((3, 1)) + stage_evidence(np.array([0.2, 0.3, 0.5]), np.zeros(3))
    for i, arm in enumerate(sequence):
        wealth = wealth + stage_evidence(np.array(weights_after(sequence[:i])), np.eye(3)[arm])
    return math.exp(average(wealth))


def test_martingale_whatever_the_weights() -> None:
    """Weights that change by stage and depend on earlier coins: the mean over every sequence of arms is 1 exactly."""
    for people in (1, 3, 6):
        mean = 0.0
        for sequence in itertools.product(range(3), repeat=people):
            chance = math.prod(weights_after(sequence[:i])[arm] for i, arm in enumerate(sequence))
            if chance > 0:
                mean += chance * wealth_after(sequence)
        assert mean == pytest.approx(1.0, abs=1e-12)
    skewed = sum((0.25, 0.25, 0.5)[arm] * wealth_after((arm,)) for arm in range(3))
    assert abs(skewed - 1.0) > 1e-4  # the same sum notices coins that are not those announced


def chance_of_alarm(people: int, announced: float, true: float) -> tuple[float, float]:
    """P(ever an alarm, looking after every person) for two arms, and P(one by the last person) given no look before.

    Exact, by a program over the number of people on arm 1; what has raised an alarm stays there.
    """
    alive = np.zeros(people + 1)
    alive[0] = 1.0
    free = alive.copy()
    alarmed = 0.0
    for n in range(1, people + 1):
        alive[1 : n + 1] = alive[1 : n + 1] * (1 - true) + alive[:n] * true
        alive[0] *= 1 - true
        free[1 : n + 1] = free[1 : n + 1] * (1 - true) + free[:n] * true
        free[0] *= 1 - true
        for k in range(n + 1):
            if alive[k] > 0.0 and is_alarm(n, k, announced):
                alarmed += alive[k]
                alive[k] = 0.0
    last = sum(free[k] for k in range(people + 1) if is_alarm(people, k, announced))
    return alarmed, float(last)


def is_alarm(n: int, k: int, announced: float) -> bool:
    """Whether k of n on arm 1 is an alarm, when only this moment is looked at."""
    return not sample_ratio([StageCounts((1 - announced, announced), (n - k, k))]).ok


@pytest.mark.parametrize("announced", [0.5, 0.2])
def test_fair_coins_ever_alarm_at_most_once_in_a_thousand(announced: float) -> None:
    """Looking after every single person; computed, not simulated, and not so rare as to be no check."""
    ever, _ = chance_of_alarm(250, announced, announced)
    assert 2e-5 < ever <= ALARM


def test_biased_coin_is_caught() -> None:
    """A coin of .7 instead of .5, and one of .4 instead of .2, by 250 people."""
    assert chance_of_alarm(250, 0.5, 0.7)[1] > 0.95
    assert chance_of_alarm(250, 0.2, 0.4)[1] > 0.95


def test_small_bias_over_many_stages() -> None:
    """Three arms, weights that change, one arm's odds 10% up: told within 60,000 people, and fair ones are not.

    Counts are the expected ones, so nothing is drawn.
    """
    stages, fair = [], []
    for i in range(20):
        weights = np.array([(0.2, 0.3, 0.5), (0.5, 0.25, 0.25)][i % 2])
        tilted = weights * np.array([1.1, 1.0, 1.0])
        people = np.rint(3000 * tilted / tilted.sum()).astype(int)
        stages.append(StageCounts(weights.tolist(), people.tolist()))
        fair.append(StageCounts(weights.tolist(), np.rint(3000 * weights).astype(int).tolist()))
    assert not sample_ratio(stages).ok
    assert sample_ratio(fair) == (1.0, True)


def test_alarm_is_kept() -> None:
    """Stages that make up for a biased one do not silence it."""
    biased, contrary = StageCounts((0.5, 0.5), (300, 100)), StageCounts((0.5, 0.5), (100, 300))
    assert not sample_ratio([biased]).ok
    assert sample_ratio([biased, contrary]).p_value == sample_ratio([biased]).p_value


def test_edges() -> None:
    """Nobody yet, an arm with weight 1, and somebody on an arm that no coin can fall on."""
    assert sample_ratio([]) == (1.0, True)
    assert sample_ratio([StageCounts((0.5, 0.5), (0, 0))]) == (1.0, True)
    assert sample_ratio([StageCounts((0.0, 1.0), (0, 10**6))]).p_value == pytest.approx(1.0, abs=1e-9)
    assert sample_ratio([StageCounts((0.0, 1.0), (1, 10**6))]) == (0.0, False)


@pytest.mark.parametrize(
    "stages",
    [
        [StageCounts((0.5, 0.5), (1,))],
        [StageCounts((0.5, 0.6), (1, 1))],
        [StageCounts((1.5, -0.5), (1, 1))],
        [StageCounts((0.5, 0.5), (1, -1))],
        [StageCounts((0.5, math.nan), (1, 1))],
        [StageCounts((0.5, 0.5), (1, 1)), StageCounts((0.5, 0.25, 0.25), (1, 1, 1))],
    ],
)
def test_bad_input(stages: list[StageCounts]) -> None:
    """Counts that fit no stage are refused in one sentence."""
    with pytest.raises(InputError, match=r"^[A-Z].*\.$"):
        sample_ratio(stages)
