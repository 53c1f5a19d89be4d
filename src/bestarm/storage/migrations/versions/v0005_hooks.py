"""Webhooks, and what is still to be delivered to them."""

from __future__ import annotations

from alembic import op

from bestarm.storage import schema

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create both tables."""
    schema.metadata.create_all(op.get_bind(), tables=[schema.hooks, schema.deliveries])
