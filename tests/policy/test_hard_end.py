"""A trial with a hard end, by enumeration: it always ends, and no opponent makes it wrong more often than computed.

The policy's own rules are folded over every sequence of coins and outcomes of a few people. The opponent knows
everything so far, picks each person's rates on every arm, and may void whom he likes once their arm is known.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from bestarm.policy.algorithm import UNDECIDED
from bestarm.policy.evidence import hard_end
from bestarm.policy.evidence.hard_end import Climb, LadderConstants, ladder_constants, new_leads
from bestarm.policy.stages import (
    Stages,
    enter_closing,
    enter_opening,
    enter_people,
    enter_release,
    new_stages,
    next_slot,
    oldest_slot,
)
from bestarm.release.laws import no_privacy
from bestarm.theory.ladder import Ladder, wrong

ZONE = 0.3
TWO = Ladder((2, 2), (1.0, 0.0), 0.5)
LOW = Ladder((2, 2), (1.0, 0.0), 0.25)

Person = tuple[int, int]
"""An arm, and what became of its person: 0, 1, or VOID."""
VOID = -1
Judge = Callable[[Climb, LadderConstants], int]
Verdict = Callable[[LadderConstants, list[list[Person]]], int]


def fold(constants: LadderConstants, released: list[list[Person]], judge: Judge = hard_end.highest) -> int:
    """The policy's verdict after these stages."""
    arms = constants.arms
    climb = Climb(new_stages(arms), new_leads(arms))
    values = np.zeros(arms)
    for people in released:
        slot = next_slot(climb.stages)
        hard_end.open_rung(climb, constants, slot)
        assert climb.stages.openings.planned[slot] == len(people)
        enter_opening(climb.stages)
        assert hard_end.extent_of_rung(climb) == len(people)
        sums = [0.0] * arms
        for arm, outcome in people:
            enter_people(climb.stages, arm, 1)
            sums[arm] += max(outcome, 0)
            climb.stages.voided[slot, arm] += outcome == VOID
        enter_closing(climb.stages)
        values[:] = sums
        if climb.stages.openings.difference[slot] == 1:
            values[0] = sums[0] - sums[1]
        assert oldest_slot(climb.stages) == slot
        hard_end.settle_rung(climb, constants, slot, values)
        enter_release(climb.stages)
    return judge(climb, constants)


def rates_of(arms: int, worse: int, best: int, zone: float) -> list[tuple[float, ...]]:
    """What the opponent may pick: one arm better than another by the zone, the corners and a point between them."""
    found = []
    for low in (0.0, 0.5 * (1.0 - zone), 1.0 - zone):
        for others in product((0.0, 1.0), repeat=arms - 2):
            rest = iter(others)
            found.append(tuple(low if a == worse else low + zone if a == best else next(rest) for a in range(arms)))
    return found


def most_wrong(ladder: Ladder, arms: int, voids: bool = False, verdict: Verdict = fold, zone: float = ZONE) -> float:
    """The largest chance that arm 0 is recommended although arm 1 is better by the zone for everybody."""
    constants = ladder_constants(arms, ladder)
    picks = rates_of(arms, 0, 1, zone)

    def value(done: list[list[Person]], now: list[Person]) -> float:
        if len(now) == ladder.stages[len(done)]:
            done = [*done, now]
            found = verdict(constants, done)
            if found != UNDECIDED or len(done) == len(ladder.stages):
                return float(found == 0)
            now = []
        left = [value(done, [*now, (a, x)]) for a in range(arms) for x in (0, 1)]
        void = [value(done, [*now, (a, VOID)]) if voids else 0.0 for a in range(arms)]
        best = 0.0
        for rates in picks:
            means = (m * left[2 * a + 1] + (1.0 - m) * left[2 * a] for a, m in enumerate(rates))
            best = max(best, sum(max(mean, void[a]) for a, mean in enumerate(means)) / arms)
        return best

    return value([], [])


def test_two_arms() -> None:
    """What the opponent reaches is what was computed, with voids as without."""
    fair = wrong(TWO, 2, ZONE, no_privacy())
    assert most_wrong(TWO, 2) == pytest.approx(fair, rel=1e-9)
    assert most_wrong(TWO, 2, voids=True) == pytest.approx(fair, rel=1e-9)


