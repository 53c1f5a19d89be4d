"""What is plainly so goes past the desk's questions: the same events, the same tables, the same answers as by them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bestarm.errors import BestArmError
from bestarm.storage import open_store
from bestarm.storage.contract import Store
from bestarm.trial.desk import Desk
from bestarm.trial.identity import Participant
from bestarm.trial.trial import Trial
from tests.trial.people import DAY, ChosenNoise, Clock, arms_from

PLANS: dict[str, dict[str, Any]] = {
    "coin evidence": {},
    "a follow-up": {"follow_up": "3d", "withdrawal": "impute:0"},
    "several outcomes each": {"follow_up": "1d", "contributions": 2, "epsilon": "8"},
    "places filled again": {"algorithm": "adap-tt", "withdrawal": "replace"},
    "the arm that is due": {"algorithm": "adap-tt", "allocation": "fixed"},
    "so many at most": {"max_participants": 70},
    "groups": {"privacy": "shuffle", "privacy_delta": "0.0001", "group": 12, "max_participants": 12, "epsilon": "1"},
    "local": {"privacy": "local", "epsilon": "2"},
    "batches of one arm": {"algorithm": "adap-tt"},
    "distributed noise": {"distributed": True, "follow_up": "1d"},
    "anything between": {"outcomes": "unit"},
}
STEPS = 150


def nobody(*_: object) -> list[object]:
    """In the place of `joined`: the desk is asked."""
    return []


def nothing(*_: object) -> None:
    """In the place of `told`."""


def life(store: Store, plan: dict[str, Any], seed: str, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """All that is answered and all that is kept in a trial whose chances all follow from a seed."""
    rng, salts, clock = random.Random(seed), random.Random(f"{seed} salts"), Clock()
    arms_from(monkeypatch, seed)
    monkeypatch.setattr("bestarm.trial.trial.os.urandom", salts.randbytes)
    monkeypatch.setattr("bestarm.trial.trial.secrets.token_bytes", bytes)
    usual = {"arms": ["a", "b", "c"], "epsilon": "5", "delta": "0.2", "outcomes": "binary"}
    noise = ChosenNoise(rng.randrange(-2, 3) for _ in iter(int, 1))
    trial = Trial.create(store, name="t", noise=noise, clock=clock, **(usual | plan))
    ids, answers = ["999-dead"], list[object]()

    def outcome() -> object:
        return rng.choice([0, 1, 1, 1, "0.5", 2, "0.25"] if rng.random() < 0.2 else [0, 1])

    def somebody() -> str:
        return f"p{rng.randrange(40) if rng.random() < 0.2 else rng.randrange(4000)}"

    def some(kind: Callable[[], object]) -> list[Any]:
        return [kind() for _ in range(rng.choice([1, 1, 1, 2, 3, 25]))]

    def who() -> Any:
        return Participant(somebody()) if rng.random() < 0.1 else rng.choice(ids[-30:])

    def request() -> Any:
        if rng.random() < 0.5:
            return trial.asking(some(somebody), actor="one")
        return trial.telling(some(lambda: (who(), outcome())), rng.choice(["one", "two"]), rng.random() < 0.3)

    def something() -> object:
        what = rng.random()
        if what < 0.9:
            found = []
            for reply in trial.together([request() for _ in range(rng.choice([1, 1, 1, 1, 4]))]):
                try:
                    found.append(reply.get())
                except BestArmError as refusal:
                    found.append(str(refusal))
            ids.extend(one.id for answer in found for one in answer if getattr(one, "id", None))
            return found
        if what < 0.94:
            return trial.withdraw(rng.choice(ids), reason="moved")
        if what < 0.96:
            return trial.void(rng.choice(ids), somebody(), reason="twice")
        if what < 0.97:
            return trial.pause()
        return trial.resume()

    for _ in range(STEPS):
        try:
            answers.append(something())
        except BestArmError as refusal:
            answers.append(str(refusal))
        clock.move(rng.choice([1, 60, DAY / 4]))
    with store.reading("t") as reading:
        rows = [list(reading.assignments()), list(reading.stages()), list(reading.tallies())]
        kept = [reading.book, rows, reading.state(), [event.as_dict() for event in reading.events()]]
    assert trial.verify().ok
    return [answers, kept, trial.status(staff=True)]


@pytest.mark.parametrize("plan", PLANS)
def test_plainly_is_the_same_as_by_the_desk(plan: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is asked, and whoever it is asked together with."""
    for seed in range(2):
        lives = []
        for by_the_desk in (False, True):
            with monkeypatch.context() as patch:
                if by_the_desk:
                    patch.setattr("bestarm.trial.trial.joined", nobody)
                    for module in ("trial", "telling"):
                        patch.setattr(f"bestarm.trial.{module}.told", nothing)
                (folder := tmp_path / f"{seed} {by_the_desk}").mkdir()  # a key file lies beside its store
                store = open_store(folder / "t.db", create=True)
                lives.append(life(store, PLANS[plan], f"{plan} {seed}", patch))
                store.close()
        assert lives[0] == lives[1]


def test_most_of_a_crowd_is_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short way is taken: by those who come alone, and by those who come together."""
    at_the_desk: list[str] = []

    def noted(name: str) -> Callable[..., Any]:
        usual = getattr(Desk, name)

        def counting(*given: Any) -> Any:
            at_the_desk.append(name)
            return usual(*given)

        return counting

    for name in ("ask", "tell"):
        monkeypatch.setattr(Desk, name, noted(name))
    plan: dict[str, Any] = {"arms": ["a", "b"], "epsilon": "0.1", "delta": "0.1", "outcomes": "binary"}
    with Trial.create(tmp_path / "t.db", name="t", noise=ChosenNoise(), **plan) as trial:
        asked = trial.ask_many([f"p{n}" for n in range(9)]) + [trial.ask(f"q{n}") for n in range(9)]
        told = [trial.tell(str(one.id), 1) for one in asked[:9]]
        told += trial.tell_many([(str(one.id), 0) for one in asked[9:]])
        assert told == ["recorded"] * 18
        assert at_the_desk == ["ask"]  # the first stage opens for the first of them
        assert trial.verify().ok


def test_whoever_closes_a_stage_has_what_follows_happen_at_once(tmp_path: Path) -> None:
    """The last one of a stage is not plain, even where only the end of the trial follows."""
    plan = PLANS["groups"] | {"arms": ["a", "b"], "delta": "0.2", "outcomes": "binary"}
    with Trial.create(tmp_path / "t.db", name="t", **plan) as trial:
        for number in range(12):
            assert trial.verdict is None
            trial.ask(f"p{number}")
        assert trial.verdict is not None
