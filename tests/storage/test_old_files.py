"""Stores written by earlier versions: gone on with where that is possible, refused in one sentence where it is not."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest
import sqlalchemy as sa

from bestarm.errors import OperationError
from bestarm.storage.migrate import NEWEST
from bestarm.trial.trial import Trial

DATA = Path(__file__).parent / "data"
FIRST = DATA / "v0001.db"
"""Written by bestarm 0.1, with a trial in it."""


def test_a_store_with_trials_of_the_first_version_is_left_as_it_is(tmp_path: Path) -> None:
    copy = tmp_path / FIRST.name
    shutil.copy(FIRST, copy)
    before = tables(copy)
    with pytest.raises(OperationError, match=r"only bestarm 0\.1 can go on with"):
        Trial.open(copy, name="frozen")
    assert tables(copy) == before


def test_an_empty_store_of_the_first_version_is_brought_up_to_date(tmp_path: Path) -> None:
    copy = tmp_path / FIRST.name
    shutil.copy(FIRST, copy)
    engine = sa.create_engine(f"sqlite:///{copy}")
    with engine.begin() as connection:
        for table in ("state", "batches", "assignments", "events", "trials"):
            connection.execute(sa.text(f"DELETE FROM {table}"))
    trial = Trial.create(copy, name="new", arms=["a", "b"], epsilon=1, delta=0.1, algorithm="adap-tt")
    trial.tell(str(trial.ask("p-1").id), 1)
    assert trial.verify().ok
    trial.close()
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() == NEWEST
    engine.dispose()


def tables(path: Path) -> str:
    """A hash of everything that the tables hold."""
    engine = sa.create_engine(f"sqlite:///{path}")
    digest = hashlib.sha256()
    with engine.connect() as connection:
        for name in sorted(sa.inspect(connection).get_table_names()):
            digest.update(repr((name, connection.execute(sa.text(f"SELECT * FROM {name}")).all())).encode())
    engine.dispose()
    return digest.hexdigest()
