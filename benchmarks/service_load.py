"""The service under load: clients ask and tell while viewers watch; prints latencies and rates, then checks the log.

    python -m benchmarks.service_load [--seconds 60] [--clients 50] [--viewers 20] [--store sqlite|postgres|both]
                                      [--workers 1] [--outage 0]

Everything that was acknowledged has to be in the log, once; `verify` has to find nothing wrong; and no request may
fail. Asking while every arm waits for outcomes is answered with 409 and is no failure: it is counted, and tried again.
Pairs of ask and tell a second stand beside what one client could do if it did nothing but commit twice for each pair,
400 bytes a commit, measured before and after in the same run. With `--outage S` the database (PostgreSQL) is taken away
for S seconds in the middle: what is then answered with 503 is counted, and tried again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.service.calling import Caller
from tests.service.running import Server
from tests.storage.database import Database

from benchmarks.raw import postgres_commits, sqlite_commits
from bestarm.client import Client
from bestarm.trial.trial import Trial

NAME = "load"
PATH = f"/api/v1/trials/{NAME}"
WAITING, AWAY = 409, 503
LOOKS_EVERY = 3.0
PATIENCE = 60.0
MARK = re.compile(rb"/live\?mark=(\w+)")


@dataclass
class Counts:
    """What was seen."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)
    waited: int = 0
    refused: int = 0
    assigned: dict[str, str] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)
    pairs: int = 0
    """Acknowledged before the time was over."""


class Counting(Caller):
    """A caller that tells how long it waited, until a time."""

    def __init__(self, port: int, end: float, counts: Counts) -> None:
        super().__init__(port)
        self.end, self.counts = end, counts

    def lost(self) -> None:
        self.counts.failures["connection lost"] += 1


class Clinic(Counting):
    """Asks and tells, one participant after the other."""

    def __init__(self, number: int, token: str, port: int, end: float, counts: Counts) -> None:
        super().__init__(port, end, counts)
        self._number, self._person, self._rng = number, 0, random.Random(number)
        self._outcome, self._assignment, self._token = 0, "", token

    def _post(self, what: str, body: dict[str, Any]) -> None:
        self.post(what, f"{PATH}/{what}", self._token, json.dumps(body).encode())

    def begin(self) -> None:
        if time.monotonic() < self.end:
            self._post("ask", {"subject": f"{self._number}/{self._person}"})
        else:
            self.finish()

    def answered(self, kind: str, status: int, body: bytes, seconds: float) -> None:
        self.counts.seconds.setdefault(kind, []).append(seconds)
        if status != 200:
            self.counts.waited += status == WAITING
            self.counts.refused += status == AWAY
            if status not in (WAITING, AWAY):
                self.counts.failures[f"{kind} {status}"] += 1
            # Whoever asked in vain may stop at the end; an outcome is told until it is taken.
            if time.monotonic() > self.end + (0 if kind == "ask" else PATIENCE):
                self.finish()
            else:
                self.again()
            return
        if kind == "ask":
            self._assignment = json.loads(body)["assignment"]
            self.counts.assigned[f"{self._number}/{self._person}"] = self._assignment
            self._outcome = int(self._rng.random() < 0.5)
            self._post("tell", {"assignment": self._assignment, "outcome": self._outcome})
            return
        self.counts.told[self._assignment] = self._outcome
        self.counts.pairs += time.monotonic() < self.end
        self._person += 1
        self.begin()


class Viewer(Counting):
    """Looks at the trial's public page as a browser does: the whole of it, then every three seconds what changed."""

    def __init__(self, link: str, port: int, end: float, counts: Counts) -> None:
        super().__init__(port, end, counts)
        self._link, self._mark = link, ""

    def begin(self) -> None:
        if time.monotonic() > self.end:
            self.finish()
            return
        path = f"/view/{self._link}/live?mark={self._mark}" if self._mark else f"/view/{self._link}"
        self.get("view", path)

    def answered(self, kind: str, status: int, body: bytes, seconds: float) -> None:
        self.counts.seconds.setdefault(kind, []).append(seconds)
        if status not in (200, 204, AWAY):
            self.counts.failures[f"view {status}"] += 1
        self.counts.refused += status == AWAY
        found = MARK.search(body)
        self._mark = found[1].decode() if found else self._mark
        self.rest(LOOKS_EVERY)


async def crowd(callers: list[Callable[[], Caller]], outage: Callable[[], None] | None) -> None:
    """Everybody at once, until all are done."""
    made = [make() for make in callers]
    for caller in made:
        caller.connect()
    if outage is not None:
        await asyncio.to_thread(outage)
    await asyncio.gather(*(caller.over for caller in made))


