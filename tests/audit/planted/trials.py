"""Defects of whole trials: ways around the noise, and outcomes that count otherwise than once."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final
from unittest.mock import patch

import numpy as np

from bestarm.policy.record import FloatArray
from bestarm.privacy.coins import OUTCOME, Coins, PersonalCoins
from bestarm.release.laws import LOCAL
from bestarm.storage import effects, events
from bestarm.storage.contract import Assignment, Books, Stage, Tally
from bestarm.storage.events import PUBLIC_KINDS, EventKind
from bestarm.trial import fold as folds
from bestarm.trial import history, telling
from bestarm.trial import trial as trials
from bestarm.trial.comparisons import StageFigures
from bestarm.trial.desk import Desk
from bestarm.trial.fold import APPLY, Fold
from bestarm.trial.public import Released
from tests.audit.planted import defect
from tests.audit.planted.defect import Planted

Body = dict[str, Any]


def exact_sums(fold: Fold, stage: Stage) -> dict[int, int]:
    """What nobody may look at: each arm's exact sum in a stage."""
    return {arm: fold.tally_of(stage.number, arm).total for arm in stage.arms}


@contextmanager
def counted_twice() -> Iterator[None]:
    """An outcome weighs double in its sum."""
    honest = effects.resolve

    def resolve(books: Books, assignment: Assignment, value: int) -> None:
        honest(books, assignment, 2 * value)

    with patch.object(effects, "resolve", resolve), patch.object(folds, "resolve", resolve):
        yield


@contextmanager
def counted_twice_when_corrected() -> Iterator[None]:
    """A corrected outcome is added, and the one before it not taken off."""
    honest = APPLY["corrected"]

    def corrected(self: Fold, at: int, body: Body, secret: Body) -> None:
        before = self.expect_assignment(body["assignment"]).value
        honest(self, at, body, secret)
        if body["used"] and before is not None:
            assignment = self.expect_assignment(body["assignment"])
            tally = self.tally_of(assignment.stage, assignment.arm)
            tally.total += before
            self.books.save_tally(tally)

    with patch.dict(APPLY, {"corrected": corrected}):
        yield


@contextmanager
def size_from_outcomes() -> Iterator[None]:
    """A stage takes one person more if the sum of outcomes so far is odd."""
    honest = Desk.emit

    def emit(self: Desk, kind: EventKind, actor: str, body: Body, secret: Body | None = None) -> None:
        if kind == "opened" and body["stage"] > 1:
            last = self.fold.expect_stage(body["stage"] - 1)
            odd = sum(exact_sums(self.fold, last).values()) // self.fold.rules.grid % 2
            body = body | {"planned": body["planned"] + odd}
        honest(self, kind, actor, body, secret)

    with patch.object(Desk, "emit", emit):
        yield


@contextmanager
def stops_on_the_exact_sum() -> Iterator[None]:
    """The policy is given the exact sums and not the noisy ones; what is published is noisy all the same."""
    honest = APPLY["released"]

    def released(self: Fold, at: int, body: Body, secret: Body) -> None:
        stage = self.expect_stage(body["stage"])
        sums = exact_sums(self, stage)
        difference = [sum(t if arm == stage.champion else -t for arm, t in sums.items())]
        honest(self, at, body | {"values": difference if stage.difference else list(sums.values())}, secret)
        stage.releases = body["values"]
        self.books.save_stage(stage)

    with patch.dict(APPLY, {"released": released}):
        yield


@contextmanager
def exact_sums_in_the_view() -> Iterator[None]:
    """The public view shows exact sums."""
    honest = history.released

    def released(fold: Fold, stage: Stage, figures: StageFigures) -> list[Released]:
        shown = []
        for one in honest(fold, stage, figures):
            sums = [fold.tally_of(one.stage, arm).total / fold.rules.grid for arm in one.arms]
            shown.append(replace(one, value=sums[0] - sum(sums[1:])))
        return shown

    with patch.object(history, "released", released):
        yield


@contextmanager
def released_early() -> Iterator[None]:
    """With a follow-up, a stage is released once all its outcomes are in."""
    honest = Fold.ready

    def ready(self: Fold, stage: Stage, at: int) -> bool:
        return honest(self, stage, at) or stage.resolved == stage.size

    with patch.object(Fold, "ready", ready):
        yield


