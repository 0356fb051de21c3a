"""The table of the allow-list of the SQL audit store."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Index, Integer, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from ragguard.audit.allowing import Allowance
from ragguard.audit.columns import AnyText, UtcDateTime
from ragguard.audit.models import Base, tenant_column

__all__ = ["AllowanceRow"]


class AllowanceRow(Base):
    """What a person vouches for."""

    record = Allowance
    __tablename__ = "ragguard_allowances"

    seq: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    tenant: Mapped[str] = tenant_column()
    key: Mapped[str] = mapped_column(AnyText)
    source: Mapped[str] = mapped_column(AnyText)
    effect: Mapped[str] = mapped_column(Text)
    why: Mapped[str] = mapped_column(AnyText)
    text: Mapped[str] = mapped_column(AnyText)
    actor: Mapped[str | None] = mapped_column(AnyText)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    ended_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    ended_by: Mapped[str | None] = mapped_column(AnyText)
    changed: Mapped[int] = mapped_column(BigInteger)  # the quarantine's version then

    __table_args__ = (
        UniqueConstraint("tenant", "key", "source", "effect"),
        Index("ragguard_allowances_changed", "changed"),
    )

    def to_allowance(self) -> Allowance:
        """Return the row as the record that the protocol names."""
        return Allowance(**self.shared(self))