def run(
    name: str, store: str, folder: Path, given: argparse.Namespace, raw: Callable[[], float], database: Database | None
) -> bool:
    """Load one server; whether all went well."""
    before = raw()
    spent = processor()
    server = Server(store, folder / f"{name}.log", options=("--workers", str(given.workers)))
    server.start()
    counts = Counts()
    try:
        with Client(server.url, token=server.token("admin")) as client:
            client.create(name=NAME, arms=["a", "b", "c"], epsilon="1", delta="0.000000001", outcomes="binary")
        operator, link, port = server.token("operator"), server.view_link(NAME), server.port
        end = time.monotonic() + given.seconds

        def out_for_a_while() -> None:
            time.sleep(given.seconds / 4)
            assert database is not None
            database.stop()
            time.sleep(given.outage)
            database.start()

        callers: list[Callable[[], Caller]] = [
            *(lambda n=n: Clinic(n, operator, port, end, counts) for n in range(given.clients)),
            *(lambda: Viewer(link, port, end, counts) for _ in range(given.viewers)),
        ]
        asyncio.run(crowd(callers, out_for_a_while if given.outage else None))
    finally:
        server.stop()
    spent = tuple(after - earlier for after, earlier in zip(processor(), spent, strict=True))
    return report(name, store, counts, given, (before, raw()), spent)


def processor() -> tuple[float, ...]:
    """Seconds of the processor that servers that ended took, and that we took ourselves."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF))
    return tuple(used.ru_utime + used.ru_stime for used in both)


def report(
    name: str,
    store: str,
    counts: Counts,
    given: argparse.Namespace,
    raw: tuple[float, float],
    spent: tuple[float, ...],
) -> bool:
    """Print what was measured and check it against the log."""
    alone = sum(raw) / 2 / 2
    rate = counts.pairs / given.seconds
    print(f"\n{name}: {given.seconds:g} s")
    print(
        f"  {rate:,.0f} pairs a second; one client that only commits, twice a pair: {alone:,.0f} "
        f"({raw[0] / 2:,.0f} before, {raw[1] / 2:,.0f} after); ratio {rate / alone:.2f}"
    )
    server, crowd_itself = (1000 * seconds / max(1, counts.pairs) for seconds in spent)
    print(
        f"  the processor's time a pair: {server:.2f} ms of the server (start and viewers included), "
        f"{crowd_itself:.2f} ms of the crowd, which shares the machine; load of the machine {os.getloadavg()[0]:.1f}"
    )
    for kind in ("ask", "tell", "view"):
        times = sorted(counts.seconds.get(kind, ()))
        if times:
            p50, p99 = (1000 * times[int(q * (len(times) - 1))] for q in (0.5, 0.99))
            print(f"  {kind:5} {len(times):7} requests   median {p50:8.1f} ms   99th percentile {p99:8.1f} ms")
    failures = counts.failures
    print(
        f"  {counts.waited} times nobody could be enrolled; {counts.refused} times the store was away; "
        f"failures: {dict(failures) or 'none'}"
    )
    with Trial.open(store, name=NAME) as trial:
        verified = trial.verify()
        before = verified.events
        kept = [answer.id for answer in trial.ask_many(counts.assigned)] == list(counts.assigned.values())
        again = Counter(trial.tell_many(counts.told.items()))
        same = set(again) <= {"already recorded", "late"} and trial.verify().events == before
    print(
        f"  log: {before} events, {'fits' if verified.ok else verified.problem}; {len(counts.assigned)} assignments "
        f"and {len(counts.told)} outcomes acknowledged, {'all there, once' if kept and same else 'NOT ALL THERE'}",
        flush=True,
    )
    return not failures and verified.ok and kept and same


def main() -> int:
    """Run the benchmark; 1 if anything failed or was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--viewers", type=int, default=20)
    parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--workers", type=int, default=1, help="several need PostgreSQL")
    parser.add_argument("--outage", type=float, default=0.0, help="seconds without a database (PostgreSQL)")
    given = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(0o755)  # the database may run as another user
        print(f"{given.clients} clients ask and tell, {given.viewers} viewers watch the public page")
        if given.store != "postgres" and given.workers == 1 and not given.outage:
            raw = lambda: sqlite_commits(folder)  # noqa: E731
            good &= run("SQLite", str(folder / "trials.db"), folder, given, raw, None)
        if given.store != "sqlite":
            database = Database(folder / "postgres")
            try:
                raw = lambda: postgres_commits(database.url)  # noqa: E731
                good &= run("PostgreSQL", database.url, folder, given, raw, database)
            finally:
                database.close()
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
