"""Writes one store for every revision of every algorithm, to be opened by all later versions: run it as a program.

A store that is there already is left as it is: what was written once must be readable for ever.
"""

from __future__ import annotations

import random
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bestarm.policy.catalogue import REVISIONS
from bestarm.qualification.checks import FROZEN
from bestarm.trial.trial import Trial

DATA = Path(__file__).parent / "data"
MEANS = {"a": 0.3, "b": 0.6, "c": 0.4}
BEGAN = 1_790_000_000.0
PEOPLE = 60


def frozen(identity: str) -> Path:
    """Where the store of a revision is kept."""
    return DATA / f"{identity}.db"


def freeze(identity: str) -> None:
    """Run the first people of a trial under this revision, with one of everything that may happen to them."""
    now = [BEGAN]
    planned: dict[str, Any] = {"difference": "0.2", "base": "0.4"} if REVISIONS[identity].needs_base else {}
    trial = Trial.create(
        frozen(identity),
        name="frozen",
        arms=list(MEANS),
        epsilon=1,
        delta="0.05",
        algorithm=identity,
        outcomes="binary",
        follow_up="2d",
        clock=lambda: now[0],
        **planned,
    )
    rng = random.Random(identity)
    for number in range(PEOPLE):
        asked = trial.ask(f"p-{number}")
        if asked.id is None or asked.arm is None:
            break
        trial.tell(asked.id, int(rng.random() < MEANS[asked.arm]))
        if number == 10 and trial.design.privacy.model != "local":  # where no outcome is kept that could be corrected
            trial.correct(asked.id, 1, "slip")
        if number == 20:
            trial.withdraw(asked.id, "moved away")
        if number == 30:
            trial.relabel(asked.id, "q-30", "mistyped")
        if number == 40:
            trial.void(asked.id, "p-0", "entered twice")
        now[0] += 3600.0
    trial.pause("a holiday")
    trial.resume("back")
    assert trial.verify().ok
    trial.close()
    engine = sa.create_engine(f"sqlite:///{frozen(identity)}")
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode=DELETE")
    with engine.connect() as connection:
        connection.exec_driver_sql("VACUUM")
    engine.dispose()


SHIPPED = "fixed@1"
"""This one is also part of the package, for `bestarm qualify`."""


if __name__ == "__main__":
    for name in REVISIONS:
        if not frozen(name).exists():
            freeze(name)
            print(frozen(name).name)
    shutil.copy(frozen(SHIPPED), str(files("bestarm.qualification") / FROZEN))
