"""The schema of release 0.1.0, the first, whose tables `ragguard.audit.schema` makes at once."""

from __future__ import annotations

revision = "0.1.0"
down_revision = None


def upgrade() -> None:
    """Move nothing on: no release came before."""
