"""The auditor's own accounts: what has to be in every sum, from what was told and answered, and not from the books.

Every release is compared with them: it has to be of the sum that the people of its stage make, each once, with the
outcome that counts (the last correction; what is imputed for whoever withdrew or is missing), made after everybody's
follow-up, with noise drawn once for each number that is published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from bestarm.design import Design
from bestarm.privacy.coins import IMPUTED, OUTCOME, VOID
from bestarm.release.models import COIN
from bestarm.trial.audit.watched import Drawn, Encoded, WatchedDoor


@dataclass
class Place:
    """One assignment, as the auditor knows it."""

    person: int
    at: int
    stage: int
    arm: int
    value: int | None = None
    """What counts; None while nothing does."""
    voided: bool = False


@dataclass
class Accounts:
    """One trial's accounts, and what is wrong with the trial by them."""

    design: Design
    places: dict[int, Place] = field(default_factory=dict)
    stages: dict[int, dict[str, Any]] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)
    published: list[Drawn] = field(default_factory=list)
    """Every release: the sum by these accounts, and the value in the public chain."""
    turns: int = 0
    """Stages whose turn has come: they were released, or went on in the next one."""
    _held: dict[int, int] = field(default_factory=dict)
    _read: int = 0
    _matched: int = 0
    _values: dict[tuple[int, str, Fraction], int] = field(default_factory=dict)
    _latest: dict[tuple[int, str], int] = field(default_factory=dict)
    _checked: int = 0

    def joined(self, number: int, person: int, at: int) -> None:
        """A person holds this assignment; that it is a new one is no news."""
        if number not in self.places:
            self.places[number] = Place(person, at, 0, 0)
            held = self._held[person] = self._held.get(person, 0) + 1
            if held > self.design.contributions:
                self.found.append(f"One person holds {held} assignments, {self.design.contributions} are allowed.")

    def counts(self, number: int) -> None:
        """The outcome that was told or corrected just now counts."""
        self.places[number].value = self._latest.get((number, OUTCOME))

    def withdrawn(self, number: int) -> None:
        """The person's outcome counts no longer: the place is imputed, or free for somebody else."""
        if self.design.replaces:
            self.places[number].stage = 0
            self.places[number].value = None
        else:
            self.places[number].value = self._latest.get((number, IMPUTED))

    def voided(self, number: int) -> None:
        """It was a second entry of somebody: it keeps its place and counts as the worst, and its code is free again."""
        place = self.places[number]
        place.value, place.voided = self._latest.get((number, VOID)), True
        self._held[place.person] -= 1

    def note(self, door: WatchedDoor) -> None:
        """Take in the integers that outcomes became since the last time."""
        for encoded in door.encoded[self._checked :]:
            self._check_integer(encoded)
        self._checked = len(door.encoded)

    def look(self, door: WatchedDoor, chain: Sequence[tuple[str, dict[str, Any]]], now: int) -> None:
        """Take in what has passed the doors and become public since the last look."""
        self.note(door)
        for kind, body in chain[self._read :]:
            if kind == "opened":
                self.stages[body["stage"]] = body
            elif kind == "assigned":
                place = self.places.setdefault(body["assignment"], Place(-1, now, 0, 0))
                place.stage, place.arm = body["stage"], body["arm"]
            elif kind == "merged":
                self.turns += 1
                self._check_time(body["stage"], now)
                for place in self.places.values():
                    if place.stage == body["stage"]:
                        place.stage = body["into"]
            elif kind == "released":
                self.turns += 1
                self._check_release(body, door, now)
        self._read = len(chain)
        if len(door.drawn) > self._matched:
            self.found.append(
                f"Noise was drawn {len(door.drawn)} times for the {self._matched} numbers that were published."
            )
            self._matched = len(door.drawn)

    def _check_integer(self, one: Encoded) -> None:
        # What an outcome became: the integer next to it, and the same one whenever it is asked for again.
        label = one.number, one.purpose, one.outcome
        if self._values.setdefault(label, one.value) != one.value:
            self.found.append("A person's coins were tossed again: one outcome became two different integers.")
        self._latest[one.number, one.purpose] = one.value
        grid = self.design.grid
        off = abs(one.value - one.outcome * grid)
        loose = self.design.encoding == COIN or self.design.privacy.model in ("local", "shuffle")
        if not 0 <= one.value <= grid or (off >= 1 and not loose):
            self.found.append("An outcome became an integer that it cannot be.")

    def _check_release(self, body: dict[str, Any], door: WatchedDoor, now: int) -> None:
        number = body["stage"]
        opened = self.stages[number]
        arms = [arm for arm, weight in enumerate(opened["weights"]) if weight > 0]
        totals: dict[int, int] = {}
        counts: dict[int, int] = {}
        for arm in arms:
            people = [place for place in self.places.values() if (place.stage, place.arm) == (number, arm)]
            counts[arm] = len(people)
            totals[arm] = self._sum_of(people, f"{IMPUTED} {number} {arm}")
            if body["voided"][arms.index(arm)] != sum(place.voided for place in people):
                self.found.append("The number of voided people that was published is wrong.")
        shuffling = self.design.privacy.shuffling
        fewest = sum(counts.values()) if opened["difference"] else min(counts.values())
        if shuffling is not None and fewest < shuffling.group:
            self.found.append("A sum over fewer people than a group was released.")
        if opened["difference"]:
            expected = [sum(t if arm == opened["champion"] else -t for arm, t in totals.items())]
        else:
            expected = list(totals.values())
        drawn = door.drawn[self._matched : self._matched + len(expected)]
        self._matched += len(drawn)
        self.published += [Drawn(total, value) for total, value in zip(expected, body["values"], strict=False)]
        if [one.value for one in drawn] != body["values"]:
            self.found.append("What was published is not what the mechanism gave.")
        if [one.total for one in drawn] != expected:
            self.found.append("A release is not of the sum of the outcomes that count.")
        self._check_time(number, now)

    def _sum_of(self, people: Sequence[Place], purpose: str) -> int:
        imputed = [value for (_, what), value in self._latest.items() if what == purpose]
        if len(imputed) != sum(place.value is None for place in people):
            self.found.append("More or fewer outcomes were imputed than are missing.")
        return sum(place.value or 0 for place in people) + sum(imputed)

    def _check_time(self, stage: int, now: int) -> None:
        follow_up = self.design.follow_up
        if follow_up is not None and any(
            place.stage == stage and now < place.at + follow_up for place in self.places.values()
        ):
            self.found.append("A stage was released before the follow-up of everybody in it was over.")
