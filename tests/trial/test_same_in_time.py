"""A live and a simulated trial on the same coins, outcomes, noise and clock agree event by event, delays included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from bestarm.errors import OperationError
from bestarm.policy.algorithm import UNDECIDED, Batched, Staged
from bestarm.policy.catalogue import CATALOGUE
from bestarm.policy.record import FloatArray
from bestarm.policy.stages import in_stage, oldest_slot
from bestarm.privacy.coins import Coins, PersonalCoins
from bestarm.rules import rule
from bestarm.simulation.clock import Clock
from bestarm.simulation.driver import driving
from bestarm.storage.memory import MemoryBooks
from bestarm.trial.desk import Desk
from bestarm.trial.fold import MICROSECONDS, Fold, Rules
from bestarm.trial.moments import moment
from tests.simulation.worlds import Timed, timed
from tests.trial.test_same_as_simulated import rules_for

COINS = partial(PersonalCoins, b"k" * 32, "in time")
MEANS = (0.2, 0.8, 0.3)
MISSING = 0.15
START = 1_800_000_000 * MICROSECONDS
DAY = 86400 * MICROSECONDS
A_DAY = 10
WEEK, WEEK_AND_HOUR = 7 * 24, 7 * 24 + 1
"""Hours of follow-up: after a week somebody comes just when a release is due, and comes after it; after an hour more
the release falls between two people."""


@dataclass
class Story:
    """Everything that happened: people's arms and outcomes (None: it never came), noise, releases, the end."""

    arms: list[int] = field(default_factory=list)
    outcomes: list[int | None] = field(default_factory=list)
    noise: list[int] = field(default_factory=list)
    releases: list[tuple[list[int], list[int], str]] = field(default_factory=list)
    """Sizes, values in steps, and when."""
    verdict: int = UNDECIDED
    unused: int = 0
    merged: int = 0
    """How many stages went on in the next one."""


def on_day(day: float) -> str:
    return moment(START + round(day * DAY))


def hours_of(rules: Rules) -> float:
    """The follow-up."""
    return (rules.design.follow_up or 0) / 3600


def simulated(rules: Rules, seed: int, most: int) -> Story:
    """A run of the simulator's own loop, person by person so that the order of arms is known."""
    story, grid = Story(), rules.grid
    algorithm = rules.algorithm

    def count(rng: np.random.Generator, world: Timed, arm: int, people: int, at: float) -> float:
        assert people == 1
        came = rng.random() >= MISSING
        story.arms.append(arm)
        story.outcomes.append(int(rng.random() < MEANS[arm]) if came else None)
        told = story.outcomes[-1]
        return float(world.changes.imputed[arm] if told is None else told)

    def blur(rng: np.random.Generator, world: Timed) -> float:
        story.noise.append(round(rng.laplace()))
        return float(story.noise[-1])

    def settle(state: Any, constants: Any, slot: int, values: FloatArray) -> None:
        openings = state.stages.openings
        into = openings.weights[slot] > 0
        shown = values[:1] if openings.difference[slot] else values[into]
        keep(state.stages.size[slot][into], shown)
        algorithm.settle(state, constants, slot, values)  # type: ignore[attr-defined]

    def released(state: Any, constants: Any, arm: int) -> None:
        keep(state.record.last_size[[arm]], state.record.last_value[[arm]])
        algorithm.released(state, constants, arm)  # type: ignore[attr-defined]

    def merges(state: Any, constants: Any) -> bool:
        found = bool(algorithm.merges(state, constants))  # type: ignore[attr-defined]
        story.merged += found
        return found

    def keep(sizes: Any, values: Any) -> None:
        story.releases.append(([int(n) for n in sizes], [round(v * grid) for v in values], ""))

    hooked = {"released": released} if isinstance(algorithm, Batched) else {"settle": settle, "merges": merges}
    run = driving(replace(algorithm, **hooked), {"count": count, "blur": blur}, timed=True)
    imputed, against = float(rules.design.imputed(on_champion=False) or 0), rules.design.against
    world = timed(Clock(A_DAY, follow_up=hours_of(rules) / 24), longest_step=1, imputed=imputed, against=against)
    people, story.verdict, releases, story.unused = run(
        np.random.default_rng(seed), world, rules.constants, most, np.zeros(3, np.int64)
    )
    assert people == len(story.arms)
    assert releases == len(story.releases) <= world.diary.size - 1
    story.releases = [(s, v, on_day(day)) for (s, v, _), day in zip(story.releases, world.diary[1:], strict=False)]
    return story


class Door:
    """Encodes outcomes as they are and adds noise that somebody else has drawn."""

    def __init__(self, grid: int, noise: list[int]) -> None:
        self.grid, self.noise = grid, iter(noise)

    def encode(self, outcome: Fraction, coins: Coins) -> int:
        return int(outcome * self.grid)

    def release(self, total: int) -> int:
        return total + next(self.noise) * self.grid

    def terms(self) -> dict[str, str | None]:
        return {}


