"""The fold: how each event changes the books and the policy's state, and which event is owed next.

A live trial applies events as they happen; `verify` applies the same events again from the log. Both ask `owed`,
which names the event that has to come before anything else may: the release of a stage, or the end of the trial. It
depends on assignments, sizes and the clock, and on whether outcomes are there, never on what they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from bestarm.design import Design
from bestarm.errors import OperationError
from bestarm.policy.algorithm import UNDECIDED, Algorithm
from bestarm.policy.record import FloatArray
from bestarm.release.distributed import LEAST_SHARE
from bestarm.release.laws import randomised
from bestarm.storage.contract import Assignment, Book, Books, Reading, Stage, Tally
from bestarm.storage.effects import assignment_of, enter_assigned, enter_told, resolve, stage_of, tally_of
from bestarm.storage.memory import MemoryBooks
from bestarm.trial.course import Opening, Outturn, TrialCourse, course_of

MICROSECONDS: Final = 1_000_000
HOUR: Final = 3600 * MICROSECONDS


@dataclass(frozen=True)
class Rules:
    """The design, its algorithm, and the algorithm's constants: everything that never changes."""

    design: Design
    algorithm: Algorithm
    constants: Any

    @classmethod
    def of(cls, design: Design, algorithm: Algorithm) -> Rules:
        """The rules of a design that this algorithm runs."""
        return cls(design, algorithm, algorithm.constants(design.numbers()))

    @property
    def grid(self) -> int:
        """Integer steps in one outcome of 1."""
        return self.design.grid

    @cached_property
    def follow_up(self) -> int | None:
        """In microseconds."""
        seconds = self.design.follow_up
        return None if seconds is None else seconds * MICROSECONDS

    @cached_property
    def local(self) -> bool:
        """Whether outcomes are randomised one by one, and not kept as they were."""
        return randomised(self.design.law)

    def explained(self, state: Any) -> str:
        """The verdict's reason, or what is missing for one, in words and numbers."""
        design = self.design
        said = self.algorithm.explain(state, self.constants, list(design.arms))
        verdict = UNDECIDED if design.control is None else int(self.algorithm.over(state, self.constants))
        return said if verdict == UNDECIDED else f"{design.claim(verdict)} {said}"

    def fresh_state(self) -> Any:
        """The policy's state before the first person."""
        return self.algorithm.start(self.constants)

    def course(self, state: Any) -> TrialCourse:
        """What drives the policy in this state."""
        return course_of(self.algorithm, state, self.constants, self.design.law.group)


@dataclass(frozen=True)
class Owed:
    """An event that has to happen now: a stage's release or its merging with the next one, or the end of the trial."""

    kind: Literal["merged", "released", "stopped"]
    stage: Stage | None = None
    arm: int | None = None
    """The recommended arm, when the evidence ends the trial; None when the participants ran out."""


