"""Stores written by earlier versions still open, are brought up to date, and go on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import sqlalchemy as sa

from bestarm.storage.migrate import NEWEST
from bestarm.trial.trial import Trial

OLD = sorted((Path(__file__).parent / "data").glob("v*.db"))


@pytest.mark.parametrize("file", OLD, ids=lambda file: file.stem)
def test_an_old_store_goes_on(file: Path, tmp_path: Path) -> None:
    copy = tmp_path / file.name
    shutil.copy(file, copy)
    trial = Trial.open(copy, name="frozen")
    assert trial.verify().ok
    assert len(trial.status()["releases"]) == 6
    asked = trial.ask("subject 3")
    assert asked.told
    assert trial.ask("subject 11").withdrawn
    for number in range(12, 40):
        asked = trial.ask(f"subject {number}")
        assert trial.tell(str(asked.id), number % 2) == "recorded"
    assert trial.verify().ok
    assert len(trial.status()["releases"]) > 6
    trial.close()
    engine = sa.create_engine(f"sqlite:///{copy}")
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() == NEWEST
    engine.dispose()


def test_there_is_a_file_of_the_first_version() -> None:
    assert OLD[0].stem == "v0001"
