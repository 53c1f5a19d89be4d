"""Who may use the service."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of tokens, sessions and links."""
    op.create_table(
        "access",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("secret_hash", sa.Text, nullable=False, unique=True),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("trial", sa.Text),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("parent", sa.Integer, sa.ForeignKey("access.id")),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("ended_at", sa.BigInteger),
    )
