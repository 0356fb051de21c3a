"""The table of verdicts of the SQL audit store."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Double, Index, Integer, Text
from sqlalchemy.orm import Mapped, mapped_column

from ragguard.audit.columns import AnyText, UtcDateTime
from ragguard.audit.encoding import from_json, to_json
from ragguard.audit.models import Base, tenant_column
from ragguard.audit.verdicts import JudgedPassage, VerdictRecord

__all__ = ["VerdictRow"]


class VerdictRow(Base):
    """A verdict that dropped, marked or failed."""

    record = VerdictRecord
    __tablename__ = "ragguard_verdicts"

    seq: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    id: Mapped[str] = mapped_column(AnyText, unique=True)
    recorded_at: Mapped[datetime] = mapped_column(UtcDateTime)
    question: Mapped[str] = mapped_column(Text)
    attacked: Mapped[bool]
    p_value: Mapped[float] = mapped_column(Double)
    mode: Mapped[str] = mapped_column(Text)
    error: Mapped[str | None] = mapped_column(AnyText)
    size: Mapped[int]
    kept: Mapped[int]
    passages_json: Mapped[str] = mapped_column(AnyText)
    calibration: Mapped[str] = mapped_column(AnyText)
    scorer: Mapped[str] = mapped_column(AnyText)
    version: Mapped[str] = mapped_column(AnyText)
    query: Mapped[str | None] = mapped_column(AnyText)
    tenant: Mapped[str] = tenant_column()

    __table_args__ = (
        Index("ragguard_verdicts_by_time", "recorded_at", "seq"),
        Index("ragguard_verdicts_by_tenant", "tenant", "seq"),
    )

    @classmethod
    def values(cls, kept: VerdictRecord) -> dict[str, Any]:
        """Return the row's columns."""
        passages = [asdict(passage) for passage in kept.passages]
        return {**cls.shared(kept), "passages_json": to_json(passages)}

    def to_record(self) -> VerdictRecord:
        """Return the row as the record that the protocol names."""
        passages = [JudgedPassage(**passage) for passage in from_json(self.passages_json)]
        return VerdictRecord(**self.shared(self), passages=tuple(passages))
