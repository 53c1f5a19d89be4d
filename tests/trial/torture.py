"""A trial whose clerks are killed again and again. Run as a program: a warm parent that forks clerks and kills them.

Each clerk asks and tells for its own subjects and reports over a pipe what was acknowledged and which releases it saw.
SIGKILL comes at a random moment; the next clerk begins where the last acknowledgement stood, and repeats the step that
may or may not have happened. At the end everything is compared with the log.
"""

from __future__ import annotations

import json
import math
import os
import random
import selectors
import signal
import sys
import time
from dataclasses import dataclass, field

from bestarm.trial.trial import Trial

NAME = "tortured"
ARMS = ["a", "b", "c"]
MEANS = {"a": 0.1, "b": 0.4, "c": 0.9}
FEWEST_RELEASES = 4


def outcome_of(subject: str, arm: str) -> int:
    """What this person's outcome on this arm is: the same whoever asks, so that a repeated tell repeats the value."""
    return int(random.Random(f"{subject} {arm}").random() < MEANS[arm])


@dataclass
class Clerk:
    """A child process and what it said so far."""

    number: int
    process: int
    pipe: int
    dies_at: float
    patience: float | None
    """How long it lives after its first word; None if its death is fixed from its birth."""
    rest: bytes = b""


@dataclass
class Heard:
    """Everything the clerks were told before they died."""

    subjects: dict[int, int] = field(default_factory=dict)
    assignments: dict[str, tuple[str, str]] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)
    releases: dict[str, float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def take(self, clerk: int, said: list[object]) -> None:
        """Note one acknowledgement."""
        kind = said[0]
        if kind == "asked":
            subject, who, arm = (str(part) for part in said[1:])
            if self.assignments.setdefault(subject, (who, arm)) != (who, arm):
                self.problems.append(f"{subject} was given two assignments")
        elif kind == "told":
            self.outcomes[str(said[1])] = int(str(said[2]))
            self.subjects[clerk] += 1
        else:
            for place, value in said[1]:  # type: ignore[attr-defined]
                if self.releases.setdefault(place, value) != value:
                    self.problems.append(f"release {place} was drawn twice")


def work(place: str, clerk: int, first: int, pipe: int) -> None:
    """A clerk's life: ask, tell, look, until killed or the trial stops; then a last look, as there is no other."""

    def say(*said: object) -> None:
        os.write(pipe, json.dumps(said).encode() + b"\n")

    def look() -> None:
        seen = trial.status()["releases"][-20:]
        say("saw", [(f"{r['stage']} {r['arms']}", r["value"]) for r in seen])

    trial = Trial.open(place, name=NAME)
    number = first
    while True:
        subject = f"clerk {clerk} subject {number}"
        asked = trial.ask(subject)
        if asked.id is None or asked.arm is None:
            return look()
        say("asked", subject, asked.id, asked.arm)
        if (
            trial.tell(asked.id, outcome_of(subject, asked.arm)) == "late"
        ):  # another clerk's outcome was the last needed
            return look()
        say("told", asked.id, outcome_of(subject, asked.arm))
        number += 1
        if number % 2 == 0:
            look()


def hire(place: str, clerk: int, first: int, lifetime: float, speaks_first: bool) -> Clerk:
    """Fork a clerk that lives this long, from its birth or from its first word."""
    ours, theirs = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(ours)
        try:
            work(place, clerk, first, theirs)
        finally:
            os._exit(0)
    os.close(theirs)
    if speaks_first:
        return Clerk(clerk, process, ours, math.inf, lifetime)
    return Clerk(clerk, process, ours, time.monotonic() + lifetime, None)


def torture(place: str, kills: int, clerks: int, seed: int, at_least: int) -> Heard:
    """Kill clerks this often, and until so many outcomes were acknowledged: what they had been told.

    On a slow machine clerks get less done before they die, and more of them have to.
    """
    rng = random.Random(seed)
    heard = Heard(subjects=dict.fromkeys(range(clerks), 0))
    selector = selectors.DefaultSelector()

    def replace(number: int) -> None:
        clerk = hire(place, number, heard.subjects[number], rng.expovariate(1 / (0.01 * clerks**2)), rng.random() < 0.8)
        selector.register(clerk.pipe, selectors.EVENT_READ, clerk)

    for number in range(clerks):
        replace(number)
    while kills > 0 or len(heard.outcomes) < at_least or len(heard.releases) < FEWEST_RELEASES:
        for key, _ in selector.select(0.002):
            listen(key.data, heard)
        now = time.monotonic()
        for clerk in [key.data for key in selector.get_map().values() if key.data.dies_at <= now]:
            os.kill(clerk.process, signal.SIGKILL)
            os.waitpid(clerk.process, 0)
            while listen(clerk, heard):
                pass
            selector.unregister(clerk.pipe)
            os.close(clerk.pipe)
            kills -= 1
            replace(clerk.number)
    for clerk in [key.data for key in selector.get_map().values()]:
        os.kill(clerk.process, signal.SIGKILL)
        os.waitpid(clerk.process, 0)
        while listen(clerk, heard):
            pass
        os.close(clerk.pipe)
    return heard


def listen(clerk: Clerk, heard: Heard) -> bool:
    """Take in what a clerk said; whether there may be more."""
    data = os.read(clerk.pipe, 65536)
    if clerk.patience is not None:
        clerk.dies_at = min(clerk.dies_at, time.monotonic() + clerk.patience)
    *lines, clerk.rest = (clerk.rest + data).split(b"\n")
    for line in lines:
        heard.take(clerk.number, json.loads(line))
    return bool(data)


def finish(place: str, heard: Heard) -> dict[str, object]:
    """Go on until the trial stops, and compare with everything that was heard."""
    trial = Trial.open(place, name=NAME)
    for number in range(10**6):
        waiting = trial.open_assignments()
        subjects = {who: subject for subject, (who, _) in heard.assignments.items()}
        known = [(a.id, outcome_of(subjects[a.id], a.arm)) for a in waiting if a.id in subjects]
        unknown = [(a.id, 0) for a in waiting if a.id not in subjects]
        trial.tell_many(known + unknown)
        asked = trial.ask_many([f"finish {number} {n}" for n in range(500)])
        if asked[0].stopped:
            break
        trial.tell_many([(a.id, outcome_of(a.id, a.arm)) for a in asked if a.id and a.arm])
    releases = {f"{r['stage']} {r['arms']}": r["value"] for r in trial.status()["releases"]}
    redrawn = [place for place, value in heard.releases.items() if releases.get(place) != value]
    with trial._store.reading(NAME) as reading:
        told = [e.body["assignment"] for e in reading.events() if e.kind == "told"]
        kept = {a.number: a.outcome for a in reading.assignments()}
    # Under local privacy no outcome is kept, but that one came in is.
    hidden = trial.design.coins_apart
    lost = [
        who
        for who, x in heard.outcomes.items()
        if int(who.split("-")[0]) not in told or kept[int(who.split("-")[0])] != (None if hidden else str(x))
    ]
    verdict = trial.verdict
    return {
        "acknowledged": len(heard.outcomes),
        "releases_seen": len(heard.releases),
        "problems": heard.problems,
        "lost": lost,
        "doubled": len(told) - len(set(told)),
        "redrawn": redrawn,
        "verified": trial.verify().ok,
        "recommended": None if verdict is None else verdict.arm,
    }


def main() -> None:
    """place, kills, clerks, seed, outcomes, and a design on the command line; the findings as JSON on stdout."""
    place, (kills, clerks, seed, at_least) = sys.argv[1], map(int, sys.argv[2:6])
    plan = {"arms": ARMS, "epsilon": 10, "delta": "1e-7", "outcomes": "binary"} | json.loads(sys.argv[6])
    Trial.create(place, name=NAME, **plan).close()
    Trial.open(place, name=NAME).close()  # everything is imported and computed once, before the first fork
    heard = torture(place, kills, clerks, seed, at_least)
    print(json.dumps(finish(place, heard)))


if __name__ == "__main__":
    main()