def test_three_arms() -> None:
    """With a third arm it is no more."""
    three = Ladder((2, 1), (1.0, 0.0), 0.5)
    assert most_wrong(three, 3) <= wrong(three, 3, ZONE, no_privacy()) + 1e-12
    assert most_wrong(three, 3, voids=True) <= wrong(three, 3, ZONE, no_privacy()) + 1e-12


def voids_count_nothing(constants: LadderConstants, released: list[list[Person]]) -> int:
    """Planted: a void is a failure, on the rival too."""
    return fold(constants, [[(arm, max(x, 0)) for arm, x in people] for people in released])


def never_behind(constants: LadderConstants, released: list[list[Person]]) -> int:
    """Planted: an arm that was behind by the line may still be recommended later."""

    def forgetful(climb: Climb, read: LadderConstants) -> int:
        climb.leads.behind[:] = 0
        return hard_end.highest(climb, read)

    return fold(constants, released, forgetful)


def lines_too_low(constants: LadderConstants, released: list[list[Person]]) -> int:
    """Planted: the first line lowered."""
    return fold(constants._replace(lines=np.array([0.0, 0.0])), released)


def wrong_pivot(constants: LadderConstants, released: list[list[Person]]) -> int:
    """Planted: outcomes are compared as they are, although nothing is assumed of the rates."""
    return fold(constants._replace(pivot=0.0), released)


@pytest.mark.parametrize("planted", [voids_count_nothing, lines_too_low, wrong_pivot])
def test_planted_errors(planted: Verdict) -> None:
    """Each makes a wrong verdict likelier than was computed."""
    assert most_wrong(TWO, 2, voids=True, verdict=planted) > 1.002 * wrong(TWO, 2, ZONE, no_privacy())


def test_planted_second_chance() -> None:
    """So does an arm that comes back after it was behind by the line: voids would keep the trial open for it."""
    ladder = Ladder((2, 3), (0.5, 0.0), 0.5)
    fair = wrong(ladder, 2, ZONE, no_privacy())
    assert most_wrong(ladder, 2, voids=True) <= fair + 1e-12
    assert most_wrong(ladder, 2, voids=True, verdict=never_behind) > 1.002 * fair


@pytest.mark.parametrize("arms", [2, 3, 5])
@pytest.mark.parametrize("ladder", [TWO, LOW, Ladder((3,), (0.0,), 0.5)], ids=["walk", "band", "once"])
def test_it_always_ends(ladder: Ladder, arms: int) -> None:
    """Whatever is released: after the last stage there is a recommendation, and it is the highest score."""
    rng = np.random.default_rng(1)
    constants = ladder_constants(arms, ladder)
    for _ in range(300):
        climb = Climb(new_stages(arms), new_leads(arms))
        scores = np.zeros(arms)
        for people in ladder.stages:
            slot = next_slot(climb.stages)
            hard_end.open_rung(climb, constants, slot)
            enter_opening(climb.stages)
            sizes = rng.multinomial(people, np.full(arms, 1 / arms))
            climb.stages.size[slot] = sizes
            enter_closing(climb.stages)
            sums = rng.integers(-3, 4, arms).astype(float)
            scores += sums - ladder.pivot * sizes
            values = sums.copy()
            if arms == 2:
                values[:] = sums[0] - sums[1], 0.0
            hard_end.settle_rung(climb, constants, slot, values)
            enter_release(climb.stages)
            if hard_end.highest(climb, constants) != UNDECIDED:
                break
        found = hard_end.highest(climb, constants)
        assert found != UNDECIDED
        if climb.leads.looks[0] == len(ladder.stages) and arms > 2:
            assert scores[found] == scores.max()


def stage_beyond(stages: Stages) -> int:
    """The planned size of what would open next."""
    return int(stages.openings.planned[next_slot(stages)])


def test_all_arms_alike() -> None:
    """Weights are equal in every stage, two arms are released as a difference, others as sums."""
    for arms in (2, 4):
        constants = ladder_constants(arms, TWO)
        climb = Climb(new_stages(arms), new_leads(arms))
        for people in (*TWO.stages, TWO.stages[-1]):
            slot = next_slot(climb.stages)
            hard_end.open_rung(climb, constants, slot)
            assert stage_beyond(climb.stages) == people
            assert climb.stages.openings.weights[slot].tolist() == [1 / arms] * arms
            assert climb.stages.openings.difference[slot] == (arms == 2)
            enter_opening(climb.stages)
            enter_closing(climb.stages)
