"""How fast the simulator is: time per pull or run, its growth with tau and K, and the ratio to the naive oracle.

Run from the project's root: python -m benchmarks.simulator
Every ratio is taken within this one run, the oracle and the kernel side by side. Times are those of the processor, so
that a busy machine counts for neither.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from tests.naive import paper, peers
from tests.naive.tape import Story, Tape

from bestarm.instance import Instance
from bestarm.simulation.runs import Scenario, make_scenario, run_chunk

ORACLE_PEOPLE = 20_000
KERNEL_PEOPLE = 2_000_000


def hard(arms: int) -> Instance:
    """Arms so close that no run stops before its cap, so that every run has the same length."""
    return Instance.bernoulli([0.5 + 1e-7, *[0.5] * (arms - 1)])


def nanoseconds_per_pull(scenario: Scenario, people: int) -> float:
    """The best of three runs, after one that compiles."""
    run_chunk(scenario, 0, 0, 1, scenario.instance.arms)
    runs = max(1, 1_000_000 // people)
    taken = []
    for seed in range(3):
        begin = time.process_time()
        rows = run_chunk(scenario, seed, 0, runs, people)
        taken.append((time.process_time() - begin) / float(rows.samples.sum()))
    return min(taken) * 1e9


def oracle_nanoseconds(oracle: Callable[..., Story]) -> float:
    """The same person by person in plain lists."""
    rng = np.random.default_rng(0)
    outcomes = (rng.random((5, ORACLE_PEOPLE + 1)) < 0.5).astype(float).tolist()
    noise = rng.laplace(0, 1, (5, 40)).tolist()
    begin = time.process_time()
    story = oracle(5, 1.0, 0.01, Tape(outcomes, noise, rng), ORACLE_PEOPLE)
    return (time.process_time() - begin) / len(story.arms) * 1e9


def microseconds_per_run(name: str, runs: int) -> float:
    """Whole runs of a policy that jumps, on the paper's second instance."""
    scenario = make_scenario(name, Instance.bernoulli([0.75, 0.7, 0.7, 0.7, 0.7]), epsilon=1.0)
    run_chunk(scenario, 0, 0, 1, 10**8)
    taken = []
    for seed in range(3):
        begin = time.process_time()
        run_chunk(scenario, seed, 0, runs, 10**8)
        taken.append((time.process_time() - begin) / runs)
    return min(taken) * 1e6


def main() -> None:
    """Print the tables."""
    oracles: dict[str, Callable[..., Story]] = {
        "adap-tt": paper.adap_tt,
        "ttucb": paper.ttucb,
        "uniform": paper.uniform,
        "adap-tt-published": paper.adap_tt_published,
        "adap-tt-star": peers.adap_tt_star,
        "dp-tt": peers.dp_tt,
    }
    print(f"K = 5, one core, {KERNEL_PEOPLE:,} people a run (oracle: {ORACLE_PEOPLE:,})\n")
    print(f"{'algorithm':20} {'ns a pull':>10} {'oracle ns':>10} {'ratio':>7}")
    for name, oracle in oracles.items():
        kernel = nanoseconds_per_pull(make_scenario(name, hard(5), epsilon=1.0), KERNEL_PEOPLE)
        slow = oracle_nanoseconds(oracle)
        print(f"{name:20} {kernel:10.1f} {slow:10.0f} {slow / kernel:7.0f}")
    print(f"\ndp-se: {microseconds_per_run('dp-se', 1000):.0f} µs a run (1,000 runs, whatever their length)")
    print("\nGrowth with the length of a run, K = 5: ns a pull")
    print(f"{'people':>12} {'adap-tt':>9} {'ttucb':>9}")
    for people in (10**4, 10**5, 10**6, 10**7):
        row = [nanoseconds_per_pull(make_scenario(name, hard(5), epsilon=1.0), people) for name in ("adap-tt", "ttucb")]
        print(f"{people:12,} {row[0]:9.1f} {row[1]:9.1f}")
    print("\nGrowth with K, 200,000 people: ns a pull")
    print(f"{'K':>6} {'adap-tt':>9} {'ttucb':>9} {'uniform':>9}")
    for arms in (2, 5, 20, 100, 1000):
        names = ("adap-tt", "ttucb", "uniform")
        row = [nanoseconds_per_pull(make_scenario(name, hard(arms), epsilon=1.0), 200_000) for name in names]
        print(f"{arms:6} {row[0]:9.1f} {row[1]:9.1f} {row[2]:9.1f}")


if __name__ == "__main__":
    main()
