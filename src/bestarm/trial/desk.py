"""The desk: turns what people ask of a trial into events, one request at a time.

It decides (which arm, which stage, whether an outcome counts) by asking the fold, draws what has to be drawn, and hands
each event to the fold and to the log. It knows nothing of databases, so an audit can put it on books in memory.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias

from bestarm.errors import InputError, OperationError
from bestarm.exact import text_of
from bestarm.privacy.coins import IMPUTED, OUTCOME, VOID, Deal
from bestarm.privacy.mechanism import Door
from bestarm.release.distributed import LEAST_SHARE
from bestarm.storage.contract import Assignment, Stage, TrialState
from bestarm.storage.events import EventKind
from bestarm.trial.fold import HOUR, MICROSECONDS, Fold, Owed
from bestarm.trial.moments import moment

Log: TypeAlias = Callable[[str, int, str, dict[str, Any], dict[str, Any] | None], None]
"""Takes an event: kind, time, actor, body, secret."""
Pick: TypeAlias = Callable[[Sequence[float]], int]
"""Draws an arm with these probabilities."""

OURSELVES: Final = "bestarm"
"""The actor of events that nobody asks for: stages open, are released, and the trial stops by the rules."""

SLIP: Final = 600 * MICROSECONDS
"""For so long whoever told an outcome is told when a second one differs: to catch slips."""
VOIDED: Final = "This assignment was voided as a duplicate; nothing is done with it any more."
MOST_REPEATS: Final = 20
"""Outcomes that one actor may tell again in an hour where the answer must not tell what was recorded."""


def pick_secretly(weights: Sequence[float]) -> int:
    """An arm drawn with these probabilities from the operating system's randomness; exact for a stage's weights."""
    rest = secrets.randbits(53) * 2.0**-53
    chosen = 0
    for arm, weight in enumerate(weights):
        if weight > 0:
            chosen = arm
            rest -= weight
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
    deal: Deal
    pick: Pick = pick_secretly
    _time: str | None = field(default=None, init=False)

    def emit(self, kind: EventKind, actor: str, body: dict[str, Any], secret: dict[str, Any] | None = None) -> None:
        """Let an event happen."""
        self.log(kind, self.at, actor, body, secret)
        self.fold.apply(kind, self.at, body, secret)

    def time(self) -> str:
        """Now, as everybody may know it: to the hour where releases wait for outcomes rather than for the clock."""
        if self._time is None:
            self._time = moment(self.at if self.fold.rules.follow_up is not None else self.at - self.at % HOUR)
        return self._time

    def settle(self) -> None:
        """Let everything happen that is owed: releases whose time has come, stages that go on in the next one, and the
        end of the trial."""
        while (owed := self.fold.owed(self.at)) is not None:
            if owed.stage is not None and owed.kind == "merged":
                self._merge(owed.stage)
            elif owed.stage is not None:
                self._release(owed.stage)
            else:
                self._stop(owed)

    def _merge(self, stage: Stage) -> None:
        time = moment(self.fold.public_time(stage, self.at))
        self.emit("merged", OURSELVES, {"stage": stage.number, "into": stage.number + 1, "time": time})

    def _release(self, stage: Stage) -> None:
        totals, missing = {}, {}
        for arm in stage.arms:
            tally = self.fold.tally_of(stage.number, arm)
            totals[arm] = tally.total
            awaited = tally.assigned - tally.resolved
            if awaited:
                purpose = f"{IMPUTED} {stage.number} {arm}"
                imputed = sum(self._impute(purpose, n, arm == stage.champion) for n in range(awaited))
                missing[str(arm)] = [awaited, imputed]
                totals[arm] += imputed
        if stage.difference:
            sums = [sum(t if a == stage.champion else -t for a, t in totals.items())]
        else:
            sums = list(totals.values())
        gathered = self.fold.book.gathered or [0] * len(sums)
        values = [self.door.release(total + half) for total, half in zip(sums, gathered, strict=True)]
        sizes, voided = self.fold.sizes(stage), self.fold.voids(stage)
        body = {
            "stage": stage.number,
            "sizes": [sizes[arm] for arm in stage.arms],
            "voided": [voided[arm] for arm in stage.arms],
            "values": values,
            "terms": self.door.terms(),
            "time": moment(self.fold.public_time(stage, self.at)),
        }
        self.emit("released", OURSELVES, body, {"missing": missing})

    def _impute(self, purpose: str, number: int, on_champion: bool) -> int:
        constant = self.fold.rules.design.imputed(on_champion)
        if constant is None:
            raise OperationError("This design replaces people who withdraw; it has no constant to impute.")
        return self.door.encode(constant, self.deal(number, purpose))

    def _stop(self, owed: Owed) -> None:
        rules, book = self.fold.rules, self.fold.book
        said = rules.explained(self.fold.state)
        if owed.arm is None and book.released < book.closed:
            few = f"A stage closed with fewer than {rules.design.law.group} people in a sum, which may not be released."
            if rules.design.distributed:
                few = "A stage closed with too few of the people whom its noise was made for, and may not be released."
            body = {"arm": None, "by": "group", "reason": f"{few} {said}"}
        elif owed.arm is None:
            most = rules.design.max_participants
            body = {"arm": None, "by": "participants", "reason": f"All {most} participants are enrolled. {said}"}
        else:
            body = {"arm": rules.design.answer(owed.arm), "by": "evidence", "reason": said}
        last = self.fold.books.stage_at(book.released - 1)
        when = self.time() if last is None or last.released_at is None else moment(last.released_at)
        self.emit("stopped", OURSELVES, body | {"time": when})

    def ask(self, subject: str, actor: str) -> Assignment | None:
        """The subject's assignment, the one it has or a new one; None once the trial has stopped.

        Whether a subject gets a further assignment depends on the design and the clock alone: once the follow-up of
        the last one has passed. It must not depend on whether an outcome was reported.
        """
        self.settle()
        if self.fold.book.state == "stopped":
            return None
        held = self.fold.held(subject)
        if held and not self.fold.may_join_again(held, self.at):
            return held[-1]
        assignment = self._assign(subject, actor)
        self.settle()
        return assignment

    def _assign(self, subject: str, actor: str) -> Assignment:
        book = self.fold.book
        if book.state == "paused":
            raise OperationError("The trial is paused; nobody is enrolled until it is resumed.")
        if self.fold.full:
            most = self.fold.rules.design.max_participants
            raise OperationError(f"All {most} participants are enrolled; the trial waits for their outcomes.")
        replacing = bool(book.vacant)
        arm, stage = book.vacant[0] if replacing else self._choose()
        return self.enrol(subject, actor, arm, stage, replacing)

    def enrol(self, subject: str, actor: str, arm: int, stage: int, replacing: bool) -> Assignment:
        """Let the subject be assigned to this arm of a stage that is open."""
        number = self.fold.book.people + 1
        body = {"assignment": number, "arm": arm, "stage": stage, "replacing": replacing, "time": self.time()}
        self.emit("assigned", actor, body, {"subject": subject})
        return self.fold.expect_assignment(number)

    def _choose(self) -> tuple[int, int]:
        """The next person's arm, and the stage it is in."""
        if self.fold.course.foreseen and not self.fold.book.filling:
            self._open(0)
        weights = self.fold.recruiting()
        if weights is None:
            raise OperationError("No arm recruits now: outcomes of people already assigned have to come in first.")
        arm = choosing(self.fold, weights.tolist(), self.pick)()
        stage = self.fold.open_stage_of(arm)
        if stage is None:
            self._open(arm)
        elif self.fold.crowded(stage):
            raise OperationError("Nobody is enrolled now: the halves of earlier stages have to be gathered first.")
        return arm, self.fold.book.filling[str(arm)]

    def _open(self, arm: int) -> None:
        opening = self.fold.course.opening(arm)
        body = {
            "stage": self.fold.book.opened + 1,
            "weights": list(opening.weights),
            "difference": opening.difference,
            "champion": opening.champion,
            "planned": opening.planned,
            "time": self.time(),
        }
        self.emit("opened", OURSELVES, body)

    def check_outcome(self, number: int, outcome: Fraction, told_now: dict[int, str]) -> None:
        """Refuse an outcome that cannot be told. `told_now` are those of the same request, and gets this one too.

        All of a request is checked before any of it is told: once a release has been drawn nothing may be refused,
        or what is seen of a refusal would depend on a release that nobody has.
        """
        self._must_be_told()
        self.fold.rules.design.outcomes.to_unit(outcome)
        assignment = self.fold.expect_assignment(number)
        if assignment.state == "withdrawn":
            raise InputError("This participant has withdrawn; nothing is recorded for them any more.")
        if assignment.state == "voided":
            raise InputError(VOIDED)
        text = text_of(outcome)
        if told_now.setdefault(number, text) != text:
            raise InputError("Two different outcomes are given for one assignment; give one.")

    def conflicts(self, number: int, outcome: Fraction) -> bool:
        """Whether another outcome was recorded. Under local privacy nobody knows, so nothing conflicts."""
        assignment = self.fold.expect_assignment(number)
        return assignment.state in ("told", "late") and not self._local and assignment.outcome != text_of(outcome)

    def repeats(self, number: int) -> bool:
        """Whether something was recorded for the assignment already."""
        return self.fold.expect_assignment(number).state != "open"

    def own_slip(self, number: int, actor: str) -> bool:
        """Whether this actor told the recorded outcome a moment ago, and may so be told that another one differs."""
        assignment = self.fold.expect_assignment(number)
        return assignment.told_by == actor and self.at - (assignment.told_at or 0) <= SLIP

    def may_repeat(self, actor: str) -> bool:
        """Whether the actor may tell an outcome again where the answer gives nothing away; so many in an hour."""
        began, times = self.fold.book.repeats.get(actor, [self.at, 0])
        return self.at - began >= HOUR or times < MOST_REPEATS

    def note_repeat(self, number: int, outcome: Fraction, actor: str) -> None:
        """Keep in the log that an outcome was told again, whatever it was."""
        kept = None if self._local else text_of(outcome)
        self.emit("retold", actor, {"assignment": number, "by": actor}, {"outcome": kept})

    def tell(self, number: int, outcome: Fraction, actor: str) -> str:
        """Record an outcome that was checked: "recorded", "already recorded" or "late"."""
        self.settle()
        assignment = self.fold.expect_assignment(number)
        if assignment.state != "open":
            return "already recorded" if assignment.state == "told" else "late"
        if self.fold.due(assignment, self.at):
            kept = None if self._local else text_of(outcome)
            self.emit("late", actor, {"assignment": number, "by": actor}, {"outcome": kept})
            return "late"
        self.record(number, self.kept_of(number, outcome), actor)
        self.settle()
        return "recorded"

    def kept_of(self, number: int, outcome: Fraction) -> dict[str, Any]:
        """What is kept of an outcome; refused if it cannot be one, or cannot be encoded."""
        return {"outcome": None if self._local else text_of(outcome), "value": self._encoded(number, outcome)}

    def record(self, number: int, kept: dict[str, Any], actor: str) -> None:
        """Let an outcome be told that is awaited and in time."""
        self.emit("told", actor, {"assignment": number, "by": actor}, kept)

    def _encoded(self, number: int, outcome: Fraction) -> int:
        unit = self.fold.rules.design.outcomes.to_unit(outcome)
        return self.door.encode(unit, self.deal(number, OUTCOME))

    def correct(self, number: int, outcome: Fraction, reason: str, actor: str) -> str:
        """Correct an outcome: "corrected", or "late" (recorded, not used) once its stage is released."""
        self.settle()
        self._must_be_told()
        if self._local:
            raise InputError(
                "Under local and shuffled privacy the outcome itself is not kept, and so cannot be corrected."
            )
        self.fold.rules.design.outcomes.to_unit(outcome)
        assignment = self.fold.expect_assignment(number)
        if assignment.state == "voided":
            raise InputError(VOIDED)
        if assignment.state not in ("told", "late"):
            raise InputError("There is no outcome to correct for this assignment; tell it first.")
        used = assignment.state == "told" and not self.fold.due(assignment, self.at)
        secret: dict[str, Any] = {"outcome": text_of(outcome)}
        if used:
            secret["value"] = self._encoded(number, outcome)
        body = {"assignment": number, "by": actor, "reason": reason, "used": used}
        self.emit("corrected", actor, body, secret)
        return "corrected" if used else "late"

    def withdraw(self, number: int, reason: str, actor: str) -> str:
        """Let a subject go: "withdrawn", "already withdrawn", or "late" (its stage is released and stays as it is)."""
        self.settle()
        assignment = self.fold.expect_assignment(number)
        if assignment.state == "withdrawn":
            return "already withdrawn"
        if assignment.state == "voided":
            raise InputError(VOIDED)
        body = {"assignment": number, "reason": reason}
        if self.fold.due(assignment, self.at):
            self.emit("withdrawn", actor, body | {"rule": "none"})
            return "late"
        if self.fold.rules.design.replaces:
            self.emit("withdrawn", actor, body | {"rule": "replace"})
            place = {"arm": assignment.arm, "stage": assignment.stage, "time": self.time()}
            self.emit("vacated", OURSELVES, place)
        else:
            value = self._impute(IMPUTED, number, self.fold.on_champion(assignment))
            self.emit("withdrawn", actor, body | {"rule": "impute"}, {"value": value})
        self.settle()
        return "withdrawn"

    def relabel(self, number: int, subject: str, reason: str, actor: str) -> str:
        """Put a mistyped code right: the assignment and its arm stay, and are held by this subject from here on."""
        self.settle()
        assignment = self.fold.expect_assignment(number)
        if assignment.state == "voided":
            raise InputError(VOIDED)
        held = self.fold.held(subject)
        if any(one.number == number for one in held):
            return "already so"
        if held:
            raise InputError(
                "The participant of that code is in the trial already, with an assignment of their own. If this one is "
                "a second entry of the same person, void it as a duplicate."
            )
        secret = {"assignment": number, "subject": subject, "before": assignment.subject, "reason": reason}
        self.emit("relabelled", actor, {"time": self.time()}, secret)
        return "relabelled"

    def void(self, number: int, subject: str, reason: str, actor: str) -> str:
        """Take back a second entry of somebody who is in the trial: their first assignment stands.

        It keeps its place in its arm's size for ever and counts as the worst outcome, so nobody can choose arms by it.
        """
        self.settle()
        assignment = self.fold.expect_assignment(number)
        held = self.fold.held(subject)
        if not held:
            raise InputError("Nobody in the trial has the code that this is said to be a duplicate of.")
        if assignment.subject == subject:
            raise InputError("This assignment is held by that very code; it is no duplicate of it.")
        if held[0].number > number:
            raise InputError(
                "This assignment came first, and of two assignments of one person the first stands: void the later "
                "one, and then relabel this one if its code is wrong."
            )
        refused = self.fold.may_void(assignment, self.at)
        if refused is not None:
            raise InputError(refused)
        body = {"assignment": number, "by": actor, "reason": reason}
        # The worst outcome as anybody's would be: where answers are flipped, the others hide among flipped answers.
        worst = self.door.encode(Fraction(0), self.deal(number, VOID))
        self.emit("voided", actor, body, {"duplicate_of": subject, "value": worst})
        self.settle()
        return "voided"

    def gather(self, number: int, people: list[int], sums: list[int], actor: str) -> str:
        """Take what the two servers' halves came to for a stage, whose people these are, and release it."""
        self.settle()
        refused = may_gather(self.fold, self.at, number, people, sums)
        if refused is not None:
            raise InputError(refused)
        self.emit("gathered", actor, {"stage": number, "by": actor}, {"people": sorted(people), "sums": sums})
        self.settle()
        return "gathered"

    def _must_be_told(self) -> None:
        if self.fold.rules.design.distributed:
            raise InputError(
                "Outcomes of this trial are sent in halves to two servers and never told to a store; see "
                "bestarm.distributed."
            )

    def pause(self, reason: str, actor: str) -> str:
        """Stop enrolling for now; outcomes still come in and stages are still released."""
        self.settle()
        return self._turn("open", "paused", reason, actor)

    def resume(self, reason: str, actor: str) -> str:
        """Enrol again."""
        self.settle()
        return self._turn("paused", "resumed", reason, actor)

    def _turn(self, needed: TrialState, kind: Literal["paused", "resumed"], reason: str, actor: str) -> str:
        state = self.fold.book.state
        if state != needed:
            raise InputError(f"The trial is {'recruiting' if state == 'open' else state}; it cannot be {kind} now.")
        self.emit(kind, actor, {"time": self.time()}, {"reason": reason})
        return kind

    def end(self, reason: str, actor: str) -> str:
        """End the trial without a recommendation, for safety or otherwise."""
        self.settle()
        if self.fold.book.state == "stopped":
            raise InputError("The trial has already stopped.")
        self.emit("stopped", actor, {"arm": None, "by": "ended", "reason": reason, "time": self.time()})
        return "stopped"

    @property
    def _local(self) -> bool:
        return self.fold.rules.local


