"""Stages, tallies and the public chain.

A log of an earlier version ties its events together in another way, and its batches are no stages; rewriting it would
break the chain that makes it trustworthy. So a store that holds trials of an earlier version is left as it is, and an
empty one gets the new tables.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from bestarm.errors import OperationError
from bestarm.storage import schema

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

REPLACED = ("state", "batches", "assignments", "events", "trials")


def upgrade() -> None:
    """Put the new tables in the place of the old ones, which have to be empty."""
    connection = op.get_bind()
    count = connection.execute(sa.text("SELECT count(*) FROM trials")).scalar_one()
    if count:
        raise OperationError(
            "This store holds trials begun with bestarm 0.1, whose logs only bestarm 0.1 can go on with: install that "
            "version for them, and keep new trials in a store of their own. Nothing was changed."
        )
    for table in REPLACED:
        op.drop_table(table)
    new = [schema.trials, schema.events, schema.assignments, schema.stages, schema.tallies, schema.state]
    schema.metadata.create_all(connection, tables=new)
