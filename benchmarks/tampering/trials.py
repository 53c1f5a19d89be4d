"""The trials that are tampered with, in one SQLite file: one of everything."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any, Final

from tests.trial.people import DAY, Clock, enrol

from bestarm.distributed import Halves, SplitTrial
from bestarm.storage import open_store
from bestarm.trial.trial import Trial

MEANS: Final = {"low": 0.2, "=mid": 0.5, "high": 0.9}


def batched(store: Path) -> None:
    """A trial by batches: a pause, a withdrawal, a correction, an outcome told again, codes that were wrong."""
    plan: dict[str, Any] = {"arms": list(MEANS), "epsilon": 1, "delta": "0.1", "algorithm": "adap-tt"}
    with Trial.create(store, name="batched", outcomes="binary", **plan) as trial:
        enrol(trial, MEANS, 24)
        trial.pause("stock")
        trial.resume()
        asked = [str(one.id) for one in trial.ask_many(["p", "q", "r"])]
        trial.withdraw(asked[0], "moved away")
        trial.tell(asked[1], 1)
        trial.correct(asked[1], 0, "slip")
        trial.tell(asked[1], 1, actor="ward 2", guarded=True)
        trial.relabel(asked[2], "s", "misread")
        trial.void(str(trial.ask("t").id), "s", "entered twice")


def visits(store: Path) -> None:
    """A trial with a follow-up, outcomes on a scale, late ones, withdrawals and several contributions."""
    clock = Clock()
    plan: dict[str, Any] = {"arms": list(MEANS), "epsilon": 1, "delta": "0.1", "algorithm": "uniform"}
    plan |= {"follow_up": "7d", "contributions": 2, "low": 0, "high": 100}
    with Trial.create(store, name="visits", clock=clock, **plan) as trial:
        for person in range(16):
            asked = str(trial.ask(f"p-{person % 11}").id)
            if person == 6:
                trial.withdraw(asked)
            elif person % 4:
                trial.tell(asked, 12.5 * (person % 8))
            clock.move(1.2 * DAY)
        clock.move(9 * DAY)
        trial.advance()
        trial.tell(asked, 99, actor="ward 2", guarded=True)
        trial.tell(str(trial.ask("p-7").id), 50, actor="ward 2", guarded=True)


def replaced(store: Path) -> None:
    """A trial without a follow-up, in which people who withdraw are replaced."""
    plan: dict[str, Any] = {"arms": list(MEANS), "epsilon": 1, "delta": "0.1", "algorithm": "uniform"}
    with Trial.create(store, name="replaced", withdrawal="replace", allocation="fixed", **plan) as trial:
        enrol(trial, MEANS, 5)
        trial.withdraw(str(trial.ask("p").id))
        enrol(trial, MEANS, 4, first=100)


def coins(store: Path) -> None:
    """A trial of the default algorithm."""
    plan: dict[str, Any] = {"arms": list(MEANS), "epsilon": 1, "delta": "0.1"}
    with Trial.create(store, name="coins", outcomes="binary", **plan) as trial:
        enrol(trial, MEANS, 40)


def ended(store: Path) -> None:
    """A trial that a person ended, under local privacy."""
    plan: dict[str, Any] = {"arms": list(MEANS), "epsilon": 1, "delta": "0.1", "algorithm": "fixed"}
    plan |= {"difference": "0.2", "base": "0.5"}
    with Trial.create(store, name="ended", privacy="local", outcomes="binary", **plan) as trial:
        enrol(trial, MEANS, 9)
        trial.end("harm")


def decided(store: Path) -> None:
    """A trial that its evidence stopped."""
    plan: dict[str, Any] = {"arms": list(MEANS), "epsilon": 10, "delta": "0.4", "algorithm": "fixed"}
    plan |= {"difference": "0.5", "base": "0.3"}
    with Trial.create(store, name="decided", outcomes="binary", **plan) as trial:
        enrol(trial, MEANS, 3000)
        assert trial.verdict is not None


def compared(store: Path) -> None:
    """A trial of two arms against control."""
    plan: dict[str, Any] = {"arms": list(MEANS), "epsilon": 3, "delta": "0.1", "control": "low", "difference": "0.3"}
    with Trial.create(store, name="compared", outcomes="binary", **plan) as trial:
        enrol(trial, MEANS, 60)


def bounded(store: Path) -> None:
    """A trial with a hard end, within a band for the rates, that came to it."""
    plan: dict[str, Any] = {"arms": ["low", "high"], "epsilon": 2, "delta": "0.2", "difference": "0.2"}
    plan |= {"hard_end": True, "rates": ["0.05", "0.95"]}
    with Trial.create(store, name="bounded", outcomes="binary", **plan) as trial:
        enrol(trial, MEANS, 3000)
        assert trial.verdict is not None


def split(store: Path) -> None:
    """A trial with distributed noise; the two servers have stores of their own."""
    plan: dict[str, Any] = {"arms": ["low", "high"], "epsilon": 2, "delta": "0.2", "distributed": True}
    with Trial.create(store, name="split", outcomes="binary", **plan) as trial:
        places = [store.with_name(f"halves-{number}.db") for number in (1, 2)]
        one, other = (Halves(open_store(str(place), create=True), "split") for place in places)
        shared = SplitTrial(trial, (one, other), bytes(range(32)))
        for person in range(60):
            asked = shared.ask(f"p-{person}")
            if asked.id is not None and asked.arm is not None:
                shared.tell(asked, int(asked.arm == "high" or person % 3 == 0))
                shared.gather()
        assert trial.view().releases


MADE: Final = (batched, visits, replaced, coins, ended, decided, compared, bounded, split)


def made(folder: Path) -> Path:
    """A store with all these trials; its file."""
    store = folder / "trials.db"
    for make in MADE:
        make(store)
    with contextlib.closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return store