@contextmanager
def released_too_early() -> Iterator[None]:
    """A stage is released when half of the follow-up is over."""

    def due_at(self: Fold, stage: Stage) -> int | None:
        follow_up = self.rules.follow_up
        return None if follow_up is None or stage.closed_at is None else stage.closed_at + follow_up // 2

    with patch.object(Fold, "due_at", due_at):
        yield


@contextmanager
def redrawn_when_told_again() -> Iterator[None]:
    """Under local privacy an outcome that is told again is randomised again, and the new answer counts."""
    honest = Desk.tell

    def tell(self: Desk, number: int, outcome: Fraction, actor: str) -> str:
        assignment = self.fold.expect_assignment(number)
        again = assignment.state == "told" and not self.fold.due(assignment, self.at)
        if again and self.fold.rules.design.law.kind == LOCAL:
            unit = self.fold.rules.design.outcomes.to_unit(outcome)
            value = self.door.encode(unit, self.deal(secrets.randbits(60), OUTCOME))
            self.emit("told", actor, {"assignment": number, "by": actor}, {"outcome": None, "value": value})
            return "already recorded"
        return honest(self, number, outcome, actor)

    with patch.object(Desk, "tell", tell):
        yield


@contextmanager
def withdrawn_left_in() -> Iterator[None]:
    """The outcome of somebody who withdrew stays in the sum."""
    honest = APPLY["withdrawn"]

    def withdrawn(self: Fold, at: int, body: Body, secret: Body) -> None:
        value = self.expect_assignment(body["assignment"]).value
        honest(self, at, body, secret if value is None else secret | {"value": value})

    with patch.dict(APPLY, {"withdrawn": withdrawn}):
        yield


@contextmanager
def coins_tossed_again() -> Iterator[None]:
    """A person's coins are fresh at every try, so that a commit that failed and its repetition are two answers."""

    def fresh(key: bytes, trial: str, assignment: int, purpose: str = OUTCOME) -> Coins:
        return PersonalCoins(secrets.token_bytes(32), trial, assignment, purpose)

    with patch.object(trials, "PersonalCoins", fresh):
        yield


@contextmanager
def arms_from_outcomes() -> Iterator[None]:
    """The next arm depends on an exact sum."""
    honest = Fold.recruiting

    def recruiting(self: Fold) -> FloatArray | None:
        weights = honest(self)
        totals = [self.tally_of(self.book.opened, arm).total for arm in range(len(self.rules.design.arms))]
        return np.roll(weights, 1) if weights is not None and sum(totals) > 2 * self.rules.grid else weights

    with patch.object(Fold, "recruiting", recruiting):
        yield


@contextmanager
def drawn_twice() -> Iterator[None]:
    """The noise is drawn twice for each release."""
    honest = Desk._release

    def release(self: Desk, stage: Stage) -> None:
        self.door.release(0)
        honest(self, stage)

    with patch.object(Desk, "_release", release):
        yield


@contextmanager
def carried_over() -> Iterator[None]:
    """An outcome counts in its stage, and again in the next."""
    honest = APPLY["opened"]

    def opened(self: Fold, at: int, body: Body, secret: Body) -> None:
        honest(self, at, body, secret)
        stage = self.expect_stage(body["stage"])
        for arm in stage.arms:
            before = [self.tally_of(number, arm).total for number in range(1, stage.number)]
            self.books.save_tally(Tally(stage.number, arm, total=sum(before)))

    with patch.dict(APPLY, {"opened": opened}):
        yield


@contextmanager
def enrols_by_reports() -> Iterator[None]:
    """Whether somebody may take part again depends on whether an outcome was reported."""
    honest = Fold.may_join_again

    def may_join_again(self: Fold, held: list[Assignment], at: int) -> bool:
        return honest(self, held, at) and held[-1].state == "told"

    with patch.object(Fold, "may_join_again", may_join_again):
        yield


@contextmanager
def voids_by_reports() -> Iterator[None]:
    """With a follow-up, whether an assignment can be voided depends on whether an outcome was reported."""
    honest = Fold.may_void

    def may_void(self: Fold, assignment: Assignment, at: int) -> str | None:
        return "told" if assignment.state == "told" else honest(self, assignment, at)

    with patch.object(Fold, "may_void", may_void):
        yield


