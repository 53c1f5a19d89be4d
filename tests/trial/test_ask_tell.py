"""Asking and telling: safe to repeat, clear about mistakes, and open to late and unordered answers."""

from __future__ import annotations

import hmac
from pathlib import Path

import pytest

from bestarm.errors import InputError, OperationError
from bestarm.privacy.noise import SeededNoise
from bestarm.sentences import cautions
from bestarm.storage import open_store
from bestarm.trial import identity
from bestarm.trial.places import trial_names
from bestarm.trial.trial import Trial
from tests.trial.people import ChosenNoise, enrol

ARMS = ["low", "middle", "high"]


def make(place: str | Path, **changes: object) -> Trial:
    plan: dict[str, object] = {"name": "dose", "arms": ARMS, "epsilon": "1", "delta": "0.1", "algorithm": "uniform"}
    return Trial.create(place, **(plan | changes))  # type: ignore[arg-type]


def test_the_same_subject_gets_the_same_assignment(place: str) -> None:
    trial = make(place)
    first = trial.ask("p-1")
    assert first == trial.ask("p-1")
    assert first.arm in ARMS
    assert not first.told
    assert trial.ask("p-2").id != first.id
    assert first.id is not None
    assert trial.tell(first.id, 1) == "recorded"
    again = Trial.open(place, name="dose").ask("p-1")
    assert (again.id, again.arm, again.told) == (first.id, first.arm, True)
    assert trial.view().assigned == [1, 1, 0]


def test_a_trial_says_what_should_be_thought_over(sqlite_place: str) -> None:
    trial = make(sqlite_place, epsilon="50")
    assert trial.warnings() == cautions(trial.design)
    assert "protects hardly anybody" in trial.warnings()[0]
    assert "There is no follow-up" in trial.warnings()[1]
    assert make(sqlite_place, name="usual", follow_up="7d").warnings() == []


def test_telling_twice_is_told_once(place: str) -> None:
    trial = make(place)
    asked = trial.ask("p-1")
    assert asked.id is not None
    assert trial.tell(asked.id, "0.50") == "recorded"
    assert trial.tell(asked.id, 0.5) == "already recorded"
    with pytest.raises(InputError, match="different outcome"):
        trial.tell(asked.id, 0.6)
    assert trial.verify().ok


@pytest.mark.parametrize("wrong", ["", "1", "1-0000", "0-abcd", "99-1a2b", "x", "1-" + "0" * 50])
def test_unknown_assignments(sqlite_place: str, wrong: str) -> None:
    trial = make(sqlite_place)
    trial.ask("p-1")
    with pytest.raises(InputError, match="no assignment"):
        trial.tell(wrong, 1)


@pytest.mark.parametrize("outcome", [-0.1, 1.1, "nan", "high", None, float("inf")])
def test_outcomes_out_of_range(sqlite_place: str, outcome: object) -> None:
    trial = make(sqlite_place)
    asked = trial.ask("p-1")
    assert asked.id is not None
    with pytest.raises(InputError):
        trial.tell(asked.id, outcome)
    assert trial.tell(asked.id, 1) == "recorded"


def test_bulk_calls_are_all_or_nothing(place: str) -> None:
    trial = make(place)
    asked = trial.ask_many([f"p-{i}" for i in range(6)] + ["p-0"])
    assert asked[6] == asked[0]
    assert len({a.id for a in asked}) == 6
    ids = [a.id for a in asked[:6] if a.id is not None]
    with pytest.raises(InputError):
        trial.tell_many([(ids[0], 1), (ids[1], 2)])
    assert len(trial.open_assignments()) == 6
    assert trial.tell_many([(who, 1) for who in ids]) == ["recorded"] * 6
    assert trial.open_assignments() == []
    with pytest.raises(InputError):
        trial.ask_many(["new", " "])
    assert sum(trial.view().assigned) == 6


def test_a_trial_stops_for_good(place: str) -> None:
    trial = make(place, algorithm="uniform", epsilon=10, outcomes="binary", noise=ChosenNoise())
    waiting = trial.ask("straggler")
    means = {"low": 0.0, "middle": 0.0, "high": 1.0}
    assert waiting.arm is not None
    assert waiting.id is not None
    pairs = trial.ask_many([f"early {n}" for n in range(1000)])
    trial.tell(waiting.id, int(means[waiting.arm]))
    late = pairs[-1].id
    trial.tell_many([(a.id, means[a.arm]) for a in pairs[:-1] if a.id and a.arm])
    for round_ in range(20):
        asked = trial.ask_many([f"more {round_} {n}" for n in range(2000)])
        if asked[0].stopped:
            break
        trial.tell_many([(a.id, means[a.arm]) for a in asked if a.id and a.arm])
        if late is not None and round_ == 0:
            trial.tell(late, 0)
    verdict = trial.verdict
    assert verdict is not None
    assert verdict.arm == "high"
    assert "high is ahead of every other arm by enough" in verdict.reason
    asked_now = trial.ask("too late")
    assert (asked_now.id, asked_now.arm, asked_now.verdict) == (None, None, verdict)
    with pytest.raises(InputError):
        trial.end("again")
    assert trial.verify().ok
    assert Trial.open(place, name="dose").verdict == verdict


