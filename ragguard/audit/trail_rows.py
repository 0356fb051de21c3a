"""The table of the trail in the SQL audit store."""

from __future__ import annotations

from sqlalchemy import BigInteger, Integer, Text
from sqlalchemy.orm import Mapped, mapped_column

from ragguard.audit.models import Base
from ragguard.audit.trail import TrailRow

__all__ = ["TrailTable"]


class TrailTable(Base):
    """A row of the trail; its texts are those that are signed, so nothing converts them."""

    record = TrailRow
    __tablename__ = "ragguard_trail"

    # Not made by the database: of two that would follow the same row the second one fails.
    seq: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False
    )
    at: Mapped[str] = mapped_column(Text)
    tenant: Mapped[str] = mapped_column(Text)
    actor: Mapped[str | None] = mapped_column(Text)
    action: Mapped[str] = mapped_column(Text)
    subject: Mapped[str] = mapped_column(Text)
    details: Mapped[str] = mapped_column(Text)
    key: Mapped[str] = mapped_column(Text)
    mac: Mapped[str] = mapped_column(Text)