def may_gather(fold: Fold, at: int, number: int, people: list[int], sums: list[int]) -> str | None:
    """What keeps sums of these people's halves from being a stage's, in words; None if nothing does."""
    stage = fold.gatherable(at)
    if stage is None or stage.number != number:
        return "It is not this stage's turn, or its time has not come."
    if len(set(people)) != len(people):
        return "Somebody is named twice."
    found = [fold.books.assignment(one) for one in people]
    if any(one is None or one.stage != number or one.state not in ("open", "withdrawn") for one in found):
        return "The sums hold somebody who is not in this stage."
    if len(people) < LEAST_SHARE * stage.planned:
        return f"The sums hold {len(people)} people, but the stage was planned for {stage.planned}: too few."
    still_open = sum(1 for one in found if one is not None and one.state == "open")
    if fold.rules.follow_up is None and stage.resolved + still_open < (stage.size or 0):
        return "Outcomes are missing: wait for them, or withdraw those who will send none."
    right = 1 if stage.difference else len(stage.arms)
    if len(sums) != right or not all(type(one) is int for one in sums):
        return f"This stage has {right} sums, each a whole number."
    return None


def choosing(fold: Fold, weights: list[float], pick: Pick) -> Callable[[], int]:
    """Says who gets the next person, as often as it is asked while these weights hold: the only recruiting arm, one
    drawn at random, or the one due in fixed order."""
    recruiting = [arm for arm, weight in enumerate(weights) if weight > 0]
    if len(recruiting) == 1:
        return lambda: recruiting[0]
    if fold.rules.design.allocation == "fixed":
        return lambda: in_fixed_order(fold, weights)
    return lambda: pick(weights)


def in_fixed_order(fold: Fold, weights: list[float]) -> int:
    """The recruiting arm that has the fewest people for its weight; ties go to the first."""
    assigned = fold.course.assigned
    return min((arm for arm in range(len(weights)) if weights[arm] > 0), key=lambda arm: assigned[arm] / weights[arm])
