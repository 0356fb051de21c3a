"""The schema of release ${up_revision}${"" if down_revision else ", the first"}."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """Move the tables on."""
    ${upgrades}
