"""The participants' side of a trial with distributed noise: outcomes leave this machine in halves.

Whoever holds the key can compute what hides an outcome, so it stays here: one key for each trial, made with
`new_key()`, and given to neither server.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bestarm.design import Design
from bestarm.distributed.halves import HalfServer
from bestarm.errors import InputError, OperationError
from bestarm.exact import exact, kept
from bestarm.privacy.shares import Splitter, centred
from bestarm.release.distributed import LEAST_SHARE
from bestarm.trial.answers import Asked, Gathering

KEY_BYTES = 32


def new_key() -> bytes:
    """A key for the outcomes of one trial."""
    return secrets.token_bytes(KEY_BYTES)


class Coordinated(Protocol):
    """A trial in a store or on a server, as far as it is needed here."""

    name: str
    design: Design

    def ask(self, subject: object) -> Asked: ...
    def withdraw(self, assignment: str, reason: str) -> str: ...
    def gathering(self) -> Gathering | None: ...
    def gather(self, stage: int, assignments: Sequence[str], sums: Sequence[int]) -> str: ...


@dataclass(frozen=True)
class Gathered:
    """A stage that was released, or what it waits for."""

    stage: int
    contributors: int
    planned: int
    missing: int
    released: bool


class SplitTrial:
    """A trial whose outcomes are sent in halves: `SplitTrial(trial, (one, other), key)`."""

    def __init__(self, trial: Coordinated, servers: tuple[HalfServer, HalfServer], key: bytes) -> None:
        if not trial.design.distributed:
            raise InputError("This trial adds its noise centrally; tell it its outcomes.")
        self.trial = trial
        self._servers = servers
        self._key = key

    def ask(self, subject: object) -> Asked:
        """The subject's assignment, with what is needed to send an outcome. Safe to repeat."""
        return self.trial.ask(subject)

    def tell(self, asked: Asked, outcome: object) -> str:
        """Send an outcome: its two halves go to the two servers, and nothing else. Safe to repeat.

        "recorded" once both have their half, "already recorded" if both had it before.
        """
        if asked.id is None or asked.part is None:
            raise InputError("There is no assignment to tell an outcome of: the trial has stopped.")
        part = asked.part
        unit = self.trial.design.outcomes.to_unit(exact(outcome, "The outcome"))
        splitter = Splitter(self._key, self.trial.name, kept(part.epsilon, "epsilon"))
        number = int(asked.id.partition("-")[0])
        numbers = splitter.numbers(number, unit, part.place, part.sign, part.sums, part.people)
        halves = splitter.split(number, numbers)
        answers = [
            server.put(asked.id, part.stage, part.people, part.epsilon, half)
            for server, half in zip(self._servers, halves, strict=True)
        ]
        return max(answers)  # "recorded" if one of the two was new

    def gather(self) -> Gathered | None:
        """Add up the halves of the stage whose turn it is and release it; None if none is. Safe to repeat.

        Only people of whom both servers hold a half can be added up. Before the stage is due, it waits for the others;
        then their outcomes count as missing.
        """
        due = self.trial.gathering()
        if due is None:
            return None
        found = [server.held(due.stage) for server in self._servers]
        settled = {one.summed for one in found if one.summed is not None}
        if len(settled) > 1:
            raise OperationError(f"The servers added up different people of stage {due.stage}; it cannot be released.")
        both = set(found[0].held) & set(found[1].held)
        people = list(settled.pop()) if settled else [one for one in due.assignments if one in both]
        missing = len(set(due.assignments) - set(people))
        if (missing and not due.due) or len(people) < LEAST_SHARE * due.people:
            return Gathered(due.stage, len(people), due.people, missing, released=False)
        halves = [server.add_up(due.stage, people) for server in self._servers]
        self.trial.gather(due.stage, people, [centred(sum(pair)) for pair in zip(*halves, strict=True)])
        return Gathered(due.stage, len(people), due.people, missing, released=True)
