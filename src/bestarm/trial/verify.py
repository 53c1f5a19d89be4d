"""Replays a trial from its log: the chains are whole, every decision follows from what was public, the books agree.

Each event is checked before it is applied to a second set of books in memory, by asking the same rules that a live
trial asks. What was drawn (noise, coins, the choice among recruiting arms) cannot be derived again; checked is that the
arm could come up, that a coin gave a possible integer, and that nothing else had to come first. An event that does not
fit is noted, and the replay goes on as far as it can: the chain is checked to its end in any case.

`verify` reads a store. `bestarm.trial.verify_public` does the same for the public chain alone, from an export.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from functools import lru_cache
from itertools import zip_longest
from typing import Any, Final

import numpy as np

from bestarm.errors import BestArmError
from bestarm.exact import kept, text_of
from bestarm.policy.algorithm import UNDECIDED
from bestarm.release.laws import randomised
from bestarm.storage.contract import Assignment, AssignmentState, Reading, Stage
from bestarm.storage.events import GENESIS, PUBLIC_KINDS, Event, next_event
from bestarm.storage.keys import Keys
from bestarm.storage.spill import SpillingBooks
from bestarm.trial.answers import Misfit, Verification
from bestarm.trial.desk import OURSELVES, in_fixed_order, may_gather
from bestarm.trial.fold import APPLY, HOUR, Fold, Rules
from bestarm.trial.identity import KEY_BYTES
from bestarm.trial.moments import moment
from bestarm.trial.policy_state import KeptState, differing, fits

UNREADABLE: Final = (
    BestArmError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What garbled events may raise."""
UNSOUND: Final = "The stages and lines of the design's hard end do not keep its promise."
FEW: Final = 10_000
"""Outcomes whose integers are remembered."""
MISTIMED: Final = "The public time is not the one the design dictates."
LOST: Final = "From here on decisions cannot be derived again; the chain is checked to its end."


class Wrong(Exception):
    """What is wrong with an event."""


def key_mark(key: bytes) -> str:
    """What the first event says of the trial's key: enough to notice that it was changed, not enough to guess it."""
    return hmac.new(key, b"bestarm key", hashlib.sha256).hexdigest()


def verify(
    rules: Rules, reading: Reading, keys: Keys, progress: Callable[[int, int], None] | None = None
) -> Verification:
    """Check the whole log and then the books; names every event that does not fit."""
    with closing(SpillingBooks()) as books:
        return _verified(books, rules, reading, keys, progress)


def _verified(
    books: SpillingBooks,
    rules: Rules,
    reading: Reading,
    keys: Keys,
    progress: Callable[[int, int], None] | None,
) -> Verification:
    recheck = Recheck(Fold(rules, books, rules.fresh_state()), reading.name, reading.key, keys)
    head = public_head = GENESIS
    count = public_count = 0
    misfits: list[Misfit] = []
    with np.errstate(divide="raise", invalid="raise"):  # entered once: it takes as long as half the hashing
        for event in reading.events():
            found = [*_chain_faults(event, head, count + 1, public_head, public_count + 1), *recheck.faults(event)]
            misfits += [Misfit(event.seq, problem) for problem in found]
            head, count = event.hash, event.seq
            if event.public_hash is not None and event.public_seq is not None:
                public_head, public_count = event.public_hash, event.public_seq
            if progress is not None and count % 1000 == 0:
                progress(count, reading.seq)
    if count == 0:
        misfits.append(Misfit(1, "The log is empty."))
    if not misfits:
        heads = (head, count, public_head, public_count)
        problem = recheck.ends_early() or _books_differ(recheck.fold, books, reading, heads)
        if problem is not None:
            misfits.append(Misfit(None, problem))
    return Verification.of(count, head, misfits)


def _chain_faults(event: Event, before: str, seq: int, public_before: str, public_seq: int) -> list[str]:
    """What is wrong with the event's place in the two chains."""
    if event.seq < 1:
        return ["The event has no number."]
    if event.seq != seq:
        missing = f"Event {seq} is" if event.seq == seq + 1 else f"Events {seq} to {event.seq - 1} are"
        return [f"{missing} missing."]
    found = []
    try:
        said = (event.seq, event.at, event.actor, event.kind, event.body, event.secret, event.salt)
        again = next_event(before, (public_seq - 1, public_before), *said)
        right, right_publicly = again.hash, again.public_hash
    except UNREADABLE:
        right = right_publicly = ""
    if right != event.hash:
        found.append("The event's hash does not fit its content and the event before.")
    if event.kind not in PUBLIC_KINDS:
        if event.public_seq is not None or event.public_hash is not None:
            found.append("A confidential event stands in the public chain.")
    elif event.public_seq != public_seq:
        found.append("The event has the wrong number in the public chain.")
    elif right_publicly != event.public_hash:
        found.append("The event's public hash does not fit its body and the public event before.")
    return found


