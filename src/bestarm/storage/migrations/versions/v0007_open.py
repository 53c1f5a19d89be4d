"""An index of the assignments whose outcomes are awaited, so that they are found without reading everybody."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from bestarm.storage import schema

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the index, unless the tables were made with it."""
    present = {index["name"] for index in sa.inspect(op.get_bind()).get_indexes("assignments")}
    if schema.open_assignments.name not in present:
        schema.open_assignments.create(op.get_bind())
