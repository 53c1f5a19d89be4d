"""The event that the tables stand at, which may be behind the log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns, unless the tables were made with them: until now they stood at the last event."""
    present = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("trials")}
    for name in ("books_seq", "joins_seq"):
        if name not in present:
            op.add_column("trials", sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
            op.execute(sa.text(f"UPDATE trials SET {name} = seq"))
