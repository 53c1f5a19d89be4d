"""The audit as people call it: for any design, with an answer that says what it did and what it did not."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from bestarm.cli import main
from bestarm.errors import InputError
from bestarm.policy.catalogue import CATALOGUE
from bestarm.privacy.noise import LiveNoise, SystemNoise
from bestarm.storage.memory import MemoryStore
from bestarm.trial import audit as auditing
from bestarm.trial.audit import audit, audited_design, people_for, short_rules, source_of
from bestarm.trial.audit.replay import replay
from bestarm.trial.audit.watched import WatchedDoor
from bestarm.trial.fold import Rules
from tests.audit.designs import SURELY, rules_of, said_of_noise
from tests.audit.planted import DEFECTS
from tests.privacy.sources import every_source, needs_opendp
from tests.trial.people import ChosenNoise


@pytest.fixture(autouse=True)
def fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two replays rather than twelve, and no false alarms: see SURELY."""
    monkeypatch.setattr(auditing, "MOST_REPLAYS", 2)
    monkeypatch.setattr(auditing, "CONFIDENCE", SURELY)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_policy_survives_replay(name: str) -> None:
    needs = {"difference": "0.3", "base": "0.5"} if name == "fixed" else {}
    rules = rules_of({"algorithm": name, "epsilon": "1"} | needs)
    for seed in (1, 2):
        assert replay(rules, 30, seed, None, seed == 2, 1.0, MemoryStore).found == []


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": "1", "algorithm": "adap-tt", "withdrawal": "replace"},
        {"epsilon": "3", "follow_up": "2d", "contributions": 3, "withdrawal": "impute:0.5"},
        {"privacy": "local", "epsilon": "3", "follow_up": "1d", "withdrawal": "impute:1"},
        {"privacy": "zcdp", "rho": "0.5", "follow_up": "12h"},
        {"privacy": "shuffle", "epsilon": "1", "privacy_delta": "0.001", "follow_up": "1d"},
        {"epsilon": "1", "low": "-5", "high": "5", "lower_is_better": True},
        {"epsilon": "2", "control": "placebo", "difference": "0.3", "delta_none": "0.2", "follow_up": "2d"},
        {"epsilon": "2", "control": "second", "difference": "-0.3", "outcomes": "binary"},
        {"epsilon": "2", "hard_end": True, "difference": "0.4", "withdrawal": "impute:0.5", "follow_up": "2d"},
    ],
    ids=str,
)
def test_designs_of_every_kind_survive_replay(given: dict[str, object]) -> None:
    rules = short_rules(rules_of(given))
    for seed in (3, 4):
        assert replay(rules, 30, seed, None, seed == 4, 1.0, MemoryStore).found == []


@every_source
@pytest.mark.parametrize("given", [{"epsilon": "0.000001"}, {"privacy": "zcdp", "rho": "0.000001"}], ids=str)
def test_the_smallest_budgets_are_examined_with_either_source(given: dict[str, object], source: LiveNoise) -> None:
    assert said_of_noise(rules_of(given), 2000, source) == []


def test_the_whole_audit() -> None:
    found = audit("uniform", 1, runs=16_000, seed=3)
    assert found.passed
    assert found.replay_violations == 0
    assert found.claimed_epsilon == 1
    assert 0 < (found.lower_bound_epsilon or 0) <= 1  # .6 is expected, and 0 lies more than eight deviations below
    assert found.replayed_releases > 5
    assert any("no follow-up" in sentence for sentence in found.not_looked_at)
    assert all(sentence.endswith(".") for sentence in found.not_looked_at)


def test_without_privacy_nothing_is_claimed() -> None:
    nothing = audit("ttucb", 1, runs=700)
    assert nothing.passed
    assert nothing.claimed_epsilon is None
    assert nothing.noise == ()
    assert "Noise: this design promises no privacy." in nothing.not_looked_at


def test_small_budgets_are_replayed_at_larger_ones_and_it_is_said() -> None:
    found = audit(epsilon="0.001", runs=700)
    assert found.passed
    assert found.replayed_releases > 0
    assert any("they were replayed at epsilon" in sentence for sentence in found.not_looked_at)
    assert any("Rounded floating-point" in sentence for sentence in found.not_looked_at)


