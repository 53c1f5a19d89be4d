"""Shuffled privacy in a live trial: answers flipped when they come, groups large enough, and nothing released below."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import bestarm as ba
from bestarm.policy.stages import FEW_ENOUGH, least_people, makes_groups, new_stages
from bestarm.privacy.coins import PersonalCoins
from bestarm.privacy.mechanism import mechanism_of
from bestarm.privacy.noise import SystemNoise
from bestarm.storage.memory import MemoryStore
from bestarm.trial.audit import audit, audited_design
from bestarm.trial.audit.noise import look_at_answers, look_at_promise
from bestarm.trial.audit.replay import replay
from bestarm.trial.fold import Fold
from bestarm.trial.trial import Trial
from bestarm.trial.verify_public import verify_public
from tests.audit.designs import rules_of

GROUP = 12
SHUFFLED: dict[str, object] = {"privacy": "shuffle", "privacy_delta": "0.0001"}
PLAN: dict[str, Any] = {
    "name": "t",
    "arms": ["a", "b"],
    "epsilon": "1",
    "delta": "0.1",
    "privacy": "shuffle",
    "privacy_delta": "0.0001",
    "group": GROUP,
    "outcomes": "binary",
}


def enrol(trial: Trial, people: int) -> None:
    for number in range(people):
        asked = trial.ask(f"p{number}")
        if asked.id is None:
            return
        trial.tell(asked.id, 1 if asked.arm == "a" else 0)


def test_a_trial_releases_sums_of_groups_and_says_what_it_promises(tmp_path: Path) -> None:
    with Trial.create(tmp_path / "t.db", **PLAN) as trial:
        enrol(trial, 400)
        status, ledger = trial.status(), trial.ledger()
        assert status["releases"]
        assert all(size >= GROUP for release in status["releases"] for size in release["sizes"])
        assert ledger["promised"] == "(1, 0.0001)-differential privacy, shuffled"
        assert "flipped with probability" in ledger["why"]
        with pytest.raises(ba.InputError, match="not kept"):
            trial.correct(subject="p1", outcome=0, reason="slip")
        assert trial.verify().ok
        trial.export_public(tmp_path / "public")
    assert verify_public(tmp_path / "public").ok


def test_a_stage_below_its_group_is_never_released(tmp_path: Path) -> None:
    """The largest number of participants ends the first stage before both arms have a group."""
    with Trial.create(tmp_path / "t.db", **PLAN, max_participants=GROUP) as trial:
        enrol(trial, GROUP)
        assert trial.status()["releases"] == []
        verdict = trial.verdict
        assert verdict is not None
        assert verdict.arm is None
        assert f"fewer than {GROUP} people" in verdict.reason
        assert trial.verify().ok
        trial.export_public(tmp_path / "public")
    assert verify_public(tmp_path / "public").ok


def test_a_voided_entry_counts_as_a_colluder(tmp_path: Path) -> None:
    """It is a known 0 in its sum and hides nobody; so only as many can be voided as the design allows for."""
    for colluders in (0, 1):
        with Trial.create(tmp_path / f"{colluders}.db", **PLAN, colluders=colluders) as trial:
            ids = {str(trial.ask(f"p{number}").arm): trial.ask(f"p{number}").id for number in range(12)}
            voided = ids["a"] or ""
            if colluders == 0:
                with pytest.raises(ba.InputError, match="at most 0 of a group"):
                    trial.void(voided, "p0", "entered twice")
            else:
                assert trial.void(voided, "p0", "entered twice") == "voided"


def test_the_simulator_keeps_groups_and_finds_the_best_arm() -> None:
    run: dict[str, Any] = {"privacy": "shuffle", "privacy_delta": "0.000001", "group": 2000}
    results = ba.simulate(
        "fixed", means=[0.9, 0.5], difference=0.4, epsilon=1, delta=0.1, runs=60, max_samples=10**6, **run
    )
    assert (results.per_arm == 2000).all(), "the fixed design would need fewer, but a group is a group"
    assert results.wrong.sum() <= 12
    assert results.scenario["group"] == 2000


def test_stages_are_long_enough_for_every_arm_but_for_a_known_chance() -> None:
    from scipy.stats import binom

    openings = new_stages(3).openings
    openings.weights[0] = (0.5, 0.375, 0.125)
    for group in (2, 30, 1000):
        people = least_people(openings, 0, group)
        short = sum(float(binom.cdf(group - 1, people, weight)) for weight in openings.weights[0])
        assert 1e-25 < short <= FEW_ENOUGH
    assert least_people(openings, 0, 1) == 1
    openings.weights[0], openings.difference[0] = (0.5, 0.5, 0.0), 1
    assert least_people(openings, 0, 30) == 30


def test_whether_a_stage_makes_groups_is_seen_from_its_sizes() -> None:
    stages = new_stages(3)
    stages.openings.weights[0] = (0.5, 0.5, 0.0)
    stages.size[0] = (30, 29, 0)
    assert makes_groups(stages, 0, 29)
    assert not makes_groups(stages, 0, 30)
    stages.openings.difference[0] = 1
    assert makes_groups(stages, 0, 59)
    assert not makes_groups(stages, 0, 60)


def test_the_audit_looks_at_flips_and_at_the_promise() -> None:
    found = audit("fixed", "1", runs=2000, difference="0.3", base="0.5", privacy="shuffle", privacy_delta="0.0001")
    assert found.passed
    assert [look.what for look in found.noise] == ["People's answers", "The promise"]
    assert found.noise[1].says.startswith("A sum over 300 people is (1, ")


def test_the_audit_sees_answers_that_are_flipped_too_seldom() -> None:
    rules = rules_of({"algorithm": "fixed", "difference": "0.3", "base": "0.5", "epsilon": "1"} | SHUFFLED)
    shuffling = rules.design.privacy.shuffling
    assert shuffling is not None
    seldom = replace(shuffling, flip=shuffling.flip / 2)
    mechanism = mechanism_of(replace(rules.design.privacy, shuffling=seldom), rules.design.encoding, SystemNoise())
    truth = 1.0 - float(shuffling.flip)
    (looked,) = look_at_answers(mechanism, partial(PersonalCoins, b"k" * 32, "t"), truth, 4000, 0.999999)
    assert not looked.passed


def test_replays_see_a_sum_over_fewer_people_than_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a trial that closes stages when it likes, and releases whatever has closed."""
    rules = rules_of({"epsilon": "3", "max_participants": 8, "group": 12, "follow_up": "1d"} | SHUFFLED)
    assert replay(rules, 8, 1, None, False, 1.0, MemoryStore).found == []
    monkeypatch.setattr(Fold, "may_release", lambda fold, stage: True)
    found = replay(rules, 8, 1, None, False, 1.0, MemoryStore).found
    assert "A sum over fewer people than a group was released." in found


def test_the_audit_sees_a_promise_that_its_flips_do_not_keep() -> None:
    design = audited_design("fixed", "1", difference="0.3", base="0.5", privacy="shuffle", privacy_delta="0.0001")
    assert design.privacy.shuffling is not None
    less = replace(design.privacy.shuffling, flip=design.privacy.shuffling.flip * Fraction(4, 5))
    assert not look_at_promise(replace(design, privacy=replace(design.privacy, shuffling=less))).passed
    assert look_at_promise(design).passed
