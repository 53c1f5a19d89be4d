"""The desk: turns what people ask of a trial into events, one request at a time.

It decides (which arm, which batch, whether an outcome counts) by asking the fold, draws what has to be drawn, and hands
each event to the fold and to the log. It knows nothing of databases, so an audit can put it on books in memory.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from bestarm.errors import InputError, OperationError
from bestarm.exact import text_of
from bestarm.policy.record import FloatArray
from bestarm.privacy.mechanism import Door
from bestarm.release.laws import LOCAL
from bestarm.storage.contract import Assignment, Batch
from bestarm.trial.fold import Fold, Owed

Log: TypeAlias = Callable[[str, int, str, dict[str, Any], dict[str, Any] | None], None]
"""Takes an event: kind, time, actor, body, secret."""
Pick: TypeAlias = Callable[[FloatArray], int]
"""Draws an arm with these probabilities."""

OURSELVES = "bestarm"
"""The actor of events that nobody asks for: batches open, are released, and the trial stops by the rules."""


def pick_secretly(weights: FloatArray) -> int:
    """An arm drawn with these probabilities from the operating system's randomness."""
    rest = secrets.randbits(53) * 2.0**-53
    chosen = 0
    for arm, weight in enumerate(weights):
        if weight > 0:
            chosen = arm
            rest -= float(weight)
            if rest < 0:
                break
    return chosen