def test_local_privacy_is_audited_where_its_coins_are() -> None:
    own = replace(CATALOGUE["evidence"], name="mine", privacy=("local",))
    found = audit(own, 1, runs=4000, noise=SystemNoise())
    assert found.passed
    assert found.privacy == "local"
    assert 0.6 < (found.lower_bound_epsilon or 0) <= 1  # .8 is expected, and .6 lies seven deviations below
    assert found.source == "bestarm keyed coins (HMAC-SHA256)"


def test_zcdp_is_measured_by_rho() -> None:
    found = audit(privacy="zcdp", rho="0.5", epsilon=None, runs=16_000)
    assert found.passed
    assert found.claimed_epsilon is found.lower_bound_epsilon is None
    assert 0 < (found.lower_bound_rho or 0) <= 0.5  # .12 is expected, and 0 lies more than ten deviations below


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["audit", "--algorithm", "uniform", "--runs", "700", "--noise", "system", "--epsilon", "2", "--json"]
    assert main([*command, "--outcomes", "binary", "--withdrawal", "impute:0.5"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["passed"] is True
    assert found["replay_violations"] == 0
    assert found["claimed_epsilon"] == 2
    assert found["lower_bound_epsilon"] <= 2
    assert found["design"]["withdrawal"] == "impute:0.5"
    assert found["source"] == SystemNoise.name
    assert found["not_looked_at"]


def test_the_command_fails_when_the_audit_does(capsys: pytest.CaptureFixture[str]) -> None:
    with DEFECTS["an outcome counted twice"].plant():
        assert main(["audit", "--algorithm", "uniform", "--runs", "700"]) == 1
    said = capsys.readouterr().out
    assert "FAILED" in said
    assert "A release is not of the sum of the outcomes that count." in said


@pytest.mark.parametrize(
    "wrong",
    [["--runs", "3"], ["--noise", "dice"], ["--privacy", "zcdp", "--algorithm", "adap-tt"], ["--epsilon", "0"]],
    ids=" ".join,
)
def test_bad_input_is_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", *wrong]) == 2
    assert capsys.readouterr().err.strip()


def test_a_hard_end_is_audited_as_it_ends() -> None:
    """Its trials end by themselves, so none is cut short; and where noise makes stages long a larger budget plans it
    anew."""
    rules = rules_of({"epsilon": "0.05", "hard_end": True, "difference": "0.3", "outcomes": "binary"})
    short = short_rules(rules)
    assert rules.design.hard_end is not None
    assert short.design.hard_end is not None
    assert short.design.hard_end.people < rules.design.hard_end.people
    assert people_for(short) >= short.design.hard_end.people, "a replay reaches the verdict"
    done = auditing.replays_of(short, 1, None)
    assert [bad for one in done for bad in one.found] == []


def test_an_algorithm_of_ones_own_is_replayed_at_a_larger_budget_too() -> None:
    """It is passed as an object, and cannot be found by its name."""
    own = replace(CATALOGUE["evidence"], name="mine")
    rules = Rules.of(audited_design(own, "0.001"), own)
    budget = short_rules(rules).design.privacy.budget
    assert budget is not None
    assert budget > Fraction("0.001")


def test_distributed_noise_is_refused_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="drawn on participants' machines"):
        audited_design("evidence", "1", distributed=True, outcomes="binary")
    assert main(["audit", "--noise", "distributed"]) == 2
    assert "drawn on participants' machines" in capsys.readouterr().err


@needs_opendp
def test_sources_by_name() -> None:
    assert type(source_of("opendp")).__name__ == "OpenDPNoise"
    assert type(source_of("system")) is SystemNoise
    assert source_of(None) is None
    with pytest.raises(InputError, match="one of: system, opendp"):
        source_of("dice")


def test_forced_releases_come_back_in_order() -> None:
    rules = rules_of({"epsilon": "1", "outcomes": "binary"})
    from bestarm.privacy.mechanism import mechanism_of

    door = WatchedDoor(mechanism_of(rules.design.privacy, rules.design.encoding, ChosenNoise([4])), [7, 8])
    assert [door.release(1), door.release(2), door.release(3)] == [7, 8, 0]
    assert [one.total for one in door.drawn] == [1, 2, 3]
    door.forced = None
    assert door.release(10) == 14
    assert door.encode(Fraction(1), None) == 1  # type: ignore[arg-type]  # a whole number needs no coin
