"""The tables of answers of the SQL audit store, and of the key of their hashes."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Index, Integer, LargeBinary, Text
from sqlalchemy.orm import Mapped, mapped_column

from ragguard.audit.answers import Answer
from ragguard.audit.columns import UtcDateTime
from ragguard.audit.models import Base, tenant_column

__all__ = ["AnswerKeyRow", "AnswerRow"]


class AnswerKeyRow(Base):
    """The key of the hashes: one row."""

    __tablename__ = "ragguard_answer_key"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    value: Mapped[bytes] = mapped_column(LargeBinary)


class AnswerRow(Base):
    """An answer that the system gave."""

    record = Answer
    __tablename__ = "ragguard_answers"

    seq: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    tenant: Mapped[str] = tenant_column()
    digest: Mapped[str] = mapped_column(Text)
    hashes: Mapped[str] = mapped_column(Text)  # of the passages, in a row
    given_at: Mapped[datetime] = mapped_column(UtcDateTime)

    __table_args__ = (
        Index("ragguard_answers_by_digest", "tenant", "digest"),
        Index("ragguard_answers_by_tenant", "tenant", "seq"),
        Index("ragguard_answers_by_time", "given_at"),
    )

    def to_answer(self) -> Answer:
        """Return the row as the record that the protocol names."""
        return Answer(self.digest, frozenset(self.hashes.split()), self.given_at)
