"""A trial with real people: durable, resumable, and private by construction.

Every request is one transaction, or shares one with others that came with it (`bestarm.trial.transactions`): hold the
trial, let the desk turn the request into events, append them, write the books. Whatever was acknowledged is on disk;
whatever was not never happened. What is kept in memory between requests is used only while nobody else has written.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from bestarm._version import __version__
from bestarm.codes import code_of
from bestarm.design import DEFAULT_ALGORITHM, Design, resolve
from bestarm.errors import InputError, NoSuchTrial
from bestarm.exact import exact
from bestarm.policy.algorithm import Algorithm
from bestarm.privacy.coins import OUTCOME, PersonalCoins
from bestarm.privacy.mechanism import Mechanism, live_mechanism
from bestarm.privacy.noise import LiveNoise, live_noise
from bestarm.sentences import cautions
from bestarm.storage.contract import Assignment, Reading, Store, Writing
from bestarm.storage.events import SALT_BYTES, next_event
from bestarm.storage.keys import mark_of
from bestarm.trial import exchange, identity, outlook
from bestarm.trial.answers import Asked, Gathering, HeldAssignment, OpenAssignment, StaffStatus, Verdict, Verification
from bestarm.trial.course import TrialCourse
from bestarm.trial.desk import Desk
from bestarm.trial.fold import Fold, Rules
from bestarm.trial.frames import Tabled, outcomes_in, subjects_in
from bestarm.trial.identity import Participant
from bestarm.trial.places import opened
from bestarm.trial.plainly import joined, told
from bestarm.trial.policy_state import to_bytes
from bestarm.trial.public import ledger_of
from bestarm.trial.staff import Staff
from bestarm.trial.telling import tell_all, tell_rows, without_conflict
from bestarm.trial.transactions import Clock, Request
from bestarm.trial.verify import key_mark, verify
from bestarm.trial.views import Looks

STAFF = "staff"
"""Who did it, when nobody says."""


class Trial(Looks, Tabled):
    """One trial in a store. `create` makes it; `open` finds it again, from any process that reaches the store."""

    def __init__(
        self, store: Store, name: str, rules: Rules, key: bytes, noise: LiveNoise | None, clock: Clock
    ) -> None:
        super().__init__(store, name, rules, clock)
        self.design: Design = rules.design
        self._key = key
        self._coin_key: bytes | None = None
        design = rules.design
        self._door: Mechanism = live_mechanism(
            design.per_outcome, design.encoding, noise or live_noise(), design.distributed
        )

    @classmethod
    def create(
        cls,
        store: str | Path | Store,
        *,
        name: str,
        algorithm: str | Algorithm = DEFAULT_ALGORITHM,
        actor: str = STAFF,
        noise: LiveNoise | None = None,
        clock: Clock = time.time,
        **given: Any,
    ) -> Trial:
        """Create a trial; its design is frozen from here on. `given` is the rest of it, as `Design.make` takes it."""
        design = Design.make(algorithm=algorithm, **given)
        identity.check_name(name)
        rules = Rules.of(design, resolve(algorithm))
        with opened(store, create=True) as place:
            trial = cls(place, name, rules, secrets.token_bytes(identity.KEY_BYTES), noise, clock)
            trial._begin(actor)
        return trial

    def _begin(self, actor: str) -> None:
        # Adds the trial to its store, and first its coins' key to where keys are kept.
        design = self.design.to_json()
        created = {"name": self.name, "design": design, "bestarm": __version__, "key": key_mark(self._key)}
        if self.design.coins_apart:
            self._coin_key = self._new_coin_key()
            created["coins"] = mark_of(self._coin_key)
        try:
            with self._store.add(self.name, design, self._key) as writing:
                if self._coin_key is not None:
                    self._store.keys.keep(self._coin_key)
                course = self._rules.course(self._rules.fresh_state())
                desk = self._desk(writing, course)
                desk.emit("created", actor, created | {"time": desk.time()})
                writing.replace_state(to_bytes(course.state))
        except BaseException:
            if self._coin_key is not None:
                self._store.keys.drop(mark_of(self._coin_key))
            raise

    def _new_coin_key(self) -> bytes:
        return secrets.token_bytes(identity.KEY_BYTES)

    @classmethod
    def open(
        cls,
        store: str | Path | Store,
        *,
        name: str,
        algorithm: Algorithm | None = None,
        noise: LiveNoise | None = None,
        clock: Clock = time.time,
    ) -> Trial:
        """Find a trial again. An algorithm of one's own that was passed to `create` as an object is passed here too."""
        with opened(store) as place:
            with place.reading(name) as reading:
                design, key = Design.from_json(reading.design), reading.key
            if algorithm is not None and algorithm.identity != design.identity:
                raise InputError(f"This trial runs the algorithm {design.identity}, not {algorithm.identity}.")
            rules = Rules.of(design, algorithm or resolve(design.identity))
            return cls(place, name, rules, key, noise, clock)

    def ask(self, subject: object, actor: str = STAFF) -> Asked:
        """The subject's assignment: the one it holds, or a new one. Safe to repeat."""
        return self.ask_many([subject], actor)[0]

    def ask_many(self, subjects: Any, actor: str = STAFF) -> list[Asked]:
        """Assignments for several subjects in one transaction, in this order; all or none.

        From any iterable, a Series, or a DataFrame with a column `subject`; an empty cell is refused.
        """
        return self._serve(self.asking(subjects, actor))

    def asking(self, subjects: Any, actor: str = STAFF) -> Request[list[Asked]]:
        """The request that `ask_many` makes, to be heard with others in one transaction; see `together`."""
        stand_ins = [self._stand_in(subject) for subject in subjects_in(subjects)]

        def hear(desk: Desk) -> list[Asked]:
            found: list[Asked] = []
            while (start := len(found)) < len(stand_ins):
                plain: Sequence[Assignment | None] = joined(desk, stand_ins, actor, start)
                found += [self._asked(desk.fold, one) for one in plain or [desk.ask(stand_ins[start], actor)]]
            return found

        def plainly(desk: Desk) -> list[Asked] | None:
            return [self._asked(desk.fold, one) for one in joined(desk, stand_ins, actor)] or None

        return Request(hear, subjects=stand_ins, plainly=plainly if len(stand_ins) == 1 else None)

    def tell(
        self,
        assignment: str | Participant | None = None,
        outcome: object = None,
        actor: str = STAFF,
        guarded: bool = False,
        *,
        subject: object = None,
    ) -> str:
        """Record an outcome, by assignment or by `subject`: "recorded", "already recorded", or "late" (kept, not used).

        Telling another outcome than the recorded one is an error. With `guarded`, for actors who must not learn what
        others recorded, it is one only to whoever told the recorded outcome a moment ago; to everybody else a repeated
        tell is answered alike whatever was recorded, is kept in the log, and is limited to a few in an hour.
        """
        return self.tell_many([(identity.one_of_two(assignment, subject), outcome)], actor, guarded)[0]

    def tell_many(self, outcomes: Any, actor: str = STAFF, guarded: bool = False) -> list[str]:
        """Record several outcomes in one transaction; if one cannot be, none is, and the error says what is wrong.

        From pairs of assignment and outcome, a Series of outcomes by assignment, or a DataFrame with a column `outcome`
        and one of `assignment` and `subject`.
        """
        return self._serve(self.telling(outcomes, actor, guarded))

    def telling(self, outcomes: Any, actor: str = STAFF, guarded: bool = False) -> Request[list[str]]:
        """The request that `tell_many` makes, to be heard with others in one transaction; see `together`."""
        given = outcomes_in(outcomes)
        people = [who for who, _ in given]
        values = [exact(outcome, "The outcome") for _, outcome in given]

        def hear(desk: Desk) -> list[str]:
            told_now: dict[int, str] = {}
            numbers = [self._number(desk, who) for who in people]
            for number, value in zip(numbers, values, strict=True):
                desk.check_outcome(number, value, told_now)
            return tell_all(desk, numbers, values, actor, guarded)

        def plainly(desk: Desk) -> list[str] | None:
            who = people[0]
            number = None if isinstance(who, Participant) else identity.number_in(self._key, who)
            recorded = None if number is None else told(desk, number, values[0], actor)
            return None if recorded is None else [recorded]

        return Request(hear, without_conflict, plainly=plainly if len(people) == 1 else None)

    def correct(
        self,
        assignment: str | Participant | None = None,
        outcome: object = None,
        reason: str = "",
        actor: str = STAFF,
        *,
        subject: object = None,
    ) -> str:
        """Correct a recorded outcome: "corrected", or "late" (recorded, not used) once its stage is released."""
        _needs_reason(reason)
        value, who = exact(outcome, "The outcome"), identity.one_of_two(assignment, subject)
        return self._write(lambda desk: desk.correct(self._number(desk, who), value, reason, actor))

    def withdraw(
        self,
        assignment: str | Participant | None = None,
        reason: str = "",
        actor: str = STAFF,
        *,
        subject: object = None,
    ) -> str:
        """Take a subject out by the design's rule: "withdrawn", "already withdrawn", or "late" (stage released)."""
        who = identity.one_of_two(assignment, subject)
        return self._write(lambda desk: desk.withdraw(self._number(desk, who), reason, actor))

    def relabel(self, assignment: str | Participant, subject: object, reason: str, actor: str = STAFF) -> str:
        """Put a mistyped code right: the assignment and its arm stay, and this subject holds it from here on."""
        _needs_reason(reason)
        right = self._stand_in(subject)
        return self._write(lambda desk: desk.relabel(self._number(desk, assignment), right, reason, actor))

    def void(self, assignment: str | Participant, duplicate_of: object, reason: str, actor: str = STAFF) -> str:
        """Void a second entry of somebody whose code is `duplicate_of`: their first assignment stands.

        The voided one keeps its place in its arm's size and counts as the worst outcome. How many there were is public
        with the stage's release.
        """
        _needs_reason(reason)
        stands = self._stand_in(duplicate_of)
        return self._write(lambda desk: desk.void(self._number(desk, assignment), stands, reason, actor))

    def look_up(self, subject: object = None, *, assignment: str | None = None) -> list[HeldAssignment]:
        """The assignments that a subject holds, or the one of this id; none for a code nobody has. For staff.

        Nobody is enrolled by looking. Whether an outcome is recorded is said, and never which.
        """
        with self._for_staff() as staff:
            return staff.find(identity.one_of_two(assignment, subject))

    def near(self, subject: object) -> list[str]:
        """Codes much like this one that are in the trial, as a mistyped one would be; for staff."""
        with self._for_staff() as staff:
            return staff.near(subject)

    def gathering(self) -> Gathering | None:
        """With distributed noise: the stage whose halves are to be added up next; None if none is. For staff."""
        with self._for_staff() as staff:
            return staff.gathering()

    def gather(self, stage: int, assignments: Sequence[str], sums: Sequence[int], actor: str = STAFF) -> str:
        """With distributed noise: take what the two servers' halves of these people came to, and release the stage.

        `bestarm.distributed.SplitTrial.gather` asks the servers and calls this.
        """
        numbers = [identity.assignment_number(self._key, one) for one in assignments]
        return self._write(lambda desk: desk.gather(stage, numbers, list(sums), actor))

    def pause(self, reason: str = "", actor: str = STAFF) -> str:
        """Enrol nobody until `resume`; outcomes still come in."""
        return self._write(lambda desk: desk.pause(reason, actor))

    def resume(self, reason: str = "", actor: str = STAFF) -> str:
        """Enrol again."""
        return self._write(lambda desk: desk.resume(reason, actor))

    def end(self, reason: str, actor: str = STAFF) -> str:
        """Stop the trial for good without a recommendation, for safety or otherwise."""
        _needs_reason(reason)
        return self._write(lambda desk: desk.end(reason, actor))

    @property
    def verdict(self) -> Verdict | None:
        """How the trial ended; None while it runs."""
        with self._seen() as reading:
            return outlook.verdict_of(self._rules, reading.book)

    def status(self, staff: bool = False) -> dict[str, Any]:
        """The public state as plain data; for `staff` also what is not public: what holds releases up."""
        shown = self._public_status()
        return shown | {"staff": self.staff_status().to_json()} if staff else shown

    def warnings(self) -> list[str]:
        """What is allowed, but should have been thought over before the design was frozen, in sentences; the command
        `bestarm trial create` says the same."""
        return cautions(self.design)

    def ledger(self) -> dict[str, Any]:
        """The privacy ledger as plain data."""
        return ledger_of(self.view()).to_json()

    def report(self, out: str | Path) -> dict[str, str]:
        """Write the report (report.html, report.json) into a folder; the paths."""
        with self._seen() as reading:
            view, head = self._view(reading), reading.public_head
        return exchange.write_report(view, head, out)

    def export_public(self, out: str | Path) -> dict[str, str]:
        """Write everything public into a folder as CSV and JSON; the paths."""
        with self._seen() as reading:
            return exchange.write_public(self._view(reading), reading, out)

    def export_confidential(self, out: str | Path) -> dict[str, str]:
        """Write every assignment with its outcome and the whole log into a folder: confidential. The paths."""
        with self._store.reading(self.name) as reading:
            return exchange.write_confidential(self._rules, reading, out)

    def tell_csv(self, path: str | Path, actor: str = STAFF) -> list[exchange.RowAnswer]:
        """Record the outcomes in a CSV file (columns assignment, outcome), all or none; an answer for each line."""
        rows = exchange.read_outcomes(path)
        return self._write(lambda desk: tell_rows(desk, self._number, rows, actor))

    def open_assignments(self, start: int = 0, most: int | None = None) -> list[OpenAssignment]:
        """The assignments whose outcomes are awaited, the most urgent first; for staff. Of a long list a page: `most`
        of them at most, without the first `start`."""
        with self._for_staff() as staff:
            return list(islice(staff.awaited(), start, None if most is None else start + most))

    def staff_status(self) -> StaffStatus:
        """What staff have to do: how many outcomes are awaited, who is overdue, and what holds a release up."""
        with self._for_staff() as staff:
            return staff.status()

    @contextmanager
    def _for_staff(self) -> Iterator[Staff]:
        with self._seen(publicly=False) as reading:
            yield Staff(reading, self._books(reading), self._now(reading))

    def delete(self) -> None:
        """Delete the trial with its log; only one that never enrolled anybody can be."""
        mark = None
        if self.design.coins_apart:
            with self._store.reading(self.name) as reading:
                mark = identity.coins_mark(reading)
        self._store.remove(self.name)
        if mark is not None:
            self._store.keys.drop(mark)

    def verify(self, progress: Callable[[int, int], None] | None = None) -> Verification:
        """Replay the log from its first event, re-derive every decision, and compare with the books."""
        with self._store.reading(self.name) as reading:
            return verify(self._rules, reading, self._store.keys, progress)

    def close(self) -> None:
        """Let go of the store; the end of a `with` block does so too."""
        self._store.close()

    def __repr__(self) -> str:
        return f"<Trial {self.name!r}: {', '.join(self.design.arms)}; {self.design.identity}>"

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _desk(self, writing: Writing, course: TrialCourse) -> Desk:
        def log(kind: str, at: int, actor: str, body: dict[str, Any], secret: dict[str, Any] | None) -> None:
            publicly = (writing.public_seq, writing.public_head)
            salt = os.urandom(SALT_BYTES)
            writing.append(next_event(writing.head, publicly, writing.seq + 1, at, actor, kind, body, secret, salt))

        def deal(number: int, purpose: str) -> PersonalCoins:
            # What is imputed is public, and its coins are no secret of anybody's: releases do not need the other key.
            apart = purpose == OUTCOME and self.design.coins_apart
            return PersonalCoins(self._key_of_coins(writing) if apart else self._key, self.name, number, purpose)

        return Desk(Fold(self._rules, writing, course.state, course), self._door, log, self._now(writing), deal)

    def _must_be_ours(self, reading: Reading) -> None:
        if reading.key != self._key:
            raise NoSuchTrial(f"The trial {self.name!r} was deleted, and another one has its name; open it again.")

    def _key_of_coins(self, reading: Reading) -> bytes:
        if self._coin_key is None:
            self._coin_key = self._store.keys.find(identity.coins_mark(reading))
        return self._coin_key

    def _asked(self, fold: Fold, assignment: Assignment | None) -> Asked:
        if assignment is None:
            return Asked(None, None, False, outlook.verdict_of(self._rules, fold.book))
        who = identity.assignment_id(self._key, assignment.number)
        told, withdrawn = assignment.state in ("told", "late"), assignment.state == "withdrawn"
        part = outlook.part_of(fold, assignment) if self.design.distributed else None
        return Asked(who, self.design.arms[assignment.arm], told, withdrawn=withdrawn, part=part)

    def _stand_in(self, subject: object) -> str:
        return identity.pseudonym(self._key, code_of(subject, self.design.codes))

    def _number(self, desk: Desk, who: str | Participant) -> int:
        if isinstance(who, Participant):
            held = desk.fold.held(self._stand_in(who.code))
            if not held:
                raise identity.no_such_participant()
            return held[-1].number
        number = identity.assignment_number(self._key, who)
        if desk.fold.books.assignment(number) is None:
            raise identity.no_such_assignment()
        return number


def _needs_reason(reason: str) -> None:
    if not reason.strip():
        raise InputError("This needs a reason; it is kept in the log.")
