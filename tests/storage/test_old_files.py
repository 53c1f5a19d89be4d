"""Stores written by earlier versions: gone on with where that is possible, refused in one sentence where it is not."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest
import sqlalchemy as sa

from bestarm.errors import InputError, OperationError
from bestarm.policy.catalogue import REVISIONS
from bestarm.storage import schema
from bestarm.storage.migrate import NEWEST
from bestarm.trial.trial import Trial
from tests.storage.freeze import BEGAN, PEOPLE, frozen

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


def test_events_keep_their_trial_and_order_when_they_get_places(place: str) -> None:
    logs = {}
    for name in ("one", "two"):
        trial = Trial.create(place, name=name, arms=["a", "b"], epsilon=1, delta=0.1)
        for number in range(5):
            trial.tell(str(trial.ask(f"p-{number}").id), number % 2)
        with trial._store.reading(name) as reading:
            logs[name] = [event.as_dict() for event in reading.events()]
        trial.close()
    kept = ", ".join(f'"{column.name}"' for column in schema.events.columns if column.name != "id")
    url = place.replace("postgresql://", "postgresql+psycopg://") if "://" in place else f"sqlite:///{place}"
    engine = sa.create_engine(url)
    with engine.begin() as connection:  # the tables as they were
        trials = connection.execute(sa.text("SELECT name FROM trials")).scalars().all()
        connection.execute(sa.text("ALTER TABLE events RENAME TO events_now"))
        old = ", ".join(f'"{c.name}" {c.type.compile(engine.dialect)}' for c in schema.events.columns if c.name != "id")
        connection.execute(sa.text(f"CREATE TABLE events (trial INTEGER, {old}, PRIMARY KEY (trial, seq))"))
        place_of_trial = f"id / {schema.LONGEST_LOG}"
        moved = f"SELECT {place_of_trial}, {kept} FROM events_now ORDER BY hash"
        connection.execute(sa.text(f"INSERT INTO events (trial, {kept}) {moved}"))
        connection.execute(sa.text("DROP TABLE events_now"))
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0008'"))
    engine.dispose()
    assert set(trials) == set(logs)
    for name, log in logs.items():
        trial = Trial.open(place, name=name)
        with trial._store.reading(name) as reading:
            assert [event.as_dict() for event in reading.events()] == log
        trial.ask("another")
        assert trial.verify().ok
        trial.close()


def tables(path: Path) -> str:
    """A hash of everything that the tables hold."""
    engine = sa.create_engine(f"sqlite:///{path}")
    digest = hashlib.sha256()
    with engine.connect() as connection:
        for name in sorted(sa.inspect(connection).get_table_names()):
            digest.update(repr((name, connection.execute(sa.text(f"SELECT * FROM {name}")).all())).encode())
    engine.dispose()
    return digest.hexdigest()


@pytest.mark.parametrize("identity", REVISIONS)
def test_a_trial_goes_on_under_the_revision_it_began_with(identity: str, tmp_path: Path) -> None:
    copy = tmp_path / "store.db"
    shutil.copy(frozen(identity), copy)
    for key in frozen(identity).parent.glob("*.key"):  # of the coins of a trial under local privacy
        shutil.copy(key, tmp_path)
    later = BEGAN + 30 * 86400.0
    trial = Trial.open(copy, name="frozen", clock=lambda: later)
    assert trial.design.identity == identity
    assert trial.verify().ok
    trial.advance()  # what is due is drawn anew, and may end the trial
    before = trial.status()["assigned"]
    if trial.verdict is None:
        for number in range(100, 130):
            asked = trial.ask(f"p-{number}")
            if asked.id is not None:
                trial.tell(asked.id, number % 2)
        assert trial.status()["assigned"] != before
    assert trial.ask("p-3").arm == Trial.open(copy, name="frozen", clock=lambda: later).ask("p-3").arm
    assert trial.verify().ok


def test_a_state_in_another_layout_is_derived_anew_from_the_log(tmp_path: Path) -> None:
    copy = tmp_path / "store.db"
    shutil.copy(frozen("adap-tt@1"), copy)
    engine = sa.create_engine(f"sqlite:///{copy}")
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE state SET array = 'renamed' WHERE array = 'mean'"))
        connection.execute(sa.text("UPDATE state SET bytes = x'00' WHERE array = 'record.total'"))
    later = BEGAN + PEOPLE * 3600.0  # nothing is due that would be drawn anew
    trial = Trial.open(copy, name="frozen", clock=lambda: later)
    untouched = Trial.open(frozen_copy(tmp_path), name="frozen", clock=lambda: later)
    assert trial.status()["estimates"] == untouched.status()["estimates"]
    assert trial.status()["evidence"] == untouched.status()["evidence"]
    trial.tell(str(trial.ask("p-200").id), 1)
    assert trial.verify().ok
    with engine.connect() as connection:
        names = set(connection.execute(sa.text("SELECT array FROM state")).scalars())
    assert "mean" in names
    assert "renamed" not in names
    engine.dispose()


def frozen_copy(tmp_path: Path) -> Path:
    """Another copy of the same store."""
    other = tmp_path / "other.db"
    shutil.copy(frozen("adap-tt@1"), other)
    return other


def test_a_revision_that_is_gone_is_named_with_the_version_that_knows_it(tmp_path: Path) -> None:
    copy = tmp_path / "store.db"
    shutil.copy(frozen("adap-tt@1"), copy)
    engine = sa.create_engine(f"sqlite:///{copy}")
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE trials SET design = replace(design, 'adap-tt@1', 'evidence@1')"))
    engine.dispose()
    with pytest.raises(InputError, match=r"evidence@1 is not here any more; bestarm 0\.1 can go on"):
        Trial.open(copy, name="frozen")
