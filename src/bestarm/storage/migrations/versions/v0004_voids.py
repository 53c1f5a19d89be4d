"""How many people of an arm in a stage were voided."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, unless the tables were made with it."""
    present = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("tallies")}
    if "voided" not in present:
        op.add_column("tallies", sa.Column("voided", sa.BigInteger, nullable=False, server_default="0"))