class Recheck:
    """Checks events one after the other and applies them, for as long as they can be."""

    def __init__(self, fold: Fold, name: str, key: bytes, keys: Keys) -> None:
        self.fold = fold
        self.name = name
        self.key = key
        self.keys = keys
        self._lost = False
        self._follows = lru_cache(FEW)(self._of_outcome)
        """Outcomes are few, and the same in very many events."""

    def faults(self, event: Event) -> list[str]:
        """What is wrong with the event; it is applied all the same, if it can be."""
        found = []
        try:
            if event.kind not in APPLY:
                return [f"There is no event of the kind {event.kind!r}."]
            if not self._lost:
                self._check(event)
        except Wrong as wrong:
            found.append(str(wrong))
        except UNREADABLE as error:
            found.append(f"The event cannot be read: {type(error).__name__}.")
        if not self._lost:
            try:
                self.fold.apply(event.kind, event.at, event.body, event.secret)
            except UNREADABLE:
                self._lost = True
                found.append(LOST)
        return found

    def ends_early(self) -> str | None:
        """What the log lacks at its end."""
        owed = self.fold.owed(self.fold.book.at)
        return None if owed is None else f"The log ends where the trial had to be {owed.kind}."

    def _check(self, event: Event) -> None:
        fold = self.fold
        if (event.seq == 1) != (event.kind == "created"):
            raise Wrong("A log begins with the trial's creation, and with nothing else.")
        if event.at < fold.book.at:
            raise Wrong("The event is older than the one before it.")
        owed = fold.owed(event.at)
        if owed is not None and event.kind != owed.kind:
            raise Wrong(f"Before anything else the trial had to be {owed.kind}.")
        if event.kind in ("opened", "assigned", "vacated", "relabelled", "paused", "resumed"):
            rounded = event.at if fold.rules.follow_up is not None else event.at - event.at % HOUR
            if event.body["time"] != moment(rounded):
                raise Wrong(MISTIMED)
        CHECK[event.kind](self, event)

    def created(self, event: Event) -> None:
        """The design, the name and the key are those of the books."""
        if event.body["design"] != self.fold.rules.design.to_json():
            raise Wrong("The design in the log is not the trial's design.")
        if not self.fold.rules.design.sound:
            raise Wrong(UNSOUND)
        if event.body["name"] != self.name:
            raise Wrong("The name in the log is not the trial's name.")
        # To HMAC a key and the same key followed by zeros are one.
        if event.body["key"] != key_mark(self.key) or len(self.key) != KEY_BYTES:
            raise Wrong("The trial's key is not the one it was created with.")
        if self.fold.rules.design.coins_apart and self.keys.spoilt(event.body["coins"]):
            raise Wrong("The key of the trial's coins is not the one it was created with.")

    def opened(self, event: Event) -> None:
        """Nobody could be assigned without this stage, and it is as the policy plans it."""
        check_opening(self.fold, event.body)

    def assigned(self, event: Event) -> None:
        """The person could be enrolled, and the arm could come up."""
        held = self.fold.held((event.secret or {})["subject"])
        if held and not self.fold.may_join_again(held, event.at):
            raise Wrong("The subject already had its share of assignments.")
        check_assignment(self.fold, event.body)

    def told(self, event: Event) -> None:
        """The outcome came in time and became a possible integer."""
        assignment = self._assignment(event, ("open",))
        if self.fold.due(assignment, event.at):
            raise Wrong("The outcome came too late to count.")
        self._check_actor(event)
        self._check_value(event)

    def late(self, event: Event) -> None:
        """The outcome came too late."""
        self._check_actor(event)
        if not self.fold.due(self._assignment(event, ("open",)), event.at):
            raise Wrong("The outcome did not come too late.")

    def retold(self, event: Event) -> None:
        """Something had been recorded before."""
        self._check_actor(event)
        self._assignment(event, ("told", "late"))

    def corrected(self, event: Event) -> None:
        """There was something to correct, and it counts if it came in time."""
        self._check_actor(event)
        assignment = self._assignment(event, ("told", "late"))
        if event.body["used"] != (assignment.state == "told" and not self.fold.due(assignment, event.at)):
            raise Wrong("Whether the correction counts does not follow from its time.")
        if event.body["used"]:
            self._check_value(event)

    def withdrawn(self, event: Event) -> None:
        """The design's rule was followed."""
        assignment = self._assignment(event, ("open", "told", "late"))
        rule = "replace" if self.fold.rules.design.replaces else "impute"
        if event.body["rule"] != ("none" if self.fold.due(assignment, event.at) else rule):
            raise Wrong("The withdrawal does not follow the design's rule.")
        if event.body["rule"] == "impute":
            low, high = self._possible(self.fold.rules.design.imputed(self.fold.on_champion(assignment)))
            if (event.secret or {})["value"] not in (low, high):
                raise Wrong("The imputed integer does not belong to the design's constant.")

    def relabelled(self, event: Event) -> None:
        """There was such an assignment, and the right code held none."""
        secret = event.secret or {}
        assignment = self.fold.books.assignment(secret["assignment"])
        if assignment is None or assignment.state == "voided":
            raise Wrong("There is no such assignment, or it was voided.")
        if assignment.subject != secret["before"]:
            raise Wrong("The assignment was not held by that code before.")
        if self.fold.held(secret["subject"]):
            raise Wrong("The code that the assignment was given to held one already.")

    def voided(self, event: Event) -> None:
        """It was a later assignment than the one that stands, and not too late."""
        self._check_actor(event)
        assignment = self._assignment(event, ("open", "told", "withdrawn"))
        held = self.fold.held((event.secret or {})["duplicate_of"])
        if not held or assignment in held or held[0].number > assignment.number:
            raise Wrong("There is no earlier assignment of that person that could stand.")
        if self.fold.may_void(assignment, event.at) is not None:
            raise Wrong("The assignment could not be voided any more.")
        if (event.secret or {})["value"] not in self._possible(Fraction(0)):
            raise Wrong("A voided assignment counts as something else than the worst outcome.")

    def vacated(self, event: Event) -> None:
        """People are replaced in this design, and the stage had somebody to replace."""
        check_vacancy(self.fold, event.body)

    def gathered(self, event: Event) -> None:
        """Halves were to be gathered, of these people."""
        self._check_actor(event)
        secret: dict[str, Any] = event.secret or {}
        refused = may_gather(self.fold, event.at, event.body["stage"], secret["people"], secret["sums"])
        if refused is not None:
            raise Wrong(refused)

    def merged(self, event: Event) -> None:
        """It was this stage's turn, its time had come, and alone it was too small."""
        if self.fold.owed(event.at) is None:
            raise Wrong("No stage was to be released yet.")
        check_merging(self.fold, event.body)
        if event.body["time"] != moment(self.fold.public_time(self.fold.next_to_release(), event.at)):
            raise Wrong(MISTIMED)

    def released(self, event: Event) -> None:
        """It was this stage's turn, and what was imputed is possible."""
        owed = self.fold.owed(event.at)
        if owed is None or owed.stage is None:
            raise Wrong("No stage was to be released yet.")
        check_release(self.fold, event.body)
        voids = self.fold.voids(owed.stage)
        if event.body["voided"] != [voids[arm] for arm in owed.stage.arms]:
            raise Wrong("The number of people who were voided is wrong.")
        if event.body["time"] != moment(self.fold.public_time(owed.stage, event.at)):
            raise Wrong(MISTIMED)
        missing = dict((event.secret or {})["missing"])
        for arm in owed.stage.arms:
            tally = self.fold.tally_of(owed.stage.number, arm)
            awaited, imputed = missing.pop(str(arm), [0, 0])
            low, high = self._possible(self.fold.rules.design.imputed(arm == owed.stage.champion))
            if awaited != tally.assigned - tally.resolved or not awaited * low <= imputed <= awaited * high:
                raise Wrong("What was imputed for missing outcomes is wrong.")
        if missing:
            raise Wrong("Outcomes were imputed for an arm that is not in the stage.")
        self._check_gathered(owed.stage, event)

    def _check_gathered(self, stage: Stage, event: Event) -> None:
        # With distributed noise nothing is drawn here, so the release follows from what was gathered and imputed.
        gathered, imputed = self.fold.book.gathered, dict((event.secret or {})["missing"])
        if gathered is None:
            return
        totals = {a: self.fold.tally_of(stage.number, a).total + imputed.get(str(a), [0, 0])[1] for a in stage.arms}
        signed = [sum(t if a == stage.champion else -t for a, t in totals.items())]
        right = signed if stage.difference else list(totals.values())
        if event.body["values"] != [total + half for total, half in zip(right, gathered, strict=True)]:
            raise Wrong("The release is not what the gathered halves and the imputed outcomes sum to.")

    def stopped(self, event: Event) -> None:
        """The evidence, the participants or a person ended the trial."""
        if self.fold.book.state == "stopped":
            raise Wrong("The trial had stopped already.")
        if event.body["by"] == "ended":
            if self.fold.owed(event.at) is not None or event.actor == OURSELVES:
                raise Wrong("The trial was not ended by a person.")
            return
        check_verdict(self.fold, event.body, event.at)

    def paused(self, event: Event) -> None:
        """The trial was recruiting."""
        still_enrolling(self.fold)

    def resumed(self, event: Event) -> None:
        """The trial was paused."""
        if self.fold.book.state != "paused":
            raise Wrong("The trial was not paused.")

    def _assignment(self, event: Event, states: tuple[AssignmentState, ...]) -> Assignment:
        assignment = self.fold.books.assignment(event.body["assignment"])
        if assignment is None or assignment.state not in states:
            raise Wrong("There is no such assignment, or it was settled already.")
        return assignment

    def _check_actor(self, event: Event) -> None:
        if event.body["by"] != event.actor:
            raise Wrong("The event names two different people as its actor.")

    def _check_value(self, event: Event) -> None:
        secret: dict[str, Any] = event.secret or {}
        outcome = secret["outcome"]
        possible = self._follows(outcome) if type(outcome) is str else self._of_outcome(outcome)
        if secret["value"] not in possible:
            raise Wrong("The integer does not belong to the outcome.")

    def _of_outcome(self, outcome: object) -> tuple[int, int]:
        unit = None if outcome is None else self.fold.rules.design.outcomes.to_unit(kept(outcome, "The outcome"))
        return self._possible(unit)

    def _possible(self, unit: Fraction | None) -> tuple[int, int]:
        # The integers an outcome in [0, 1] can become; where bits are flipped either answer is possible.
        grid = self.fold.rules.grid
        if randomised(self.fold.rules.design.law) or unit is None:
            return 0, grid
        return math.floor(unit * grid), math.ceil(unit * grid)


