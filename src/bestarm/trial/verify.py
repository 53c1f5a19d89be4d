"""Replays a trial from its log: the chain is whole, every decision follows from what was public, the books agree.

Each event is checked before it is applied to a second set of books in memory, by asking the same rules that a live
trial asks. What was drawn (noise, coins, the choice among recruiting arms) cannot be derived again; checked is that the
arm was recruiting, that a coin gave a possible integer, and that nothing else had to come first.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from fractions import Fraction
from typing import Any, Final

from bestarm.design import Design
from bestarm.errors import BestArmError
from bestarm.policy.algorithm import UNDECIDED
from bestarm.release.laws import LOCAL
from bestarm.storage.contract import Assignment, Reading
from bestarm.storage.events import GENESIS, Event, chained
from bestarm.storage.memory import MemoryBooks
from bestarm.trial.answers import Verification
from bestarm.trial.desk import OURSELVES, in_fixed_order
from bestarm.trial.fold import APPLY, Fold, Rules
from bestarm.trial.policy_state import differing, fill


class Misfit(Exception):
    """What is wrong with an event."""


def verify(rules: Rules, reading: Reading) -> Verification:
    """Check the whole log and then the books; names the first event that does not fit."""
    books = MemoryBooks()
    fold = Fold(rules, books, rules.fresh_state())
    head, count = GENESIS, 0
    for event in reading.events():
        try:
            _check_chain(event, head, count + 1)
            _check_event(fold, event)
            fold.apply(event.kind, event.at, event.body, event.secret)
        except Misfit as misfit:
            return Verification(False, count, head, event.seq, str(misfit))
        except (BestArmError, KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            return Verification(False, count, head, event.seq, f"The event cannot be read: {error!r}.")
        head, count = event.hash, event.seq
    if count == 0:
        return Verification(False, 0, head, 1, "The log is empty.")
    problem = _ends_early(fold) or _books_differ(fold, reading, head, count)
    return Verification(problem is None, count, head, None, problem)


def _check_chain(event: Event, before: str, seq: int) -> None:
    if event.seq != seq:
        raise Misfit(f"Event {seq} is missing.")
    if (event.secret is None) != (event.salt is None):
        raise Misfit("What the event keeps confidential, or its salt, is missing.")
    right = chained(before, event.seq, event.at, event.actor, event.kind, event.body, event.secret, event.salt)
    if right != event.hash:
        raise Misfit("The event's hash does not fit its content and the event before.")


def _check_event(fold: Fold, event: Event) -> None:
    if event.kind not in APPLY:
        raise Misfit(f"There is no event of the kind {event.kind!r}.")
    if (event.seq == 1) != (event.kind == "created"):
        raise Misfit("A log begins with the trial's creation, and with nothing else.")
    if event.at < fold.book.at:
        raise Misfit("The event is older than the one before it.")
    owed = fold.owed(event.at)
    if owed is not None and event.kind != owed.kind:
        raise Misfit(f"Before anything else the trial had to be {owed.kind}.")
    CHECK[event.kind](fold, event)


def _created(fold: Fold, event: Event) -> None:
    if Design.from_json(event.body["design"]) != fold.rules.design:
        raise Misfit("The design in the log is not the trial's design.")


def _opened(fold: Fold, event: Event) -> None:
    _still_enrolling(fold)
    arm, record = event.body["arm"], fold.record
    if record.assigned[arm] != record.places[arm] or event.body["batch"] != record.opened[arm] + 1:
        raise Misfit("The arm still had a batch with free places.")
    if event.body["size"] != fold.next_size(arm):
        raise Misfit(f"The batch has {event.body['size']} places, the algorithm asks for {fold.next_size(arm)}.")


def _assigned(fold: Fold, event: Event) -> None:
    _still_enrolling(fold)
    body, book = event.body, fold.book
    if body["assignment"] != book.people + 1:
        raise Misfit("Assignments are not numbered in order.")
    held = fold.books.held_by(body["subject"])
    if len(held) >= fold.rules.design.contributions or any(a.stage in ("open", "withdrawn") for a in held):
        raise Misfit("The subject already had its share of assignments.")
    if body["replacing"] != bool(book.vacant):
        raise Misfit("Places of people who withdrew are filled first, and only those are refilled.")
    if body["replacing"]:
        if (body["arm"], body["batch"]) != book.vacant[0]:
            raise Misfit("The oldest free place is filled first.")
        return
    most = fold.rules.design.max_participants
    if most is not None and book.people >= most:
        raise Misfit("All participants were enrolled already.")
    _check_arm(fold, body["arm"])
    if body["batch"] != fold.record.opened[body["arm"]]:
        raise Misfit("The person was not put into the arm's open batch.")


def _check_arm(fold: Fold, arm: int) -> None:
    weights = fold.recruiting()
    if weights is None or not weights[arm] > 0:
        raise Misfit("The arm was not recruiting.")
    if fold.rules.design.allocation == "fixed" and arm != in_fixed_order(fold, weights):
        raise Misfit("The arm was not next in the fixed order.")
    if fold.record.assigned[arm] >= fold.record.places[arm]:
        raise Misfit("The arm had no batch with a free place.")


def _still_enrolling(fold: Fold) -> None:
    if fold.book.stage != "open":
        raise Misfit(f"The trial was {fold.book.stage}.")


def _open_assignment(fold: Fold, event: Event, stages: tuple[str, ...]) -> Assignment:
    assignment = fold.books.assignment(event.body["assignment"])
    if assignment is None or assignment.stage not in stages:
        raise Misfit("There is no such assignment, or it was settled already.")
    return assignment


def _told(fold: Fold, event: Event) -> None:
    assignment = _open_assignment(fold, event, ("open",))
    if fold.due(assignment, event.at):
        raise Misfit("The outcome came too late to count.")
    _check_value(fold, event)


def _late(fold: Fold, event: Event) -> None:
    if not fold.due(_open_assignment(fold, event, ("open",)), event.at):
        raise Misfit("The outcome did not come too late.")


def _corrected(fold: Fold, event: Event) -> None:
    assignment = _open_assignment(fold, event, ("told", "late"))
    if event.body["used"] != (assignment.stage == "told" and not fold.due(assignment, event.at)):
        raise Misfit("Whether the correction counts does not follow from its time.")
    if event.body["used"]:
        _check_value(fold, event)


def _withdrawn(fold: Fold, event: Event) -> None:
    assignment = _open_assignment(fold, event, ("open", "told", "late"))
    rule = fold.rules.design.withdrawal.partition(":")[0]
    if event.body["rule"] != ("none" if fold.due(assignment, event.at) else rule):
        raise Misfit("The withdrawal does not follow the design's rule.")
    if event.body["rule"] == "impute":
        low, high = _possible(fold, fold.rules.design.imputed)
        if (event.secret or {})["value"] not in (low, high):
            raise Misfit("The imputed integer does not belong to the design's constant.")


def _check_value(fold: Fold, event: Event) -> None:
    secret: dict[str, Any] = event.secret or {}
    outcome = secret["outcome"]
    unit = None if outcome is None else fold.rules.design.outcomes.to_unit(Fraction(outcome))
    if secret["value"] not in _possible(fold, unit):
        raise Misfit("The integer does not belong to the outcome.")


def _possible(fold: Fold, unit: Fraction | None) -> tuple[int, int]:
    # The integers an outcome in [0, 1] can become; under local privacy either answer is possible.
    grid = fold.rules.grid
    if fold.rules.design.law.kind == LOCAL or unit is None:
        return 0, grid
    return math.floor(unit * grid), math.ceil(unit * grid)


def _released(fold: Fold, event: Event) -> None:
    owed = fold.owed(event.at)
    if owed is None or owed.batch is None:
        raise Misfit("No batch was to be released yet.")
    body, batch = event.body, owed.batch
    if (body["arm"], body["batch"], body["size"]) != (batch.arm, batch.index, batch.size):
        raise Misfit("It was another batch's turn.")
    if not isinstance(body["value"], int):
        raise Misfit("A release is a whole number of steps.")
    missing, secret = batch.size - batch.resolved, event.secret or {}
    low, high = _possible(fold, fold.rules.design.imputed)
    if secret.get("missing", 0) != missing or not missing * low <= secret.get("imputed", 0) <= missing * high:
        raise Misfit("What was imputed for missing outcomes is wrong.")


def _stopped(fold: Fold, event: Event) -> None:
    if fold.book.stage == "stopped":
        raise Misfit("The trial had stopped already.")
    owed = fold.owed(event.at)
    if event.body["by"] == "ended":
        if owed is not None or event.actor == OURSELVES:
            raise Misfit("The trial was not ended by a person.")
        return
    if owed is None:
        raise Misfit("Nothing called for the trial's end.")
    arm = None if owed.arm in (None, UNDECIDED) else fold.rules.design.arms[int(owed.arm or 0)]
    if event.body["arm"] != arm:
        raise Misfit(f"The evidence speaks for {arm}.")


def _paused(fold: Fold, event: Event) -> None:
    _still_enrolling(fold)


def _resumed(fold: Fold, event: Event) -> None:
    if fold.book.stage != "paused":
        raise Misfit("The trial was not paused.")


CHECK: Final = {
    "created": _created,
    "opened": _opened,
    "assigned": _assigned,
    "told": _told,
    "late": _late,
    "corrected": _corrected,
    "withdrawn": _withdrawn,
    "released": _released,
    "stopped": _stopped,
    "paused": _paused,
    "resumed": _resumed,
}


def _ends_early(fold: Fold) -> str | None:
    owed = fold.owed(fold.book.at)
    return None if owed is None else f"The log ends where the trial had to be {owed.kind}."


def _books_differ(fold: Fold, reading: Reading, head: str, count: int) -> str | None:
    books = fold.books
    assert isinstance(books, MemoryBooks)
    if (reading.head, reading.seq) != (head, count):
        return "The log does not end where the books say it does; events at its end are missing."
    if reading.book != books.book:
        return "The trial's numbers in the books differ from what the log gives."
    if [asdict(a) for a in reading.assignments()] != [asdict(a) for _, a in sorted(books.assignments.items())]:
        return "The assignments in the books differ from what the log gives."
    if [asdict(b) for b in reading.batches()] != [asdict(b) for _, b in sorted(books.batches.items())]:
        return "The batches in the books differ from what the log gives."
    state = fold.rules.fresh_state()
    fill(state, reading.state())
    array = differing(state, fold.state)
    return None if array is None else f"The policy's state in the books ({array}) differs from what the log gives."
