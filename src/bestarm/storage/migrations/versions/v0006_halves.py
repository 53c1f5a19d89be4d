"""Halves of what people sent, and their sums: distributed noise."""

from __future__ import annotations

from alembic import op

from bestarm.storage import schema

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create both tables."""
    schema.metadata.create_all(op.get_bind(), tables=[schema.halves, schema.half_sums])
