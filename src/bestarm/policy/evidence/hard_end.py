"""Coin evidence with a hard end: stages of sizes that the design fixed, and lines that fall to 0 at the last.

Nothing is learnt on the way but each arm's lead over each other: the score of a against b, S_a - S_b - c (n_a - n_b)
with the noise of the releases, voids counted against a. b is out under a from the line of the stage on. After the last
stage the line is 0, so the arm with the highest score is recommended, if none was before. How stages and lines are
chosen, and why a wrong verdict has probability delta at most: bestarm/theory/ladder.py, docs/evidence-proof.md.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from bestarm.policy.algorithm import UNDECIDED
from bestarm.policy.record import FloatArray, IntArray
from bestarm.policy.stages import OPENED, Stages, against_rival, difference_for, newest_slot
from bestarm.rules import rule
from bestarm.theory.ladder import Ladder

NO_LADDER: Final = Ladder((), (), 0.5)


class LadderConstants(NamedTuple):
    """What the rules read; of no stages if there is no hard end."""

    arms: int
    stages: IntArray
    """People in each stage."""
    lines: FloatArray
    pivot: float


class Leads(NamedTuple):
    """What is remembered of the releases so far."""

    lead: FloatArray
    """The score of arm a against arm b, champion by rival."""
    out: IntArray
    """1 once b is out under a, champion by rival."""
    behind: IntArray
    """Of two arms: 1 once an arm was behind by the line, so that it is not recommended any more."""
    looks: IntArray
    """One number: how many stages were released."""


class Climb(NamedTuple):
    """The parts of the state that the rules of the hard end work on."""

    stages: Stages
    leads: Leads


def ladder_constants(arms: int, ladder: Ladder | None) -> LadderConstants:
    """For a design's ladder, if it has one."""
    found = ladder or NO_LADDER
    return LadderConstants(arms, np.array(found.stages, np.int64), np.array(found.lines, np.float64), found.pivot)


@rule
def has_end(constants: LadderConstants) -> bool:
    """Whether the design has a hard end."""
    return constants.stages.size > 0


@rule(allocates=True)
def new_leads(arms: int) -> Leads:
    """Before the first release."""
    return Leads(
        np.zeros((arms, arms)), np.zeros((arms, arms), np.int64), np.zeros(arms, np.int64), np.zeros(1, np.int64)
    )


@rule(inline=False)
def open_rung(climb: Climb, constants: LadderConstants, slot: int) -> None:
    """The next stage: all arms alike, as many people as the design says; of two arms, one difference."""
    openings = climb.stages.openings
    for arm in range(constants.arms):
        openings.weights[slot, arm] = 1.0 / constants.arms
    openings.difference[slot] = 1 if constants.arms == 2 else 0
    openings.champion[slot] = 0
    # Beyond the last stage nobody is enrolled; whoever asks what would open then is told the last again.
    number = min(climb.stages.progress[OPENED], constants.stages.size - 1)
    openings.planned[slot] = constants.stages[number]


@rule
def extent_of_rung(climb: Climb) -> int:
    """A stage's size was fixed when it opened."""
    return int(climb.stages.openings.planned[newest_slot(climb.stages)])


@rule(inline=False)
def settle_rung(climb: Climb, constants: LadderConstants, slot: int, values: FloatArray) -> None:
    """Add a release to all leads, and hold them against the stage's line."""
    leads = climb.leads
    stages = climb.stages
    look = leads.looks[0]
    line = constants.lines[look]
    for a in range(constants.arms):
        for b in range(constants.arms):
            if a != b:
                if stages.openings.difference[slot] == 1:
                    ahead = difference_for(stages, slot, a, b, float(values[0]))
                else:
                    ahead = values[a] - against_rival(stages, slot, b, float(values[b]))
                more = float(stages.size[slot, a] - stages.size[slot, b])
                leads.lead[a, b] += ahead - constants.pivot * more
                if leads.lead[a, b] >= line:
                    leads.out[a, b] = 1
                elif constants.arms == 2 and leads.lead[a, b] <= -line:
                    leads.behind[a] = 1
    leads.looks[0] = look + 1


@rule(inline=False)
def highest(climb: Climb, constants: LadderConstants) -> int:
    """The arm under which every other is out; of several the one that leads them. UNDECIDED if there is none."""
    leads = climb.leads
    best = UNDECIDED
    for a in range(constants.arms):
        alone = leads.behind[a] == 0
        for b in range(constants.arms):
            if b != a and leads.out[a, b] == 0:
                alone = False
        if alone and (best == UNDECIDED or leads.lead[a, best] > 0.0):
            best = a
    return best
