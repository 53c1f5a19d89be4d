"""Several requests in one transaction: one commit, each all or nothing, every reply durable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bestarm.errors import BestArmError, InputError, OperationError
from bestarm.storage import open_store
from bestarm.storage.contract import Store
from bestarm.trial.desk import Desk
from bestarm.trial.transactions import Request
from bestarm.trial.trial import Trial
from tests.trial.people import ChosenNoise

PLAN: dict[str, Any] = {"arms": ["a", "b"], "epsilon": 1, "delta": 0.1, "algorithm": "uniform", "outcomes": "binary"}


@pytest.fixture
def store(place: str) -> Store:
    return open_store(place, create=True)


def begin(store: Store, **plan: Any) -> Trial:
    return Trial.create(store, name="t", noise=ChosenNoise(), **(PLAN | plan))


def kinds(store: Store) -> list[str]:
    with store.reading("t") as reading:
        return [event.kind for event in reading.events()]


def test_a_refused_request_leaves_no_trace_and_its_neighbours_stay(store: Store) -> None:
    trial = begin(store)
    known = trial.ask("zero")
    commits = 0
    usual = store.writing

    def counting(name: str, guess: bool = False) -> Any:
        nonlocal commits
        commits += 1
        return usual(name, guess)

    store.writing = counting  # type: ignore[method-assign]
    replies = trial.together(
        [
            trial.asking(["one"]),
            trial.telling([("999-dead", 1)]),
            trial.asking(["two", "one"]),
            Request(_refused),
            trial.telling([(known.id, 1)]),
            trial.asking(["one"]),
        ]
    )
    assert commits == 1
    one = replies[0].get()[0]
    with pytest.raises(InputError, match="no assignment of this id"):
        replies[1].get()
    two, again = replies[2].get()
    assert again == one == replies[5].get()[0]
    with pytest.raises(OperationError, match="refused"):
        replies[3].get()
    assert replies[4].get() == ["recorded"]
    assert kinds(store).count("assigned") == sum(trial.view().assigned) == 3
    assert Trial.open(store, name="t").ask("two") == two
    assert trial.verify().ok
    trial.close()


def _refused(desk: Desk) -> None:
    desk.ask("somebody", "me")
    raise OperationError("refused")


def test_a_commit_that_fails_belongs_to_all_and_keeps_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = begin(store)
    trial.ask("zero")
    before = kinds(store)
    begun: Any = type(store)._begun  # type: ignore[attr-defined]

    def full(self: Any, *how: Any) -> Any:
        pooled, link = begun(self, *how)
        patch.setattr(link, "statements", _Unwritable(link.statements))
        return pooled, link

    with monkeypatch.context() as patch:
        patch.setattr(type(store), "_begun", full)
        with pytest.raises(OperationError, match="could not be used"):
            trial.together([trial.asking(["one"]), trial.asking(["two"])])
    assert kinds(store) == before
    assert len({reply.get()[0].id for reply in trial.together([trial.asking(["one"]), trial.asking(["two"])])}) == 2
    assert trial.verify().ok
    trial.close()


class _Unwritable:
    # The statements of a store whose last write is refused by the database.
    def __init__(self, usual: Any) -> None:
        self._usual = usual

    def __getattr__(self, name: str) -> Any:
        refused = name in ("change_trial", "move_heads")
        return 'UPDATE "nowhere" SET x = 1' if refused else getattr(self._usual, name)


def test_what_nobody_foresaw_hits_only_the_one_it_comes_from(store: Store) -> None:
    trial = begin(store)

    def fault(desk: Desk) -> None:
        desk.ask("somebody", "me")
        raise ZeroDivisionError

    replies = trial.together([trial.asking(["one"]), Request(fault), trial.asking(["two"])])
    assert replies[0].get()[0].id != replies[2].get()[0].id
    with pytest.raises(ZeroDivisionError):
        replies[1].get()
    assert kinds(store).count("assigned") == 2
    assert trial.verify().ok
    trial.close()


def test_a_release_in_a_group_is_drawn_once_whoever_is_refused(store: Store) -> None:
    trial = begin(store)
    for turn in range(12):
        people = [f"{turn} {n}" for n in range(10)]
        asked = [reply.get()[0] for reply in trial.together([trial.asking([who]) for who in people])]
        told = [trial.telling([(one.id, turn % 2)]) for one in asked if one.id is not None]
        wrong = [trial.telling([("1-0000", 1)])] * len(told)
        replies = trial.together([request for pair in zip(told, wrong, strict=True) for request in pair])
        seen = trial.status()["releases"]
        assert [reply.get() for reply in replies[::2]] == [["recorded"]] * len(told)
        for reply in replies[1::2]:
            with pytest.raises(BestArmError):
                reply.get()
        assert trial.status()["releases"] == seen
    assert len(seen) > 3
    assert trial.verify().ok
    trial.close()


def test_books_in_memory_give_way_to_what_another_wrote(place: str) -> None:
    first = Trial.create(place, name="t", noise=ChosenNoise(), **PLAN)
    second = Trial.open(place, name="t", noise=ChosenNoise())
    people = [(trial, f"{turn} {n}") for turn in range(30) for n, trial in enumerate((first, second, second))]
    asked = [(trial, trial.ask(who)) for trial, who in people]
    for (_, one), (trial, _) in zip(asked, reversed(asked), strict=True):
        assert trial.tell(str(one.id), 1) == "recorded"
    assert len({one.id for _, one in asked}) == len(asked)
    assert first.status() == second.status()
    assert second.verify().ok
    first.close()
    second.close()


def test_a_forked_process_has_its_own_connections(tmp_path: Path) -> None:
    import multiprocessing

    trial = Trial.create(tmp_path / "t.db", name="t", noise=ChosenNoise(), **PLAN)
    trial.ask("before")
    context = multiprocessing.get_context("fork")
    child = context.Process(target=lambda: [trial.ask(f"child {n}") for n in range(5)])
    child.start()
    for n in range(5):
        trial.ask(f"parent {n}")
    child.join()
    assert child.exitcode == 0
    assert sum(trial.view().assigned) == 11
    assert trial.verify().ok
    trial.close()
