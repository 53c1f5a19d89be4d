"""The audit passes what keeps its promise, and catches each defect that was planted for it."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestarm.cli import main
from bestarm.errors import InputError
from bestarm.policy.catalogue import CATALOGUE
from bestarm.policy.record import FloatArray
from bestarm.privacy.leakage import epsilon_at_least
from bestarm.privacy.mechanism import Mechanism, mechanism_of
from bestarm.privacy.noise import SystemNoise
from bestarm.release.models import AS_IS, NO_PRIVACY, ON_GRID, Privacy
from bestarm.storage.contract import Assignment, Stage, Tally
from bestarm.trial.audit import (
    System,
    WatchedDoor,
    audit,
    audit_rules,
    black_box_release,
    black_box_trial,
    neighbours,
    replay,
)
from bestarm.trial.course import Opening
from bestarm.trial.desk import Desk
from bestarm.trial.fold import Fold, Owed
from tests.chance import FALSE_ALARM

EPSILON = Fraction(1)


@pytest.fixture(autouse=True)
def surely(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 99.9% an audit of what is right fails once in a thousand times; here it may once in ten million."""
    monkeypatch.setattr("bestarm.trial.audit.CONFIDENCE", 1 - FALSE_ALARM)


def door_for(rules: Any, epsilon: Fraction = EPSILON) -> Mechanism:
    promise = Privacy.of(rules.design.privacy.model, epsilon)
    return mechanism_of(promise, rules.design.encoding, SystemNoise())


@pytest.mark.parametrize("name", CATALOGUE)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), coins=st.integers(0, 2**32))
def test_every_policy_survives_replay(name: str, seed: int, coins: int) -> None:
    rules = audit_rules(name, EPSILON)
    assert replay(System(rules), *neighbours(rules, random.Random(seed)), door_for(rules), coins) == []


def caught(system: System) -> list[str]:
    """What replay finds over a few dozen pairs of tables."""
    rng = random.Random(1)
    door = door_for(system.rules)
    return [bad for n in range(60) for bad in replay(system, *neighbours(system.rules, rng), door, n)]


def exact_sum(fold: Fold, arm: int) -> int | None:
    """What nobody may look at: the exact sum so far in the newest stage that has this arm, in whole outcomes."""
    for number in range(fold.book.opened, 0, -1):
        tally = fold.books.tally(number, arm)
        if tally is not None:
            return tally.total // fold.rules.grid
    return None


