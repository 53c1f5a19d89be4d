"""An event's place in the table of all, by which SQLite keeps it: no index beside the log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from bestarm.storage import schema

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Move the events into a table with places, unless it was made with them."""
    connection = op.get_bind()
    present = {column["name"] for column in sa.inspect(connection).get_columns("events")}
    if "id" in present:
        return
    op.rename_table("events", "events_before")
    schema.events.create(connection)
    kept = ", ".join(f'"{column.name}"' for column in schema.events.columns if column.name != "id")
    op.execute(
        sa.text(
            f'INSERT INTO "events" ("id", {kept}) '
            f'SELECT "trial" * {schema.LONGEST_LOG} + "seq", {kept} FROM "events_before" ORDER BY "trial", "seq"'
        )
    )
    op.drop_table("events_before")