CHECK: Final = {kind: getattr(Recheck, kind) for kind in APPLY}


def still_enrolling(fold: Fold) -> None:
    """The trial took people."""
    if fold.book.state != "open":
        raise Wrong(f"The trial was {fold.book.state}.")


def check_opening(fold: Fold, body: dict[str, Any]) -> None:
    """A stage had to open, and it is as the policy plans it."""
    still_enrolling(fold)
    if body["stage"] != fold.book.opened + 1:
        raise Wrong("Stages are not numbered in order.")
    arm, course = body["champion"], fold.course
    if course.foreseen:
        if fold.book.filling:
            raise Wrong("A stage was open already.")
    else:
        weights = fold.recruiting()
        if weights is None or not weights[arm] > 0 or fold.open_stage_of(arm) is not None:
            raise Wrong("The arm was not recruiting, or still had a batch with free places.")
    planned = course.opening(arm)
    said = (tuple(body["weights"]), body["difference"], arm, body["planned"])
    if said != (planned.weights, planned.difference, planned.champion, planned.planned):
        raise Wrong("The stage is not the one that the algorithm plans.")


def check_assignment(fold: Fold, body: dict[str, Any]) -> None:
    """The person could be enrolled, and the arm could come up."""
    still_enrolling(fold)
    book = fold.book
    if body["assignment"] != book.people + 1:
        raise Wrong("Assignments are not numbered in order.")
    if body["replacing"] != bool(book.vacant):
        raise Wrong("Places of people who withdrew are filled first, and only those are refilled.")
    if body["replacing"]:
        if (body["arm"], body["stage"]) != book.vacant[0]:
            raise Wrong("The oldest free place is filled first.")
        return
    if fold.full:
        raise Wrong("All participants were enrolled already.")
    arm = body["arm"]
    if book.filling.get(str(arm)) != body["stage"]:
        raise Wrong("The person was not put into an open stage of that arm.")
    if fold.crowded(fold.expect_stage(body["stage"])):
        raise Wrong("The stage was as large as its noise was made for.")
    weights = fold.recruiting()
    if weights is None or not weights[arm] > 0:
        raise Wrong("The arm could not come up.")
    if fold.rules.design.allocation == "fixed" and arm != in_fixed_order(fold, weights.tolist()):
        raise Wrong("The arm was not next in the fixed order.")