class SizesFromOutcomes(Fold):
    """Plants: a batch's size depends on an exact sum."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        planned = self.course.opening

        def opening(arm: int) -> Opening:
            right = planned(arm)
            return replace(right, planned=right.planned + (exact_sum(self, arm) or 0) % 2)

        self.course.opening = opening  # type: ignore[method-assign]


class ArmsFromOutcomes(Fold):
    """Plants: the next arm depends on an exact sum."""

    def recruiting(self) -> FloatArray | None:
        weights = super().recruiting()
        if weights is not None and (exact_sum(self, 0) or 0) > 0:
            return np.roll(weights, 1)
        return weights


class TwoStages(Fold):
    """Plants: an outcome is counted in its stage and again in the next one of the arm."""

    def _opened(self, at: int, body: dict[str, Any], secret: dict[str, Any]) -> None:
        before = exact_sum(self, body["champion"])
        super()._opened(at, body, secret)
        if before is not None:
            self.books.save_tally(Tally(body["stage"], body["champion"], total=before * self.rules.grid))


class DecidesBeforeTheRelease(Fold):
    """Plants: the trial stops on an exact sum that has not been released."""

    def owed(self, at: int) -> Owed | None:
        if self.book.state != "stopped" and (exact_sum(self, 0) or 0) >= 2:
            return Owed("stopped", arm=0)
        return super().owed(at)


class CountsTwice(Fold):
    """Plants: an outcome weighs double in its sum."""

    def _resolve(self, assignment: Assignment, value: int) -> None:
        super()._resolve(assignment, 2 * value)


class DrawsAgain(Desk):
    """Plants: the release is drawn twice, so that whoever sees both can average."""

    def _release(self, stage: Stage) -> None:
        self.door.release(0)
        super()._release(stage)


@pytest.mark.parametrize(
    ("fold", "says"),
    [
        (SizesFromOutcomes, "stages depend"),
        (ArmsFromOutcomes, "arms depend"),
        (TwoStages, "entered 2 sums"),
        (DecidesBeforeTheRelease, "arms depend"),
        (CountsTwice, "more than one outcome"),
    ],
)
def test_replay_catches_what_goes_around_the_noise(
    monkeypatch: pytest.MonkeyPatch, fold: type[Fold], says: str
) -> None:
    if fold is TwoStages:
        monkeypatch.setitem(__import__("bestarm.trial.fold", fromlist=["APPLY"]).APPLY, "opened", fold._opened)
    found = caught(System(audit_rules("adap-tt", EPSILON), fold=fold))
    assert any(says in bad for bad in found)


def test_replay_catches_noise_that_is_drawn_again() -> None:
    found = caught(System(audit_rules("adap-tt", EPSILON), desk=DrawsAgain))
    assert any("Noise was drawn" in bad for bad in found)


@pytest.mark.parametrize("encoding", [AS_IS, ON_GRID])
def test_black_box_accepts_the_right_scale_and_refutes_half_of_it(encoding: str) -> None:
    right = mechanism_of(Privacy("pure", EPSILON), encoding, SystemNoise())
    half = mechanism_of(Privacy("pure", 2 * EPSILON), encoding, SystemNoise())
    bound = black_box_release(right, 20_000)
    assert 0.8 < bound <= EPSILON
    assert black_box_release(half, 20_000) > EPSILON


def test_black_box_refutes_half_the_scale_in_whole_trials() -> None:
    system = System(audit_rules("adap-tt", EPSILON))
    honest = black_box_trial(system, door_for(system.rules), 600, random.Random(1))
    cheating = black_box_trial(system, door_for(system.rules, 4 * EPSILON), 600, random.Random(1))
    assert honest <= EPSILON < cheating


def test_bounds_from_counts() -> None:
    assert epsilon_at_least(0, 50, 100) == 0
    assert epsilon_at_least(50, 50, 100) == 0
    assert 0 < epsilon_at_least(900, 300, 1000) < np.log(3) < epsilon_at_least(9000, 2800, 10000)


def test_the_whole_audit(capsys: pytest.CaptureFixture[str]) -> None:
    found = audit("uniform", 1, runs=2000, seed=3)
    assert found.passed
    assert found.replay_violations == 0
    assert found.claimed_epsilon == 1
    assert 0 < found.lower_bound_epsilon <= 1
    nothing = audit("ttucb", 1, runs=200)
    assert nothing.passed
    assert nothing.claimed_epsilon is None
    with pytest.raises(InputError):
        audit("uniform", 1, runs=3)
    assert main(["audit", "--algorithm", "uniform", "--runs", "500", "--json"]) == 0
    assert '"passed": true' in capsys.readouterr().out


def test_local_privacy_is_audited_where_its_coins_are() -> None:
    own = replace(CATALOGUE["evidence"], name="mine", privacy=("local",))
    found = audit(own, 1, runs=4000, noise=SystemNoise())
    assert found.passed
    assert found.privacy == "local"
    assert 0.6 < found.lower_bound_release <= 1  # .81 is expected, and .6 lies seven deviations below


def test_the_command_fails_when_the_audit_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = System(audit_rules("uniform", EPSILON), fold=CountsTwice)
    monkeypatch.setattr("bestarm.trial.audit.System", lambda rules: broken)
    assert main(["audit", "--algorithm", "uniform", "--runs", "200"]) == 1
    assert "FAILED" in capsys.readouterr().out


def test_forced_releases_come_back_in_order() -> None:
    door = WatchedDoor(mechanism_of(NO_PRIVACY, AS_IS, SystemNoise()), [7, 8])
    assert [door.release(1), door.release(2), door.release(3)] == [7, 8, 0]
    assert door.totals == [1, 2, 3]