def test_outcomes_after_the_end_are_kept_and_not_used(place: str) -> None:
    trial = make(place)
    first, second = trial.ask_many(["p-1", "p-2"])
    assert first.id is not None
    assert second.id is not None
    trial.tell(first.id, 1)
    before = trial.ledger()
    trial.end("a side effect was seen", actor="Dr Grey")
    assert trial.tell(second.id, 1) == "late"
    assert trial.tell(second.id, 1) == "late"
    assert trial.tell(first.id, 1) == "already recorded"
    with pytest.raises(InputError, match="different outcome"):
        trial.tell(second.id, 0)
    assert trial.ledger() == before
    assert trial.status()["verdict"]["reason"] == "a side effect was seen"
    assert trial.verify().ok


def test_outcomes_count_in_the_batch_of_their_assignment_whatever_their_order(place: str) -> None:
    trial = make(place, noise=ChosenNoise())
    asked = trial.ask_many([f"p-{n}" for n in range(12)])
    means = {"low": 0, "middle": 0.25, "high": 1}
    for one in reversed(asked):
        assert one.id is not None
        assert one.arm is not None
        trial.tell(one.id, means[one.arm])
    releases = trial.status()["releases"]
    assert [(r["arms"], r["sizes"]) for r in releases] == [([arm], [size]) for size in (1, 1, 2) for arm in ARMS]
    assert all(r["value"] == pytest.approx(means[r["arms"][0]] * r["sizes"][0]) for r in releases)
    assert trial.verify().ok


def test_a_batch_waits_for_those_that_filled_before_it(sqlite_place: str) -> None:
    trial = make(sqlite_place)
    first, second, third = (str(a.id) for a in trial.ask_many(["a", "b", "c"]))
    trial.tell(third, 1)
    trial.tell(second, 1)
    assert trial.status()["releases"] == []
    trial.tell(first, 1)
    assert [r["arms"][0] for r in trial.status()["releases"]] == ARMS


def test_waiting_for_outcomes_blocks_only_who_must_wait(sqlite_place: str) -> None:
    trial = make(sqlite_place, algorithm="dp-se", epsilon=100, delta=0.5)
    trial.ask("p-1")
    size = trial._rules.fresh_state().epoch_size[0]
    asked = trial.ask_many([f"p-{n}" for n in range(2, 3 * size + 1)])
    assert trial.status()["state"] == "waiting"
    with pytest.raises(OperationError, match="No arm recruits now"):
        trial.ask("one more")
    trial.tell_many([(str(trial.ask("p-1").id), 1), *((str(a.id), 1) for a in asked)])
    assert trial.status()["state"] == "recruiting"
    assert trial.ask("one more").arm == "low"


def test_trials_side_by_side(place: str) -> None:
    store = open_store(place, create=True)
    one = make(store, name="one")  # type: ignore[arg-type]
    two = make(store, name="two")  # type: ignore[arg-type]
    enrol(one, {"low": 0.5, "middle": 0.5, "high": 0.5}, 5)
    assert trial_names(store) == ["one", "two"]
    assert sum(two.view().assigned) == 0
    with pytest.raises(InputError, match="already"):
        make(store, name="one")  # type: ignore[arg-type]
    store.close()


def test_live_trials_refuse_seeded_noise(sqlite_place: str) -> None:
    with pytest.raises(InputError, match="seeded noise"):
        make(sqlite_place, noise=SeededNoise(1))


@pytest.mark.parametrize(
    "changes",
    [
        {"arms": ["only"]},
        {"arms": ["a", "a"]},
        {"arms": ["a", " "]},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": "nan"},
        {"epsilon": None},
        {"epsilon": "0.0000001"},
        {"delta": 0},
        {"delta": 1},
        {"delta": "none"},
        {"algorithm": "magic"},
        {"algorithm": "no.module:thing"},
        {"privacy": "secret"},
        {"privacy": "zcdp"},
        {"outcomes": "words"},
        {"low": 1, "high": 1},
        {"indifference": 0.1},
        {"indifference": 2},
        {"max_participants": 1},
        {"max_participants": 2.5},
        {"follow_up": "soon"},
        {"follow_up": "0d"},
        {"withdrawal": "forget"},
        {"withdrawal": "impute:2"},
        {"withdrawal": "replace", "follow_up": "1d"},
        {"contributions": 0},
        {"allocation": "whim"},
        {"name": " "},
    ],
    ids=str,
)
def test_designs_that_cannot_be(tmp_path: Path, changes: dict[str, object]) -> None:
    with pytest.raises(InputError):
        make(tmp_path / "trials.db", **changes)


def test_under_local_privacy_an_outcome_told_again_keeps_its_answer(sqlite_place: str) -> None:
    # Were answers drawn again, none of the 90 would change with a chance of .61^90, which is below 1e-18.
    trial = Trial.create(sqlite_place, name="t", arms=["a", "b"], epsilon=1, delta="0.1", privacy="local")
    people = [str(asked.id) for asked in trial.ask_many([f"person {n}" for n in range(30)])]

    def answers() -> list[int | None]:
        with open_store(sqlite_place).reading("t") as reading:
            return [assignment.value for assignment in reading.assignments()]

    trial.tell_many([(who, 1) for who in people])
    first = answers()
    for _ in range(3):
        assert trial.tell_many([(who, 1) for who in people]) == ["already recorded"] * 30
        assert answers() == first


@pytest.mark.parametrize("length", [0, 16, 32, 64, 65, 200])
def test_names_are_made_by_hmac(length: int) -> None:
    """RFC 2104, as the standard library has it, for keys below, at and above the hash's block."""
    key = bytes(range(length))
    for message in (b"", b"subject\0p-001", bytes(300)):
        assert identity.keyed_hash(key, message) == hmac.digest(key, message, "sha256").hex()
