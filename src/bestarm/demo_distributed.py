"""`bestarm demo --distributed`: a trial whose outcomes no store ever sees, with two servers in processes of their own.

The first server runs the trial (who gets which arm, when a stage is full) and keeps one half of what each patient
sends; the second keeps the other half. This process is the patients' side: it alone knows outcomes.
"""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from bestarm.client import Client
from bestarm.distributed import SplitTrial, new_key
from bestarm.errors import InputError, OperationError
from bestarm.storage import open_store, schema
from bestarm.storage.sql import SQLStore

NAME: Final = "two servers"
DOSES: Final = {"5 mg": 0.3, "10 mg": 0.5, "20 mg": 0.8}
EPSILON: Final = "1"
DELTA: Final = "0.05"
MOST: Final = 5_000
MISSING: Final = 0.05
"""The share of patients of whom nothing is heard again."""
PATIENCE: Final = 60.0
"""Seconds until a server has to answer."""


@dataclass(frozen=True)
class TwoServers:
    """What came of it."""

    recommended: str | None
    reason: str
    participants: int
    stages: int
    outcome: int
    """What one patient had."""
    halves: tuple[list[int], list[int]]
    """And what the two servers got of it."""
    outcomes_stored: int
    promised: str
    why: str
    verified: bool
    stores: tuple[str, str]

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def run_two_servers(
    folder: str | Path, say: Callable[[str], None], seed: int = 7, doses: dict[str, float] | None = None
) -> TwoServers:
    """Start both servers, run a trial over them, and look into both stores."""
    chances = doses or DOSES
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    stores = (place / "first.db", place / "second.db")
    for store in stores:
        for leftover in place.glob(f"{store.name}*"):
            leftover.unlink()
    with ExitStack() as stack:
        one, other = (stack.enter_context(served(store, say)) for store in stores)
        design: dict[str, Any] = {"outcomes": "binary", "distributed": True, "max_participants": MOST}
        trial = one.create(name=NAME, arms=list(chances), epsilon=EPSILON, delta=DELTA, **design)
        split = SplitTrial(trial, (one.halves(NAME), other.halves(NAME)), new_key())
        known = treat(split, chances, random.Random(seed), say)
        verdict, status, ledger = trial.verdict, trial.status(), trial.ledger()
        if verdict is None:
            raise OperationError(f"The demonstration did not stop within {MOST} patients.")
        verified = trial.verify().ok
    halves = [stored(store) for store in stores]
    patient = next(iter(known))
    return TwoServers(
        recommended=verdict.arm,
        reason=verdict.reason,
        participants=len(known),
        stages=len({release["stage"] for release in status["releases"]}),
        outcome=known[patient],
        halves=(halves[0][patient], halves[1][patient]),
        outcomes_stored=sum(outcomes_in(store) for store in stores),
        promised=ledger["promised"],
        why=ledger["why"],
        verified=verified,
        stores=(str(stores[0]), str(stores[1])),
    )


def treat(
    split: SplitTrial, chances: dict[str, float], rng: random.Random, say: Callable[[str], None]
) -> dict[str, int]:
    """Enrol patients one by one and send what becomes of them; the outcomes that were sent, by assignment."""
    known: dict[str, int] = {}
    for number in range(1, MOST + 1):
        asked = split.ask(f"patient {number}")
        if asked.id is None or asked.arm is None:
            break
        if rng.random() < MISSING:
            split.trial.withdraw(asked.id, "moved away")
        else:
            known[asked.id] = int(rng.random() < chances[asked.arm])
            split.tell(asked, known[asked.id])
        gathered = split.gather()
        if gathered is not None and gathered.released:
            short = gathered.contributors < gathered.planned
            say(
                f"Stage {gathered.stage} released: both servers added up the halves of {gathered.contributors} of "
                f"{gathered.planned} patients" + (", and each drew half of the missing noise." if short else ".")
            )
    return known


@contextmanager
def served(store: Path, say: Callable[[str], None]) -> Iterator[Client]:
    """`bestarm serve` on a store in a process of its own, and a client of it."""
    try:
        from bestarm.service.access import Access
    except ModuleNotFoundError as missing:
        raise InputError(
            f"The service needs {missing.name}; install it with: pip install 'bestarm[service]'"
        ) from missing
    opened = open_store(str(store), create=True)
    token = Access(opened).issue("token", "admin", "the demonstration")[0]
    opened.close()
    port = free_port()
    command = [sys.executable, "-m", "bestarm.cli", "serve", "--store", str(store), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(url, process)
        say(f"A server on {store} answers at {url}.")
        with Client(url, token) as client:
            yield client
    finally:
        process.terminate()
        process.wait()


def wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    """Until the server answers."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(f"{url}/api/v1/health", timeout=5):
                return
        except OSError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                raise OperationError(f"The server at {url} did not start.") from error
            time.sleep(0.1)


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def stored(store: Path) -> dict[str, list[int]]:
    """The halves in a store, by assignment."""
    rows = _read(store, sa.select(schema.halves.c.assignment, schema.halves.c.half))
    return {assignment: json.loads(half) for assignment, half in rows}


def outcomes_in(store: Path) -> int:
    """How many outcomes a store's books hold in the clear."""
    return len(_read(store, sa.select(schema.assignments.c.number).where(schema.assignments.c.outcome.is_not(None))))


def _read(store: Path, query: sa.Select[Any]) -> Sequence[Any]:
    opened = open_store(str(store))
    assert isinstance(opened, SQLStore)
    with opened.transaction() as connection:
        found = connection.execute(query).all()
    opened.close()
    return found
