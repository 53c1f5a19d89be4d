"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the log and the books."""
    op.create_table(
        "trials",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("design", sa.Text, nullable=False),
        sa.Column("key", sa.LargeBinary, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("head", sa.Text, nullable=False),
        sa.Column("book", sa.Text, nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("trial", sa.Integer, sa.ForeignKey("trials.id"), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("secret", sa.Text),
        sa.Column("salt", sa.LargeBinary),
        sa.Column("hash", sa.Text, nullable=False),
    )
    op.create_table(
        "assignments",
        sa.Column("trial", sa.Integer, sa.ForeignKey("trials.id"), primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("arm", sa.Integer, nullable=False),
        sa.Column("batch", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("stage", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text),
        sa.Column("value", sa.BigInteger),
    )
    op.create_index("assignments_by_subject", "assignments", ["trial", "subject"])
    op.create_table(
        "batches",
        sa.Column("trial", sa.Integer, sa.ForeignKey("trials.id"), primary_key=True),
        sa.Column("arm", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("index", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("assigned", sa.BigInteger, nullable=False),
        sa.Column("resolved", sa.BigInteger, nullable=False),
        sa.Column("total", sa.BigInteger, nullable=False),
        sa.Column("position", sa.BigInteger),
        sa.Column("filled_at", sa.BigInteger),
        sa.Column("released_at", sa.BigInteger),
        sa.Column("release", sa.BigInteger),
        sa.Column("terms", sa.Text),
    )
    op.create_index("batches_by_position", "batches", ["trial", "position"])
    op.create_table(
        "state",
        sa.Column("trial", sa.Integer, sa.ForeignKey("trials.id"), primary_key=True),
        sa.Column("array", sa.Text, primary_key=True),
        sa.Column("bytes", sa.LargeBinary, nullable=False),
    )
