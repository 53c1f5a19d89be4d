"""Servers that are killed again and again while clerks ask and tell through them. Run as a program:

    python -m tests.service.torture STORE KILLS SERVERS CLERKS SEED RELEASES

A warm parent forks servers on one store, each at its own port, and kills them at random moments, in their start, in
their work and in their commits, which requests share. Clerks in another process ask, tell, and look at the releases; a
request that got no answer is made again, at whichever server. There are many trials, young ones, so that stages are
released all the while. At the end everything that was acknowledged is compared with the logs.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import select
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from fastapi import FastAPI

from bestarm.service.access import Access
from bestarm.service.server import Setup, configured
from bestarm.storage import open_store
from bestarm.trial.trial import Trial
from tests.service.calling import Caller
from tests.service.running import free_port

ARMS = ["a", "b", "c", "d"]
PEOPLE = 60
"""Outcomes after which the clerks turn to the next trial."""
LIFE = 0.8
"""Seconds that a server lives on average once it listens."""
ABORTED, LOOKS = 0.2, 20
"""The share of servers that are killed before they listen, and how often one is looked at until it does, roughly."""


@dataclass
class Heard:
    """Everything that was acknowledged."""

    trials: int
    assignments: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    outcomes: dict[str, dict[str, int]] = field(default_factory=dict)
    releases: dict[str, dict[str, float]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    lost: int = 0
    """Requests over which a connection was lost, and which were made again."""
    told_again: int = 0
    told: int = 0

    def trial(self) -> str:
        """The trial whose turn it is; they come round again when all had theirs."""
        return f"t{self.told // PEOPLE % self.trials}"


class Torn(Caller):
    """A caller that goes to another server when its own is gone."""

    def __init__(self, ports: list[int], token: str, heard: Heard, over: threading.Event) -> None:
        super().__init__(ports[0])
        self._ports, self._token, self.heard, self._end = ports, token, heard, over

    def connect(self) -> None:
        self.port = random.choice(self._ports)
        super().connect()

    def lost(self) -> None:
        self.heard.lost += 1


class Clerk(Torn):
    """Asks and tells for its own people; every fifth outcome is told twice on purpose."""

    def __init__(self, number: int, *rest: Any) -> None:
        super().__init__(*rest)
        self._number, self._person = number, 0
        self._trial, self._subject, self._assignment, self._outcome = "", "", "", 0

    def begin(self) -> None:
        if self._end.is_set():
            self.finish()
            return
        self._trial, self._subject = self.heard.trial(), f"clerk {self._number} person {self._person}"
        self._post("ask", {"subject": self._subject})

    def _post(self, what: str, body: dict[str, Any]) -> None:
        path = "tell" if what == "tell again" else what
        self.post(what, f"/api/v1/trials/{self._trial}/{path}", self._token, json.dumps(body).encode())

    def answered(self, kind: str, status: int, body: bytes, seconds: float) -> None:
        if status in (409, 503):  # every arm waits for outcomes, or the store for its turn
            self.again()
            return
        said = json.loads(body)
        if status != 200:
            self.heard.problems.append(f"{kind} {status} {said.get('detail')}")
            self._person += 1
            self.begin()
            return
        told = self.heard.outcomes.setdefault(self._trial, {})
        if kind == "ask":
            given = (said["assignment"], said["arm"])
            if self.heard.assignments.setdefault(self._trial, {}).setdefault(self._subject, given) != given:
                self.heard.problems.append(f"{self._subject} was given two assignments")
            self._assignment = given[0]
            self._outcome = int(random.Random(f"{self._trial} {self._subject}").random() < 0.5)
        elif kind == "tell":
            told[self._assignment] = self._outcome
            self.heard.told += 1
            if self._person % 5 != 0:
                self._person += 1
                self.begin()
                return
        else:
            self.heard.told_again += 1
            if said["status"] == "recorded":
                self.heard.problems.append(f"{self._assignment} was forgotten")
            self._person += 1
            self.begin()
            return
        what = "tell" if kind == "ask" else "tell again"
        self._post(what, {"assignment": self._assignment, "outcome": self._outcome})


class Watcher(Torn):
    """Looks at the releases, and again."""

    def begin(self) -> None:
        if self._end.is_set():
            self.finish()
            return
        trial = self.heard.trial()
        self.get(trial, f"/api/v1/trials/{trial}/status", self._token)

    def answered(self, kind: str, status: int, body: bytes, seconds: float) -> None:
        if status == 200:
            note(self.heard, kind, json.loads(body)["releases"])
        self.rest(0.05)


def note(heard: Heard, trial: str, releases: list[dict[str, Any]]) -> None:
    """Remember what was released; it must never be anything else."""
    seen = heard.releases.setdefault(trial, {})
    for release in releases:
        place = f"{release['stage']} {release['arms']}"
        if seen.setdefault(place, release["value"]) != release["value"]:
            heard.problems.append(f"release {place} of {trial} was drawn twice")


async def work(ports: list[int], clerks: int, token: str, heard: Heard, over: threading.Event) -> None:
    """Everybody at once, until it is over."""
    callers = [Clerk(number, ports, token, heard, over) for number in range(clerks)]
    for caller in (*callers, watcher := Watcher(ports, token, heard, over)):
        caller.connect()
    await asyncio.gather(*(caller.over for caller in callers), watcher.over)


def hire(app: FastAPI, port: int) -> int:
    """Fork a server. The application was made before; its store is opened by whoever uses it."""
    process = os.fork()
    if process == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            uvicorn.Server(configured(app, "127.0.0.1", port)).run()
        finally:
            os._exit(0)
    return process


def kill_servers(store: str, ports: list[int], rng: random.Random, saying: int, ending: int) -> None:
    """Fork and kill servers, and say so each time, until it is enough; the last ones live until `ending` breaks."""
    logging.disable()
    app = Setup(store).app()
    app.state.trials.close()
    running = {port: (hire(app, port), 0.0) for port in ports}
    while not select.select([ending], [], [], 0.005)[0]:
        for port, (process, dies_at) in running.items():
            if dies_at == 0.0:
                dies_at = _death(port, rng)
                running[port] = (process, dies_at)
            if 0.0 < dies_at <= time.monotonic():
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
                os.write(saying, b".")
                running[port] = (hire(app, port), 0.0)
    os.read(ending, 1)  # enough
    os.read(ending, 1)  # over
    for process, _ in running.values():
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def _death(port: int, rng: random.Random) -> float:
    # When a server that was not seen to listen yet has to die; 0 while nobody knows.
    if rng.random() < ABORTED / LOOKS:
        return time.monotonic()
    with socket.socket() as probe:
        listens = probe.connect_ex(("127.0.0.1", port)) == 0
    return time.monotonic() + rng.expovariate(1 / LIFE) if listens else 0.0


def create(store: str, trials: int) -> None:
    """Young trials under the default algorithm."""
    place = open_store(store, create=True)
    for number in range(trials):
        Trial.create(place, name=f"t{number}", arms=ARMS, epsilon="10", delta="1e-9", outcomes="binary")
    place.close()


def compare(store: str, heard: Heard) -> dict[str, Any]:
    """Everything that was acknowledged against the logs."""
    found: dict[str, Any] = {"lost": [], "doubled": 0, "redrawn": [], "verified": 0, "trials": 0, "releases": 0}
    place = open_store(store)
    for name, held in heard.assignments.items():
        trial = Trial.open(place, name=name)
        found["trials"] += 1
        found["verified"] += trial.verify().ok
        releases = {f"{r['stage']} {r['arms']}": r["value"] for r in trial.status()["releases"]}
        found["releases"] += len(releases)
        found["redrawn"] += [at for at, value in heard.releases.get(name, {}).items() if releases.get(at) != value]
        with place.reading(name) as reading:
            events = list(reading.events())
            kept = {a.number: a.outcome for a in reading.assignments()}
        told = [event.body["assignment"] for event in events if event.kind == "told"]
        people = [event.body["assignment"] for event in events if event.kind == "assigned"]
        found["doubled"] += len(told) - len(set(told)) + len(people) - len(set(people))
        drawn = [event.body["stage"] for event in events if event.kind == "released"]
        found["doubled"] += len(drawn) - len(set(drawn))
        outcomes = heard.outcomes.get(name, {})
        found["lost"] += [who for who, x in outcomes.items() if kept.get(int(who.split("-")[0])) != str(x)]
        again = [answer.id for answer in trial.ask_many(list(held))]
        found["lost"] += [who for who, now in zip([w for w, _ in held.values()], again, strict=True) if who != now]
    place.close()
    return found


def torture(store: str, kills: int, servers: int, clerks: int, seed: int, releases: int) -> dict[str, Any]:
    """Kill servers this often, and until so many releases were seen: what was found."""
    trials = 2 + kills // 20
    create(store, trials)
    place = open_store(store)
    token = Access(place).issue("token", "operator", "clerks")[0]
    place.close()
    ports = [free_port() for _ in range(servers)]
    heard, over = Heard(trials), threading.Event()
    (said, saying), (ending, end) = os.pipe(), os.pipe()
    killer = os.fork()
    if killer == 0:
        os.close(said)
        os.close(end)
        try:
            kill_servers(store, ports, random.Random(seed), saying, ending)
        finally:
            os._exit(0)
    os.close(saying)
    os.close(ending)
    count = 0

    def listen() -> None:
        nonlocal count
        while count < kills or sum(map(len, list(heard.releases.values()))) < releases:
            count += len(os.read(said, 1000))
        os.write(end, b".")
        over.set()

    threading.Thread(target=listen, daemon=True).start()
    began = time.monotonic()
    asyncio.run(work(ports, clerks, token, heard, over))
    os.close(end)
    os.waitpid(killer, 0)
    acknowledged = {"assignments": sum(map(len, heard.assignments.values())), "outcomes": heard.told}
    seen = {"releases_seen": sum(map(len, heard.releases.values())), "problems": heard.problems}
    told = {"requests_made_again": heard.lost, "told_again": heard.told_again}
    return {"kills": count, "seconds": time.monotonic() - began} | acknowledged | told | seen | compare(store, heard)


def main() -> None:
    """The findings as JSON on stdout."""
    store, (kills, servers, clerks, seed, releases) = sys.argv[1], map(int, sys.argv[2:7])
    print(json.dumps(torture(store, kills, servers, clerks, seed, releases)))


if __name__ == "__main__":
    main()
