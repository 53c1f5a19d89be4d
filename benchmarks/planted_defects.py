"""Which planted defects the audit catches, and which the tests do: each planted into the running code, one at a time.

Run from the project's root: python -m benchmarks.planted_defects [--runs 20000] [--only NAME] [--tests] [--honest]
Prints a table: the defect, its design, what the audit said, with how many runs, in how many seconds; with --tests also
whether the tests of the suite that should notice do, the audit's own left out. With --honest the designs are audited
with nothing planted.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from tests.audit.planted import DEFECTS, LISTED, Planted

from bestarm.trial.audit import Audit, audit


def audited(design: Mapping[str, Any], runs: int, seed: int) -> Audit:
    """The audit of a design, as `bestarm audit` makes it."""
    given = dict(design)
    return audit(given.pop("algorithm", "evidence"), given.pop("epsilon", None), runs, seed, **given)


def said(found: Audit) -> str:
    """Whether it was caught, and the first thing that was said."""
    if found.passed:
        return "NOT CAUGHT"
    return (found.violations or found.refuted)[0]


def by_tests(one: Planted) -> str:
    """Whether a test of the suite fails while the defect is planted, and which."""
    if not one.tests:
        return "–"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "tests.audit.planted.plugin",
        "--no-header",
        *one.tests,
    ]
    done = subprocess.run(
        command, env=os.environ | {"BESTARM_PLANTED": one.name}, capture_output=True, text=True, check=False
    )
    failed = [line.split("::")[-1].split(" - ")[0] for line in done.stdout.splitlines() if line.startswith("FAILED")]
    return failed[0] if done.returncode == 1 and failed else f"NOT CAUGHT (status {done.returncode})"


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=20_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", action="append")
    options.add_argument("--tests", action="store_true")
    options.add_argument("--honest", action="store_true")
    given = options.parse_args()
    names = given.only or list(DEFECTS)
    rows: list[tuple[str, Mapping[str, Any], Planted | None]]
    if given.honest:
        designs = {str(dict(DEFECTS[name].design)): DEFECTS[name].design for name in names}
        rows = [(f"nothing, in {design}", value, None) for design, value in designs.items()]
    else:
        rows = [(name, DEFECTS[name].design, DEFECTS[name]) for name in names]
    print("| defect | design | the audit said | runs | seconds | a test that fails |")
    print("|---|---|---|---|---|---|")
    caught = 0
    for name, design, one in rows:
        start = time.perf_counter()
        with nullcontext() if one is None else one.plant():
            found = audited(design, given.runs, given.seed)
        seconds = time.perf_counter() - start
        caught += one in LISTED and not found.passed
        shown = ", ".join(f"{key} {value}" for key, value in design.items())
        failing = by_tests(one) if given.tests and one is not None else ""
        print(f"| {name} | {shown} | {said(found)} | {found.runs} | {seconds:.0f} | {failing} |", flush=True)
    if not given.honest:
        tried = sum(one in LISTED for _, _, one in rows)
        print(f"\nOf the {len(LISTED)} that docs/security.md lists {tried} were planted; the audit caught {caught}.")


if __name__ == "__main__":
    main()
