"""Brings a database up to the newest tables."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import sqlalchemy as sa

from bestarm.errors import OperationError

NEWEST: Final = "0009"
"""The last revision in migrations/versions."""


def version_of(connection: sa.Connection) -> str | None:
    """The revision of the tables in this database; None if there are none yet."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()


def bring_up_to_date(connection: sa.Connection) -> None:
    """Run the migrations that are missing, inside the connection's transaction."""
    present = version_of(connection)
    if present == NEWEST:
        return
    if present is not None and present > NEWEST:
        raise OperationError(
            f"This store was written by a newer bestarm (tables {present}, known here: {NEWEST}); update bestarm."
        )
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
