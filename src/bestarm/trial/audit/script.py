"""What happens in a replayed trial, and to whom: everything is chosen before the first person comes.

Who comes when, and what staff do and when, depends on the seed alone, so the same script runs on any table of outcomes.
People report at once or after a while, twice, too late or not at all; are guessed at, corrected, withdrawn, voided; and
some reports break on their way and are made again.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from bestarm.design import Design

HOUR: Final = 3600

ASK: Final = "ask"
TELL: Final = "tell"
CORRECT: Final = "correct"
WITHDRAW: Final = "withdraw"
VOID: Final = "void"
"""An assignment is said to be a second entry of the first person who came."""
GUESS: Final = "guess"
"""Somebody of another ward tells an outcome that was told already, to see what the answer gives away."""
LOOK: Final = "look"
PAUSE: Final = "pause"
RESUME: Final = "resume"
LAST: Final = 9
"""The order of the last act of a script."""
REPORTS: Final = (TELL, CORRECT, WITHDRAW, VOID, GUESS)
"""What staff do that nobody else may notice."""


@dataclass(frozen=True)
class Visit:
    """One person's outcomes at one visit: on each arm, as first reported and as corrected."""

    outcomes: tuple[Fraction, ...]
    corrected: tuple[Fraction, ...]


Table: TypeAlias = Sequence[Sequence[Visit]]
"""Person n's visits; as many for each as the design allows contributions, and no more than `MOST_VISITS`."""
MOST_VISITS: Final = 3


@dataclass(frozen=True, order=True)
class Act:
    """One thing that happens, at a time in seconds from the start."""

    when: int
    order: int
    """Of things that happen in the same second."""
    what: str
    person: int = 0
    visit: int = 0
    broken: bool = False
    """The commit fails, and it is done again."""


def table_of(design: Design, people: int, rng: random.Random) -> list[list[Visit]]:
    """A table of outcomes: many at either end of the scale, some between where the design takes them."""

    def outcome() -> Fraction:
        if design.outcomes.binary or rng.random() < 0.7:
            return design.outcomes.low if rng.random() < 0.5 else design.outcomes.high
        return design.outcomes.low + design.outcomes.width * Fraction(rng.randrange(1, 1000), 1000)

    def row() -> Visit:
        return Visit(tuple(outcome() for _ in design.arms), tuple(outcome() for _ in design.arms))

    return [[row() for _ in range(visits_of(design))] for _ in range(people)]


def turned(design: Design, visits: Sequence[Visit]) -> list[Visit]:
    """The same person with the opposite outcomes, as far away as they can be from those at the ends of the scale."""
    total = design.outcomes.low + design.outcomes.high
    return [Visit(tuple(total - x for x in row.outcomes), tuple(total - x for x in row.corrected)) for row in visits]


def visits_of(design: Design) -> int:
    """How often people come in a replay."""
    return min(design.contributions, MOST_VISITS)


def script_of(
    design: Design, people: int, rng: random.Random, reports: random.Random, prompt: bool = False
) -> list[Act]:
    """Everything that happens: who comes and leaves when is chosen by `rng`, who reports what when by `reports`.

    With `prompt` everybody reports, and soon; else some with a follow-up are late or never heard of again.
    """
    acts: list[Act] = []
    follow_up = design.follow_up
    unit = HOUR if follow_up is None else max(2, follow_up // 6)
    now = last = 0
    for person in range(people):
        now += rng.randrange(unit)
        leaves = rng.random()
        for visit in range(visits_of(design)):
            came = now + visit * ((follow_up or 0) + rng.randrange(unit))
            last = max(last, came)
            acts.append(Act(came, 0, ASK, person, visit))
            if follow_up is not None:
                # Just before an outcome is due nothing may be released yet; and nobody may look when it is.
                acts.append(Act(came + follow_up - 1, 5, LOOK))
                if rng.random() < 0.5:
                    acts.append(Act(came + follow_up, 5, LOOK))
            if leaves < 0.06:
                acts.append(Act(came + rng.randrange(unit), 4, WITHDRAW, person, visit))
            elif leaves < 0.2:
                acts.append(Act(came + rng.randrange(unit, 4 * unit), 4, WITHDRAW, person, visit))
            elif leaves < 0.25 and person > 0:
                acts.append(Act(came + unit // 3, 4, VOID, person, visit))
            acts += reports_of(design, Act(came, 0, ASK, person, visit), unit, reports, prompt)
    pauses = rng.randrange(now + 1)
    acts += [Act(pauses, 6, PAUSE), Act(pauses + unit // 3, 6, RESUME)]
    return [*sorted(acts), Act(last + 3 * (follow_up or 4 * HOUR), LAST, LOOK)]


def reports_of(design: Design, asked: Act, unit: int, rng: random.Random, prompt: bool) -> list[Act]:
    """What is reported of one person after one visit."""
    came, follow_up = asked.when, design.follow_up
    luck = 0.5 if prompt else rng.random()
    if follow_up is not None and luck < 0.08:
        return []  # never heard of again
    span = unit if prompt else 3 * unit if follow_up is None else follow_up
    told = came + (0 if rng.random() < 0.4 else rng.randrange(span))
    if follow_up is not None and luck > 0.9:
        told = came + follow_up + rng.randrange(2 * unit)  # too late
    soon = told + rng.randrange(unit)

    def act(when: int, order: int, what: str, broken: bool = False) -> Act:
        return Act(when, order, what, asked.person, asked.visit, broken)

    acts = [act(told, 1, TELL, rng.random() < 0.3)]
    if rng.random() < 0.3:
        acts.append(act(told, 2, TELL))
    if rng.random() < 0.2:
        acts.append(act(soon, 2, GUESS))
    if rng.random() < 0.25:
        acts.append(act(soon, 3, CORRECT, rng.random() < 0.3))
    return acts