class Fold:
    """One trial's books and policy state, changed by events and by nothing else."""

    def __init__(self, rules: Rules, books: Books, state: Any, course: TrialCourse | None = None) -> None:
        self.rules = rules
        self.books = books
        self.state = state
        self.joined: list[int] = []
        """The arms of those who joined a stage."""
        self.turned = False
        """Whether a stage opened, closed or was released."""
        self._winner = UNDECIDED
        self._course = course

    @property
    def book(self) -> Book:
        """The trial-wide numbers."""
        return self.books.book

    @property
    def course(self) -> TrialCourse:
        """What drives the policy."""
        course = self._course
        if course is None:
            course = self._course = self.rules.course(self.state)
        return course

    def recruiting(self) -> FloatArray | None:
        """Each arm's probability to get the next person; None while every arm waits for releases."""
        return self.course.weights()

    def open_stage_of(self, arm: int) -> Stage | None:
        """The stage that a person who comes to this arm joins; None if one has to open first."""
        number = self.book.filling.get(str(arm))
        return None if number is None else self.expect_stage(number)

    @property
    def full(self) -> bool:
        """Whether all participants that the design allows are enrolled."""
        most = self.rules.design.max_participants
        return most is not None and self.book.people >= most and not self.book.vacant

    def owes(self, at: int) -> bool:
        """Whether anything has to happen at this time before anything else may. The policy is not asked."""
        book = self.book
        if book.state == "stopped":
            return False
        if self._winner == UNDECIDED and book.released < book.closed:
            stage = self.next_to_release()
            return self.ready(stage, at) or not self.may_release(stage)
        return self._winner != UNDECIDED or self.full

    def owed(self, at: int) -> Owed | None:
        """What has to happen at this time before anything else may."""
        if not self.owes(at):
            return None
        if self._winner != UNDECIDED:
            return Owed("stopped", arm=self._winner)
        if self.book.released < self.book.closed:
            stage = self.next_to_release()
            if self.ready(stage, at) and self.merges():
                return Owed("merged", stage)
            if self.may_release(stage):
                return Owed("released", stage)
        return Owed("stopped")

    def next_to_release(self) -> Stage:
        """The stage whose turn it is."""
        return self.stage_at(self.book.released)

    def stage_at(self, position: int) -> Stage:
        """The stage at this place in the order of release, which has to be there."""
        stage = self.books.stage_at(position)
        if stage is None:
            raise OperationError(f"The books lack the stage whose turn is {position}; run verify.")
        return stage

    def merges(self) -> bool:
        """Whether the stage whose turn it is will be released together with the next one: the public record decides.
        Never with distributed noise, which everybody made for the people of their own stage."""
        return not self.rules.design.distributed and self.course.merges()

    def may_release(self, stage: Stage) -> bool:
        """Whether every sum that the stage would release is over enough people: assignments alone decide that."""
        if self.rules.design.distributed:
            return (stage.size or 0) >= LEAST_SHARE * stage.planned
        group, sizes = self.rules.design.law.group, self.sizes(stage)
        people = [sizes[arm] for arm in stage.arms]
        return group <= 1 or (sum(people) if stage.difference else min(people)) >= group

    def ready(self, stage: Stage, at: int) -> bool:
        """Whether the stage whose turn it is may be released: by the clock alone, or once every outcome is known. With
        distributed noise, once both servers' halves are there."""
        if self.rules.design.distributed:
            return self.book.gathered is not None
        due = self.due_at(stage)
        return stage.resolved == stage.size if due is None else at >= due

    def gatherable(self, at: int) -> Stage | None:
        """With distributed noise: the stage whose halves are to be added up next; None if its time has not come."""
        book = self.book
        if not self.rules.design.distributed or book.state == "stopped" or book.released >= book.closed:
            return None
        stage = self.next_to_release()
        due = self.due_at(stage)
        return stage if book.gathered is None and (due is None or at >= due) else None

    def crowded(self, stage: Stage) -> bool:
        """Whether a stage takes nobody more although it is open: with distributed noise, once it is as large as
        planned and the next one has to wait."""
        return self.rules.design.distributed and stage.people >= stage.planned

    def due_at(self, stage: Stage) -> int | None:
        """When a closed stage's release is due; None if the design has no follow-up."""
        follow_up = self.rules.follow_up
        return None if follow_up is None or stage.closed_at is None else stage.closed_at + follow_up

    def public_time(self, stage: Stage, at: int) -> int:
        """The time of a release that everybody may know: when it was due, or the hour in which it was made.

        When it was really made tells when somebody's request happened to come; with distributed noise it is no request
        of a participant's that makes it, but somebody's who gathers halves.
        """
        due = self.due_at(stage)
        if due is None:
            return at - at % HOUR
        return at if self.rules.design.distributed else due

    def due(self, assignment: Assignment, at: int) -> bool:
        """Whether an outcome of this assignment comes too late to count."""
        return self.expect_stage(assignment.stage).releases is not None or self.overdue(assignment, at)

    def overdue(self, assignment: Assignment, at: int) -> bool:
        """The same while its stage is not released."""
        follow_up = self.rules.follow_up
        return self.book.state == "stopped" or (follow_up is not None and at >= assignment.at + follow_up)

    def held(self, subject: str) -> list[Assignment]:
        """The assignments that a subject (by pseudonym) holds, oldest first; one that was voided is nobody's."""
        return [assignment for assignment in self.books.held_by(subject) if assignment.state != "voided"]

    def may_void(self, assignment: Assignment, at: int) -> str | None:
        """What keeps an assignment from being voided, in words; None if nothing does.

        With a follow-up the clock alone decides, so that nothing follows from when an outcome came in.
        """
        if assignment.state == "voided":
            return "This assignment has been voided already."
        if self.rules.design.distributed:
            return "With distributed noise nobody knows who has sent an outcome, so nothing is voided; withdraw it."
        if assignment.state == "withdrawn" and self.rules.design.withdrawal == "replace":
            return "This participant has left, and their place is for somebody else."
        if self.due(assignment, at):
            return "It is too late to void this assignment: it has entered its stage as it is."
        if self.rules.follow_up is None and assignment.state == "told":
            return "An outcome is recorded for this assignment, so it cannot be voided any more."
        shuffling = self.rules.design.privacy.shuffling
        if shuffling is not None:  # a voided entry is a known 0 in its sum, and hides nobody
            voided = self.voids(self.expect_stage(assignment.stage))[assignment.arm]
            if voided >= shuffling.colluders:
                return f"Under shuffled privacy at most {shuffling.colluders} of a group may be voided or collude."
        return None

    def may_join_again(self, held: list[Assignment], at: int) -> bool:
        """Whether a subject that holds these assignments gets another one: by the design and the clock alone."""
        follow_up = self.rules.follow_up
        return (
            len(held) < self.rules.design.contributions
            and follow_up is not None
            and at >= held[-1].at + follow_up
            and all(assignment.state != "withdrawn" for assignment in held)
        )

    def expect_stage(self, number: int) -> Stage:
        """A stage that has to be there."""
        return stage_of(self.books, number)

    def tally_of(self, stage: int, arm: int) -> Tally:
        """An arm's people in a stage."""
        return tally_of(self.books, stage, arm)

    def sizes(self, stage: Stage) -> list[int]:
        """How many people each arm has in a stage."""
        return [
            self.tally_of(stage.number, arm).assigned if weight > 0 else 0 for arm, weight in enumerate(stage.weights)
        ]

    def voids(self, stage: Stage) -> list[int]:
        """How many people of each arm in a stage were voided."""
        return [
            self.tally_of(stage.number, arm).voided if weight > 0 else 0 for arm, weight in enumerate(stage.weights)
        ]

    def on_champion(self, assignment: Assignment) -> bool:
        """Whether somebody is on the arm whose lead their stage is about."""
        stage = self.books.stage(assignment.stage)
        return stage is not None and stage.champion == assignment.arm

    def expect_assignment(self, number: int) -> Assignment:
        """An assignment that has to be there."""
        return assignment_of(self.books, number)

    def apply(self, kind: str, at: int, body: dict[str, Any], secret: dict[str, Any] | None) -> None:
        """Change the state as this event says. Whether the event was right is not asked here; see `verify`."""
        APPLY[kind](self, at, body, secret or {})
        self.book.at = at

    def _created(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        self.book.began = body["time"]

    def _opened(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        opening = Opening(tuple(body["weights"]), body["difference"], body["champion"], body["planned"])
        self.course.opened(opening)
        self.turned = True
        number = self.book.opened + 1
        stage = Stage(
            number, list(opening.weights), opening.difference, opening.champion, opening.planned, opening.planned
        )
        self.book.opened = number
        for arm in stage.arms:
            self.book.filling[str(arm)] = number
        self.books.save_stage(stage)

    def _assigned(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        arm = body["arm"]
        stage = enter_assigned(self.books, at, body, secret)
        if body["replacing"]:
            self.book.vacant.remove((arm, stage.number))
        else:
            self.course.joined(arm)
            self.joined.append(arm)
        if stage.size is None and (self.course.closes(stage) or (self.full and self.course.foreseen)):
            self._close(stage, at)

    def _close(self, stage: Stage, at: int) -> None:
        stage.size, stage.closed_at, stage.position = stage.people, at, self.book.closed
        self.book.closed += 1
        for arm in stage.arms:
            del self.book.filling[str(arm)]
        self.course.closed()
        self.turned = True
        self.books.save_stage(stage)

    def _told(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        enter_told(self.books, at, body, secret)

    def _late(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        assignment = self.expect_assignment(body["assignment"])
        assignment.state, assignment.outcome = "late", secret["outcome"]
        assignment.told_by, assignment.told_at = body["by"], at
        self.books.save_assignment(assignment)

    def _retold(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        began, times = self.book.repeats.get(body["by"], [at, 0])
        self.book.repeats[body["by"]] = [at, 1] if at - began >= HOUR else [began, times + 1]

    def _corrected(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        if body["used"]:
            assignment = self.expect_assignment(body["assignment"])
            assignment.outcome = secret["outcome"]
            assignment.told_by, assignment.told_at = body["by"], at
            resolve(self.books, assignment, secret["value"])

    def _withdrawn(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        assignment = self.expect_assignment(body["assignment"])
        assignment.state, assignment.outcome = "withdrawn", None
        if body["rule"] == "impute":
            resolve(self.books, assignment, secret["value"])
        elif body["rule"] == "replace":
            stage, tally = self.expect_stage(assignment.stage), self.tally_of(assignment.stage, assignment.arm)
            if assignment.value is not None:
                stage.resolved -= 1
                tally.resolved -= 1
                tally.total -= assignment.value
                assignment.value = None
            self.books.save_stage(stage)
            self.books.save_tally(tally)
        self.books.save_assignment(assignment)

    def _relabelled(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        self.book.relabelled += 1
        if "assignment" in secret:  # to whoever sees the public chain alone, it happened to somebody
            assignment = self.expect_assignment(secret["assignment"])
            assignment.subject = secret["subject"]
            self.books.save_assignment(assignment)

    def _voided(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        assignment = self.expect_assignment(body["assignment"])
        tally = self.tally_of(assignment.stage, assignment.arm)
        tally.voided += 1
        self.books.save_tally(tally)
        assignment.state, assignment.outcome = "voided", None
        resolve(self.books, assignment, secret["value"])

    def _vacated(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        stage, tally = self.expect_stage(body["stage"]), self.tally_of(body["stage"], body["arm"])
        stage.people -= 1
        tally.assigned -= 1
        self.book.vacant.append((body["arm"], stage.number))
        self.books.save_stage(stage)
        self.books.save_tally(tally)

    def _gathered(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        # Whoever is in the sums is told. If they withdrew since the servers added them up, it was too late.
        for number in secret["people"]:
            assignment = self.expect_assignment(number)
            assignment.state, assignment.told_by, assignment.told_at = "told", body["by"], at
            resolve(self.books, assignment, 0)
        self.book.gathered = secret["sums"]

    def _merged(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        stage, into = self.expect_stage(body["stage"]), self.expect_stage(body["into"])
        for arm in stage.arms:
            tally, other = self.tally_of(stage.number, arm), self.tally_of(into.number, arm)
            self.books.save_tally(other.with_people_of(tally))
            self.books.save_tally(Tally(stage.number, arm))
        into.people += stage.people
        into.resolved += stage.resolved
        into.extent += stage.people
        if into.size is not None:
            into.size += stage.people
        stage.people = stage.resolved = stage.size = 0
        stage.releases, stage.released_at, stage.terms = [], self.public_time(stage, at), {}
        self.books.save_stage(stage)
        self.books.save_stage(into)
        self.book.released += 1
        self.turned = True
        self.course.merged()

    def _released(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        stage = self.expect_stage(body["stage"])
        for arm, (missing, imputed) in secret.get("missing", {}).items():
            tally = self.tally_of(stage.number, int(arm))
            stage.resolved += missing
            tally.resolved += missing
            tally.total += imputed
            self.books.save_tally(tally)
        when = self.public_time(stage, at)
        stage.releases, stage.released_at, stage.terms = body["values"], when, body["terms"]
        self.books.save_stage(stage)
        self.book.released += 1
        self.book.gathered = None
        values = tuple(value / self.rules.grid for value in body["values"])
        voided = dict(zip(stage.arms, body["voided"], strict=True))
        counts = tuple(voided.get(arm, 0) for arm in range(len(stage.weights)))
        for arm in stage.arms:
            tally = self.tally_of(stage.number, arm)
            if tally.voided != counts[arm]:  # from the public chain alone the numbers are known here first
                tally.voided = counts[arm]
                self.books.save_tally(tally)
        self.turned = True
        self.course.released(stage, Outturn(tuple(self.sizes(stage)), counts, values))
        self._winner = int(self.rules.algorithm.over(self.state, self.rules.constants))
        if self.course.foreseen and self._winner == UNDECIDED:
            # The news came when the release was due, whenever it was that somebody asked for it.
            self._extend(at if self.rules.follow_up is None else when)

    def _extend(self, when: int) -> None:
        for number in set(self.book.filling.values()):
            stage = self.expect_stage(number)
            # Parts of distributed noise are made for the planned number of people, and for no other.
            wanted = stage.planned if self.rules.design.distributed else self.course.extent(stage)
            stage.extent = max(wanted, stage.people)
            self.books.save_stage(stage)
            if stage.people and self.course.closes(stage):
                self._close(stage, when)

    def _stopped(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        self.book.state = "stopped"
        self.book.verdict = {name: body[name] for name in ("arm", "by", "reason", "time")}

    def _paused(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        self.book.state = "paused"

    def _resumed(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        self.book.state = "open"


APPLY: Final[dict[str, Callable[[Fold, int, dict[str, Any], dict[str, Any]], None]]] = {
    "created": Fold._created,
    "opened": Fold._opened,
    "assigned": Fold._assigned,
    "told": Fold._told,
    "late": Fold._late,
    "retold": Fold._retold,
    "corrected": Fold._corrected,
    "withdrawn": Fold._withdrawn,
    "vacated": Fold._vacated,
    "relabelled": Fold._relabelled,
    "voided": Fold._voided,
    "gathered": Fold._gathered,
    "merged": Fold._merged,
    "released": Fold._released,
    "stopped": Fold._stopped,
    "paused": Fold._paused,
    "resumed": Fold._resumed,
}
"""Every kind of event there is."""


def refolded(rules: Rules, reading: Reading) -> Any:
    """The policy's state derived anew from the log, for a version that keeps it in another layout."""
    fold = Fold(rules, MemoryBooks(), rules.fresh_state())
    for event in reading.events():
        fold.apply(event.kind, event.at, event.body, event.secret)
    return fold.state