@dataclass
class Desk:
    """Serves the requests of one transaction, all at the same time `at`."""

    fold: Fold
    door: Door
    log: Log
    at: int
    pick: Pick = pick_secretly

    def emit(self, kind: str, actor: str, body: dict[str, Any], secret: dict[str, Any] | None = None) -> None:
        """Let an event happen."""
        self.log(kind, self.at, actor, body, secret)
        self.fold.apply(kind, self.at, body, secret)

    def settle(self) -> None:
        """Let everything happen that is owed: releases whose time has come, and the end of the trial."""
        while (owed := self.fold.owed(self.at)) is not None:
            if owed.batch is not None:
                self._release(owed.batch)
            else:
                self._stop(owed)

    def _release(self, batch: Batch) -> None:
        missing = batch.size - batch.resolved
        secret = None
        total = batch.total
        if missing:
            imputed = sum(self._impute() for _ in range(missing))
            secret = {"missing": missing, "imputed": imputed}
            total += imputed
        place = {"arm": batch.arm, "batch": batch.index, "size": batch.size}
        body = place | {"value": self.door.release(total), "terms": self.door.terms()}
        self.emit("released", OURSELVES, body, secret)

    def _impute(self) -> int:
        constant = self.fold.rules.design.imputed
        if constant is None:
            raise OperationError("This design replaces people who withdraw; it has no constant to impute.")
        return self.door.encode(constant)

    def _stop(self, owed: Owed) -> None:
        rules = self.fold.rules
        labels = list(rules.design.arms)
        said = rules.algorithm.explain(self.fold.state, rules.constants, labels)
        if owed.arm is None:
            most = rules.design.max_participants
            body = {"arm": None, "by": "participants", "reason": f"All {most} participants are enrolled. {said}"}
        else:
            body = {"arm": labels[owed.arm], "by": "evidence", "reason": said}
        self.emit("stopped", OURSELVES, body)

    def ask(self, subject: str, actor: str) -> Assignment | None:
        """The subject's assignment, the one it has or a new one; None once the trial has stopped."""
        self.settle()
        book = self.fold.book
        if book.stage == "stopped":
            return None
        held = self.fold.books.held_by(subject)
        for assignment in held:
            if assignment.stage in ("open", "withdrawn"):
                return assignment  # who has withdrawn gets no other
        if len(held) >= self.fold.rules.design.contributions:
            return held[-1]
        assignment = self._assign(subject, actor)
        self.settle()
        return assignment

    def _assign(self, subject: str, actor: str) -> Assignment:
        book = self.fold.book
        if book.stage == "paused":
            raise OperationError("The trial is paused; nobody is enrolled until it is resumed.")
        most = self.fold.rules.design.max_participants
        if most is not None and book.people >= most and not book.vacant:
            raise OperationError(f"All {most} participants are enrolled; the trial waits for their outcomes.")
        if book.vacant:
            arm, index = book.vacant[0]
        else:
            arm = self._choose()
            index = self._open_place(arm)
        number = book.people + 1
        body = {"assignment": number, "subject": subject, "arm": arm, "batch": index, "replacing": bool(book.vacant)}
        self.emit("assigned", actor, body)
        return self.fold.expect_assignment(number)

    def _choose(self) -> int:
        weights = self.fold.recruiting()
        if weights is None:
            raise OperationError("No arm recruits now: outcomes of people already assigned have to come in first.")
        return choose(self.fold, weights, self.pick)

    def _open_place(self, arm: int) -> int:
        # The batch with a free place: the arm's newest, or one that opens now.
        record = self.fold.record
        if record.assigned[arm] == record.places[arm]:
            index = int(record.opened[arm]) + 1
            self.emit("opened", OURSELVES, {"arm": arm, "batch": index, "size": self.fold.next_size(arm)})
        return int(record.opened[arm])

    def check_outcome(self, number: int, outcome: Fraction, told_now: dict[int, str]) -> None:
        """Refuse an outcome that cannot be told. `told_now` are those of the same request, and gets this one too.

        All of a request is checked before any of it is told: once a release has been drawn nothing may be refused,
        or what is seen of a refusal would depend on a release that nobody has.
        """
        self.fold.rules.design.outcomes.to_unit(outcome)
        assignment = self.fold.expect_assignment(number)
        if assignment.stage == "withdrawn":
            raise InputError("This subject has withdrawn; nothing is recorded for it any more.")
        before = told_now.setdefault(number, text_of(outcome))
        if self._local:
            return
        if before != text_of(outcome) or (assignment.stage != "open" and assignment.outcome != text_of(outcome)):
            raise InputError(
                "A different outcome has already been recorded for this assignment; use correct, with a reason."
            )

    def tell(self, number: int, outcome: Fraction, actor: str) -> str:
        """Record an outcome that was checked: "recorded", "already recorded" or "late"."""
        self.settle()
        assignment = self.fold.expect_assignment(number)
        if assignment.stage != "open":
            return "already recorded" if assignment.stage == "told" else "late"
        kept = None if self._local else text_of(outcome)
        if self.fold.due(assignment, self.at):
            self.emit("late", actor, {"assignment": number}, {"outcome": kept})
            return "late"
        unit = self.fold.rules.design.outcomes.to_unit(outcome)
        self.emit("told", actor, {"assignment": number}, {"outcome": kept, "value": self.door.encode(unit)})
        self.settle()
        return "recorded"

    def correct(self, number: int, outcome: Fraction, reason: str, actor: str) -> str:
        """Correct an outcome: "corrected", or "late" (recorded, not used) once its batch is closed."""
        self.settle()
        if self._local:
            raise InputError("Under local privacy the outcome itself is not kept, and so cannot be corrected.")
        unit = self.fold.rules.design.outcomes.to_unit(outcome)
        assignment = self.fold.expect_assignment(number)
        if assignment.stage not in ("told", "late"):
            raise InputError("There is no outcome to correct for this assignment; tell it first.")
        used = assignment.stage == "told" and not self.fold.due(assignment, self.at)
        secret: dict[str, Any] = {"outcome": text_of(outcome)}
        if used:
            secret["value"] = self.door.encode(unit)
        self.emit("corrected", actor, {"assignment": number, "reason": reason, "used": used}, secret)
        return "corrected" if used else "late"

    def withdraw(self, number: int, reason: str, actor: str) -> str:
        """Let a subject go: "withdrawn", "already withdrawn", or "late" (its batch is closed and stays as it is)."""
        self.settle()
        assignment = self.fold.expect_assignment(number)
        if assignment.stage == "withdrawn":
            return "already withdrawn"
        body = {"assignment": number, "reason": reason}
        if self.fold.due(assignment, self.at):
            self.emit("withdrawn", actor, body | {"rule": "none"})
            return "late"
        if self.fold.rules.design.withdrawal == "replace":
            self.emit("withdrawn", actor, body | {"rule": "replace"})
        else:
            self.emit("withdrawn", actor, body | {"rule": "impute"}, {"value": self._impute()})
        self.settle()
        return "withdrawn"

    def pause(self, reason: str, actor: str) -> str:
        """Stop enrolling for now; outcomes still come in and batches are still released."""
        self.settle()
        return self._turn("open", "paused", reason, actor)

    def resume(self, reason: str, actor: str) -> str:
        """Enrol again."""
        self.settle()
        return self._turn("paused", "resumed", reason, actor)

    def _turn(self, needed: str, kind: str, reason: str, actor: str) -> str:
        stage = self.fold.book.stage
        if stage != needed:
            raise InputError(f"The trial is {'recruiting' if stage == 'open' else stage}; it cannot be {kind} now.")
        self.emit(kind, actor, {"reason": reason})
        return kind

    def end(self, reason: str, actor: str) -> str:
        """End the trial without a recommendation, for safety or otherwise."""
        self.settle()
        if self.fold.book.stage == "stopped":
            raise InputError("The trial has already stopped.")
        self.emit("stopped", actor, {"arm": None, "by": "ended", "reason": reason})
        return "stopped"

    @property
    def _local(self) -> bool:
        return self.fold.rules.design.law.kind == LOCAL


def choose(fold: Fold, weights: FloatArray, pick: Pick) -> int:
    """Who gets the next person: the only recruiting arm, one drawn at random, or the one due in fixed order."""
    recruiting = [arm for arm in range(len(weights)) if weights[arm] > 0]
    if len(recruiting) == 1:
        return recruiting[0]
    if fold.rules.design.allocation == "fixed":
        return in_fixed_order(fold, weights)
    return pick(weights)


def in_fixed_order(fold: Fold, weights: FloatArray) -> int:
    """The recruiting arm that has the fewest people for its weight; ties go to the first."""
    assigned = fold.record.assigned
    return min((arm for arm in range(len(weights)) if weights[arm] > 0), key=lambda arm: assigned[arm] / weights[arm])
