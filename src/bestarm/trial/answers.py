"""What a trial answers. Everything here may be shown to the person who asked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Verdict:
    """How a trial ended: the recommended arm, or None if it ended without one, and why."""

    arm: str | None
    reason: str
    by: str
    """"evidence", "participants" (the largest number was reached) or "ended" (by a person)."""
    caveat: str | None = None
    """What must stand beside the result, if the algorithm's error rate is not proven."""

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Asked:
    """The answer to `ask`. Once the trial has stopped, `id` and `arm` are None and the verdict is there."""

    id: str | None
    arm: str | None
    told: bool
    verdict: Verdict | None = None
    withdrawn: bool = False

    @property
    def stopped(self) -> bool:
        """Whether the trial is over."""
        return self.verdict is not None

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "assignment": self.id,
            "arm": self.arm,
            "told": self.told,
            "withdrawn": self.withdrawn,
            "stopped": self.stopped,
            "verdict": None if self.verdict is None else self.verdict.to_json(),
        }


@dataclass(frozen=True)
class OpenAssignment:
    """An assignment whose outcome is awaited: what staff see of it."""

    id: str
    arm: str
    assigned_at: str
    due_at: str | None


@dataclass(frozen=True)
class Misfit:
    """Something that does not fit: the number of the event, or None if the books differ from the log."""

    event: int | None
    problem: str


MOST_MISFITS = 100
"""So many are listed; all are counted."""


@dataclass(frozen=True)
class Verification:
    """What `verify` found: whether everything fits, and what does not."""

    ok: bool
    events: int
    head: str
    first_bad: int | None = None
    """The number of the first event that does not fit; None if all do, or if only the books differ from the log."""
    problem: str | None = None
    """What is wrong with it."""
    misfits: int = 0
    """How many things do not fit."""
    listed: tuple[Misfit, ...] = ()
    """The first of them."""

    @classmethod
    def of(cls, events: int, head: str, misfits: list[Misfit]) -> Verification:
        """From everything that was found."""
        if not misfits:
            return cls(True, events, head)
        first = misfits[0]
        return cls(False, events, head, first.event, first.problem, len(misfits), tuple(misfits[:MOST_MISFITS]))

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)
