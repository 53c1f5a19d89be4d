"""What one of the two servers keeps: a half of what each person sent, and the one sum it gave for each stage.

A half is a uniform number whatever the outcome was. Two sums of nearly the same people would give away the difference,
so a stage is added up once, and asked again the answer is the same or a refusal. To the sum the server adds its share
of the noise that missing people would have brought.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import sqlalchemy as sa

from bestarm.errors import InputError
from bestarm.exact import kept
from bestarm.privacy.shares import MODULUS, rest_of_noise
from bestarm.release.distributed import LEAST_SHARE
from bestarm.storage import schema
from bestarm.storage.contract import Store
from bestarm.storage.sql import SQLStore
from bestarm.trial.answers import HeldHalves

_halves, _sums = schema.halves.c, schema.half_sums.c


class HalfServer(Protocol):
    """One of the two servers, as whoever sends and whoever gathers sees it."""

    def put(self, assignment: str, stage: int, people: int, epsilon: str, half: Sequence[int]) -> str:
        """Keep a person's half: "recorded" or "already recorded"."""

    def held(self, stage: int) -> HeldHalves:
        """Whose halves are there."""

    def add_up(self, stage: int, assignments: Sequence[str]) -> list[int]:
        """The sums of these people's halves, with this server's share of the missing noise; once for a stage."""


class Halves:
    """The halves of one trial in a store, which need not hold the trial."""

    def __init__(self, store: Store, trial: str) -> None:
        if not isinstance(store, SQLStore):
            raise InputError("Halves are kept in a database: a path, or a URL postgresql://...")
        self._store = store
        self._trial = trial

    def put(self, assignment: str, stage: int, people: int, epsilon: str, half: Sequence[int]) -> str:
        """Keep a person's half: "recorded" or "already recorded". Another one for the same person is refused."""
        budget = kept(epsilon, "epsilon")
        if budget <= 0 or people < 1 or not half or not all(0 <= number < MODULUS for number in half):
            raise InputError("A half is made of numbers from 0 to 2^62 - 1, with an epsilon and a number of people.")
        row = {"trial": self._trial, "assignment": assignment, "stage": stage, "people": people, "epsilon": epsilon}
        row["half"] = json.dumps(list(half))
        mine = sa.select(schema.halves).where(_halves.trial == self._trial, _halves.assignment == assignment)
        with self._store.transaction() as connection:
            there = connection.execute(mine).mappings().first()
            if there is None and self._answer(connection, stage) is not None:
                raise InputError("This stage has been added up; nothing more is taken for it.")
            if there is None:
                connection.execute(sa.insert(schema.halves), row)
                return "recorded"
        if dict(there) != row:
            raise InputError("Another half is there for this assignment; what was sent once cannot be changed.")
        return "already recorded"

    def held(self, stage: int) -> HeldHalves:
        """Whose halves are there, and whose were added up."""
        rows = sa.select(_halves.assignment).where(_halves.trial == self._trial, _halves.stage == stage)
        with self._store.transaction() as connection:
            held = sorted(connection.execute(rows).scalars())
            answer = self._answer(connection, stage)
        return HeldHalves(tuple(held), None if answer is None else tuple(json.loads(answer.assignments)))

    def add_up(self, stage: int, assignments: Sequence[str]) -> list[int]:
        """The sums of these people's halves modulo 2^62, with this server's share of the missing noise: once."""
        wanted = sorted(set(assignments))
        rows = sa.select(schema.halves).where(_halves.trial == self._trial, _halves.stage == stage)
        with self._store.transaction() as connection:
            answer = self._answer(connection, stage)
            if answer is not None:
                if json.loads(answer.assignments) != wanted:
                    raise InputError("This stage was added up for other people; a second sum would give away the rest.")
                sums: list[int] = json.loads(answer.sums)
                return sums
            found = {row.assignment: row for row in connection.execute(rows)}
            if any(one not in found for one in wanted):
                raise InputError("Not everybody's half is here; ask whose are.")
            sums = added_up([found[one] for one in wanted])
            entry = {"trial": self._trial, "stage": stage, "assignments": json.dumps(wanted), "sums": json.dumps(sums)}
            connection.execute(sa.insert(schema.half_sums), entry)
        return sums

    def _answer(self, connection: sa.Connection, stage: int) -> sa.Row[tuple[object, ...]] | None:
        query = sa.select(schema.half_sums).where(_sums.trial == self._trial, _sums.stage == stage)
        return connection.execute(query).first()


class HalfRow(Protocol):
    """A row of the table of halves, as far as it is added up."""

    people: int
    epsilon: str
    half: str


def added_up(rows: Sequence[HalfRow]) -> list[int]:
    """The sums of these halves, and with them half of the noise that those who are missing would have added."""
    said = {(row.people, row.epsilon, len(json.loads(row.half))) for row in rows}
    if len(said) != 1:
        raise InputError("There is nobody to add up, or people were told different things about their stage.")
    ((people, epsilon, count),) = said
    if not LEAST_SHARE * people <= len(rows) <= people:
        raise InputError(f"{len(rows)} of {people} planned people sent halves; at least half of them are added up.")
    missing = Fraction(people - len(rows), 2 * people)
    rest = [rest_of_noise(kept(epsilon, "epsilon"), missing) for _ in range(count)]
    columns = zip(*(json.loads(row.half) for row in rows), strict=True)
    return [(sum(column) + noise) % MODULUS for column, noise in zip(columns, rest, strict=True)]