def check_vacancy(fold: Fold, body: dict[str, Any]) -> None:
    """People are replaced in this design, and the stage had somebody to replace."""
    if fold.rules.design.withdrawal != "replace":
        raise Wrong("In this design nobody is replaced.")
    if fold.tally_of(body["stage"], body["arm"]).assigned < 1:
        raise Wrong("There was nobody to replace.")


def check_merging(fold: Fold, body: dict[str, Any]) -> None:
    """It was this stage's turn, and alone it was too small to be released."""
    if fold.book.released >= fold.book.closed:
        raise Wrong("No stage was to be released yet.")
    number = fold.next_to_release().number
    if (body["stage"], body["into"]) != (number, number + 1):
        raise Wrong("It was another stage's turn, or it goes on in another one.")
    if not fold.merges():
        raise Wrong("The stage had to be released by itself.")


def check_release(fold: Fold, body: dict[str, Any]) -> None:
    """It was this stage's turn, with these people, and a release is made of whole numbers."""
    if fold.book.released >= fold.book.closed:
        raise Wrong("No stage was to be released yet.")
    if fold.merges():
        raise Wrong("The stage had to be merged with the next one.")
    stage = fold.next_to_release()
    sizes = fold.sizes(stage)
    if body["stage"] != stage.number or body["sizes"] != [sizes[arm] for arm in stage.arms]:
        raise Wrong("It was another stage's turn, or it had other people.")
    counts = zip(body["voided"], body["sizes"], strict=True)
    if not all(type(voided) is int and 0 <= voided <= size for voided, size in counts):
        raise Wrong("More people were voided than there were, or fewer than none.")
    right = 1 if stage.difference else len(stage.arms)
    if len(body["values"]) != right or not all(type(value) is int for value in body["values"]):
        raise Wrong("A release is a whole number of steps for each sum.")
    terms, promise = body["terms"], fold.rules.design.per_outcome
    if not all(isinstance(term, str | None) for term in terms.values()):
        raise Wrong("The terms of the release are not in words.")
    if promise.budget is not None and terms[promise.measure] != text_of(promise.budget):
        raise Wrong("The release says that it costs something else than the design does.")


