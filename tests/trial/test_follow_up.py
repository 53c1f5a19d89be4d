"""With a fixed follow-up, when outcomes arrive changes nothing: batches close by the clock and by assignments alone."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bestarm.durations import duration, in_largest_unit
from bestarm.trial.trial import Trial
from tests.trial.people import DAY, ChosenNoise, Clock

ARMS = ["a", "b", "c"]


def make(place: str | Path, clock: Clock, **changes: Any) -> Trial:
    plan: dict[str, Any] = {"name": "t", "arms": ARMS, "epsilon": 1, "delta": 0.1, "algorithm": "adap-tt"}
    plan |= {"follow_up": "30d", "clock": clock, "noise": ChosenNoise([3, -5, 70, 2, 11, -40] * 20)}
    return Trial.create(place, **(plan | changes))


def days_of_answers(seed: int, people: int, silent: set[int]) -> dict[int, int]:
    """On which day each person's outcome arrives, enrolling one a day, always before it is due."""
    rng = random.Random(seed)
    return {person: person + rng.randrange(30) for person in range(people) if person not in silent}


def story(place: Path, answers: dict[int, int], people: int) -> list[Any]:
    """Enrol one person a day; everything public, day by day."""
    clock = Clock()
    trial = make(place, clock)
    ids: dict[int, str] = {}
    seen = []
    for day in range(people + 40):
        if day < people:
            ids[day] = str(trial.ask(f"person {day}").id)
        for person, when in answers.items():
            if when == day:
                assert trial.tell(ids[person], person % 3 / 2) == "recorded"
        status = trial.status()
        seen.append((status["state"], status["recruiting"], status["assigned"], status["releases"]))
        clock.move(DAY)
    assert trial.verify().ok
    trial.close()
    return seen


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.sets(st.integers(0, 24), max_size=5))
def test_permuting_and_delaying_arrivals_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, one: int, other: int, silent: set[int]
) -> None:
    folder = tmp_path_factory.mktemp("stories")
    people = 25
    first = story(folder / "one.db", days_of_answers(one, people, silent), people)
    second = story(folder / "two.db", days_of_answers(other, people, silent), people)
    assert first == second
    assert first[-1][3]


def test_what_is_missing_when_due_is_imputed_and_what_comes_later_is_late(place: str) -> None:
    clock = Clock()
    trial = make(place, clock, algorithm="uniform", withdrawal="impute:0.25", noise=ChosenNoise())
    first, second, third = (str(a.id) for a in trial.ask_many(["x", "y", "z"]))
    trial.tell(first, 1)
    clock.move(30 * DAY - 1)
    assert trial.tell(second, 1) == "recorded"
    assert trial.status()["releases"] == []
    clock.move(1)
    assert trial.tell(third, 1) == "late"
    assert [r["value"] for r in trial.status()["releases"]] == [1, 1, 0.25]
    assert trial.verify().ok


def test_an_outcome_is_due_even_while_its_batch_still_fills(sqlite_place: str) -> None:
    clock = Clock()
    trial = make(sqlite_place, clock, algorithm="uniform", noise=ChosenNoise(), outcomes="binary")
    trial.ask_many([f"p-{n}" for n in range(6)])
    seventh = str(trial.ask("p-7").id)  # the first of two places in a batch
    clock.move(31 * DAY)
    assert trial.tell(seventh, 1) == "late"
    trial.ask_many([f"q-{n}" for n in range(3)])
    clock.move(31 * DAY)
    assert trial.status()["releases"][-1]["value"] == 0
    assert trial.verify().ok


def test_looking_makes_the_releases_that_are_due(place: str) -> None:
    clock = Clock()
    trial = make(place, clock)
    for person, asked in enumerate(trial.ask_many(["x", "y", "z"])):
        trial.tell(str(asked.id), person / 2)
    assert trial.view().releases == []
    clock.move(40 * DAY)
    assert len(trial.view().releases) == 3
    assert Trial.open(place, name="t", clock=clock).status() == trial.status()


def test_time_does_not_run_backwards(sqlite_place: str) -> None:
    clock = Clock()
    trial = make(sqlite_place, clock)
    trial.ask("x")
    clock.move(-10 * DAY)
    trial.ask("y")
    assert trial.verify().ok
    first, second = (a.assigned_at for a in trial.open_assignments())
    assert first == second


@pytest.mark.parametrize(
    ("text", "shown"), [("30d", "30d"), ("2w", "14d"), ("90m", "90m"), ("120m", "2h"), ("45s", "45s")]
)
def test_a_follow_up_is_shown_as_it_was_meant(text: str, shown: str) -> None:
    assert in_largest_unit(duration(text)) == shown