@contextmanager
def voided_left_in() -> Iterator[None]:
    """A voided assignment goes on counting as what was told before."""
    honest = APPLY["voided"]

    def voided(self: Fold, at: int, body: Body, secret: Body) -> None:
        before = self.expect_assignment(body["assignment"]).value
        honest(self, at, body, secret)
        effects.resolve(self.books, self.expect_assignment(body["assignment"]), before or 0)

    with patch.dict(APPLY, {"voided": voided}):
        yield


@contextmanager
def answers_tell() -> Iterator[None]:
    """Whoever tells an outcome again is told whether another one was recorded."""
    honest = telling.tell_all

    def tell_all(desk: Desk, numbers: list[int], outcomes: list[Fraction], actor: str, guarded: bool) -> list[str]:
        return honest(desk, numbers, outcomes, actor, False)

    with patch.object(trials, "tell_all", tell_all):
        yield


@contextmanager
def times_of_reports() -> Iterator[None]:
    """A release is dated when somebody's request brought it, and not when it was due."""
    with patch.object(Fold, "public_time", lambda self, stage, at: at):
        yield


@contextmanager
def head_of_the_full_chain() -> Iterator[None]:
    """Telling an outcome is a public event."""
    with patch.object(events, "PUBLIC_KINDS", PUBLIC_KINDS | {"told"}):
        yield


SEVERAL: Final = {"epsilon": "2", "follow_up": "7d", "contributions": 2}
ONE_BY_ONE: Final = {"epsilon": "1", "algorithm": "adap-tt"}
LOCALLY: Final = {"privacy": "local", "epsilon": "1", "outcomes": "binary"}

DROPOUTS: Final = "tests/trial/test_dropouts.py::"
CORRECTIONS: Final = (f"{DROPOUTS}test_corrections_count_until_the_batch_closes[sqlite]",)
WITHDRAWALS: Final = (f"{DROPOUTS}test_a_withdrawn_outcome_leaves_its_open_batch[sqlite]",)
STAGES: Final = ("tests/trial/test_staged.py", "-k", "not postgres")

TRIALS: Final = (
    Planted("an outcome counted twice", counted_twice, defect.REPLAY, tests=CORRECTIONS),
    Planted("counted twice when corrected", counted_twice_when_corrected, defect.REPLAY, tests=CORRECTIONS),
    Planted("stage size from outcomes", size_from_outcomes, defect.REPLAY, {"epsilon": "1"}, STAGES),
    Planted("stop on the exact sum", stops_on_the_exact_sum, defect.REPLAY, {"epsilon": "1"}, STAGES),
    Planted(
        "exact sums in the public view",
        exact_sums_in_the_view,
        defect.REPLAY,
        tests=("tests/trial/test_public_view.py",),
    ),
    Planted(
        "a follow-up stage released early",
        released_early,
        defect.REPLAY,
        defect.FOLLOWED,
        ("tests/trial/test_follow_up.py::test_looking_makes_the_releases_that_are_due[sqlite]",),
    ),
    Planted(
        "local re-tell redrawn",
        redrawn_when_told_again,
        defect.REPLAY,
        LOCALLY,
        ("tests/trial/test_ask_tell.py", "-k", "local"),
    ),
    Planted("a withdrawn outcome left in the sum", withdrawn_left_in, defect.REPLAY, tests=WITHDRAWALS),
)

MORE_TRIALS: Final = (
    Planted("released after half of the follow-up", released_too_early, defect.REPLAY, defect.FOLLOWED),
    Planted("coins tossed again", coins_tossed_again, defect.REPLAY, LOCALLY),
    Planted("arms from outcomes", arms_from_outcomes, defect.REPLAY, ONE_BY_ONE),
    Planted("noise drawn twice", drawn_twice, defect.REPLAY),
    Planted("an outcome counted in two stages", carried_over, defect.REPLAY, ONE_BY_ONE),
    Planted("enrolment by reports", enrols_by_reports, defect.REPLAY, SEVERAL),
    Planted("voids by reports", voids_by_reports, defect.REPLAY, defect.FOLLOWED),
    Planted("a voided outcome left in the sum", voided_left_in, defect.REPLAY, defect.FOLLOWED),
    Planted("the answer tells what was recorded", answers_tell, defect.REPLAY),
    Planted("times of reports", times_of_reports, defect.REPLAY, defect.FOLLOWED),
    Planted("tells in the public chain", head_of_the_full_chain, defect.REPLAY),
)