def lived(rules: Rules, given: Story) -> Story:
    """The same at a live desk: somebody comes every tenth of a day, outcomes are told a moment before they are due."""
    story, books = Story(noise=given.noise), MemoryBooks()
    coins: Iterator[int] = iter(given.arms)
    door = Door(rules.grid, given.noise)
    fold = Fold(rules, books, rules.fresh_state())

    def log(kind: str, at: int, actor: str, body: dict[str, Any], secret: Any) -> None:
        if kind == "released":
            story.releases.append((body["sizes"], body["values"], body["time"]))
        story.merged += kind == "merged"

    def desk(at: int) -> Desk:
        return Desk(fold, door, log, at, COINS, lambda weights: given.arms[len(story.arms)])

    awaited: list[tuple[int, int, int]] = []
    for number in range(10**6):
        at = START + number * DAY // A_DAY
        while awaited and awaited[0][0] < at:
            when, who, told = awaited.pop(0)
            assert desk(when).tell(who, Fraction(told), "me") in ("recorded", "late")
        here = desk(at)
        here.settle()
        if books.book.state == "stopped":
            break
        if fold.full:
            continue  # nobody is enrolled any more, and what is due comes in
        try:
            assignment = here.ask(str(number), "me")
        except OperationError:
            continue  # no arm recruits: turned away
        assert assignment is not None
        assert assignment.arm == next(coins)
        outcome = given.outcomes[len(story.arms)]
        story.arms.append(assignment.arm)
        story.outcomes.append(outcome)
        if outcome is not None:
            awaited.append((at + round(hours_of(rules) / 24 * DAY) - 1, assignment.number, outcome))
    assert books.book.verdict is not None
    label = books.book.verdict["arm"]
    story.verdict = UNDECIDED if label is None else rules.design.arms.index(label)
    story.unused = len(story.arms) - sum(sum(sizes) for sizes, *_ in story.releases)
    return story


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", [name for name, one in CATALOGUE.items() if not one.needs_base])
def test_event_by_event(name: str, seed: int) -> None:
    most = 3300 if name == "dp-se" else 600 + 300 * seed
    hours = WEEK_AND_HOUR if seed else WEEK
    rules = rules_for(name, follow_up=f"{hours}h", withdrawal=f"impute:{seed}", max_participants=most)
    simulation = simulated(rules, seed, most)
    assert len(simulation.releases) + simulation.merged >= 3
    assert lived(rules, simulation) == simulation


@pytest.mark.parametrize("withdrawal", ["impute:0", "against"])
def test_stages_that_go_on_in_the_next_one_too(withdrawal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.MEANS", (0.5, 0.55, 0.5))
    rules = rules_for("evidence", follow_up=f"{5 * WEEK}h", withdrawal=withdrawal, max_participants=1500)
    simulation = simulated(rules, 1, 1500)
    assert len(simulation.releases) >= 3
    assert simulation.merged >= 3
    assert lived(rules, simulation) == simulation


@rule
def until_sixty(state: Any, constants: Any) -> bool:
    return bool(in_stage(state.stages, oldest_slot(state.stages)) < 60)


def test_a_stage_may_go_on_in_one_that_is_still_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.MEANS", (0.5, 0.55, 0.5))
    staged = CATALOGUE["evidence"]
    assert isinstance(staged, Staged)
    own = replace(staged, name="until-sixty", merges=until_sixty)
    rules = rules_for(own, follow_up="24h", withdrawal="impute:0", max_participants=600)
    simulation = simulated(rules, 2, 600)
    assert simulation.merged >= 1
    assert len(simulation.releases) >= 2
    assert lived(rules, simulation) == simulation


@pytest.mark.parametrize("difference", ["0", "0.2"])
def test_missing_outcomes_that_count_against_the_finding(difference: str) -> None:
    rules = rules_for(
        "evidence", follow_up=f"{WEEK_AND_HOUR}h", withdrawal="against", difference=difference, max_participants=700
    )
    simulation = simulated(rules, 3, 700)
    assert len(simulation.releases) >= 3
    assert None in simulation.outcomes
    assert lived(rules, simulation) == simulation


def test_the_fixed_design_too() -> None:
    rules = rules_for("fixed", follow_up=f"{WEEK}h", difference="0.4", base="0.3", max_participants=500)
    simulation = simulated(rules, 0, 500)
    assert simulation.verdict != UNDECIDED
    assert lived(rules, simulation) == simulation


@pytest.mark.parametrize("seed", range(2))
def test_a_hard_end_too(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.MEANS", (0.5, 0.55, 0.5))
    rules = rules_for("evidence", follow_up=f"{WEEK_AND_HOUR}h", difference="0.1", hard_end=True)
    most = rules.design.max_participants
    assert most is not None
    simulation = simulated(rules, seed, most)
    assert len(simulation.releases) >= 2
    assert simulation.verdict != UNDECIDED
    assert lived(rules, simulation) == simulation