def check_verdict(fold: Fold, body: dict[str, Any], at: int) -> None:
    """The evidence speaks for this arm, or the participants ran out."""
    owed = fold.owed(at)
    if owed is None or owed.stage is not None:
        raise Wrong("Nothing called for the trial's end.")
    arm = None if owed.arm in (None, UNDECIDED) else fold.rules.design.answer(int(owed.arm or 0))
    nobody = "group" if fold.book.released < fold.book.closed else "participants"
    if body["arm"] != arm or body["by"] != (nobody if arm is None else "evidence"):
        raise Wrong(f"The evidence speaks for {arm}.")


def _books_differ(fold: Fold, books: SpillingBooks, reading: Reading, heads: tuple[str, int, str, int]) -> str | None:
    if (reading.head, reading.seq, reading.public_head, reading.public_seq) != heads:
        return "The log does not end where the books say it does; events at its end are missing."
    if reading.design != fold.rules.design.to_json():
        return "The design in the books is not written as the log has it."
    if reading.book != books.book:
        return "The trial's numbers in the books differ from what the log gives."
    for what, rows, derived in (
        ("assignments", reading.assignments(), books.all_assignments()),
        ("stages", reading.stages(), (stage for _, stage in sorted(books.stages.items()))),
        ("tallies", reading.tallies(), (tally for _, tally in sorted(books.tallies.items()))),
    ):
        try:
            same = all(row == other for row, other in zip_longest(rows, derived))  # one by one: they may be many
        except UNREADABLE:
            same = False
        if not same:
            return f"The {what} in the books differ from what the log gives."
    if not fits(fold.rules, reading):
        return None  # kept in another layout than this version's: it is derived from the log when it is next needed
    array = differing(KeptState(fold.rules, reading).state, fold.state)
    return None if array is None else f"The policy's state in the books ({array}) differs from what the log gives."
