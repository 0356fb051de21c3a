"""The tables of verdicts, of quarantine, allow-list and trail, and of answers given."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Index, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from ragguard.audit.allow_list import Allowance
from ragguard.audit.fair_queueing import lane_of
from ragguard.audit.models import SERIAL, Base, Json, OfRecord
from ragguard.audit.quarantine import QuarantineEntry, QuarantineStatus, Reporters
from ragguard.audit.records import Answer
from ragguard.audit.verdicts import JudgedPassage, VerdictRecord


def _reporters(names: object) -> Reporters:
    if not isinstance(names, list) or not all(isinstance(one, str | None) for one in names):
        raise ValueError(f"no reporters, but {names!r:.40}")
    return tuple(names)


def _passages(found: list[dict[str, Any]]) -> tuple[JudgedPassage, ...]:
    return tuple(JudgedPassage(**one) for one in found)


class QuarantineRow(OfRecord[QuarantineEntry], Base):
    """A passage in quarantine, or released from it."""

    record = QuarantineEntry
    __tablename__ = "ragguard_quarantine"

    seq: Mapped[int] = mapped_column(SERIAL, primary_key=True)
    tenant: Mapped[str] = mapped_column(server_default="")
    key: Mapped[str]
    passage_id: Mapped[str]
    text: Mapped[str]
    reason: Mapped[str]
    event_id: Mapped[str | None]
    status: Mapped[QuarantineStatus] = mapped_column(Text)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    actor: Mapped[str | None]
    # The quarantine's version since which the key is held, or is not.
    changed: Mapped[int] = mapped_column(BigInteger, server_default="0")
    reporters: Mapped[Reporters] = mapped_column(Json(_reporters), server_default="[]")
    lanes: Mapped[str] = mapped_column(Text, server_default="")  # of the reporters, in a row
    until: Mapped[datetime | None]
    signature: Mapped[bytes | None]
    lapsed_at: Mapped[datetime | None]

    unique = ("tenant", "key")
    __table_args__ = (
        UniqueConstraint(*unique),
        Index("ragguard_quarantine_changed", "changed"),
        Index("ragguard_quarantine_by_status", "status", "updated_at"),
        Index("ragguard_quarantine_until", "until"),
        # For lists: all of a tenant's, and those of a status, the newest first.
        Index("ragguard_quarantine_by_tenant", "tenant", "created_at", "seq"),
        Index("ragguard_quarantine_of_status", "tenant", "status", "created_at", "seq"),
    )

    @classmethod
    def values(cls, one: Any, tenant: str, changed: int) -> dict[str, Any]:
        lanes = " ".join(map(lane_of, one.reporters))
        return {**cls.shared(one), "tenant": tenant, "lanes": lanes, "changed": changed}


class AllowanceRow(OfRecord[Allowance], Base):
    """What a person vouches for."""

    record = Allowance
    __tablename__ = "ragguard_allowances"

    seq: Mapped[int] = mapped_column(SERIAL, primary_key=True)
    tenant: Mapped[str] = mapped_column(server_default="")
    key: Mapped[str]
    source: Mapped[str]
    effect: Mapped[str] = mapped_column(Text)
    why: Mapped[str]
    text: Mapped[str]
    actor: Mapped[str | None]
    created_at: Mapped[datetime]
    until: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    ended_by: Mapped[str | None]
    changed: Mapped[int] = mapped_column(BigInteger)  # the quarantine's version then

    unique = ("tenant", "key", "source", "effect")
    __table_args__ = (UniqueConstraint(*unique), Index("ragguard_allowances_changed", "changed"))

    @classmethod
    def values(cls, one: Any, tenant: str, changed: int) -> dict[str, Any]:
        return {**cls.shared(one), "tenant": tenant, "changed": changed}


class TrailTable(Base):
    """A row of the trail; its texts are those that are signed, so nothing converts them."""

    __tablename__ = "ragguard_trail"

    # Not made by the database: of two that would follow the same row the second one fails.
    seq: Mapped[int] = mapped_column(SERIAL, primary_key=True, autoincrement=False)
    at: Mapped[str] = mapped_column(Text)
    tenant: Mapped[str] = mapped_column(Text)
    actor: Mapped[str | None] = mapped_column(Text)
    action: Mapped[str] = mapped_column(Text)
    subject: Mapped[str] = mapped_column(Text)
    details: Mapped[str] = mapped_column(Text)
    key: Mapped[str] = mapped_column(Text)
    mac: Mapped[str] = mapped_column(Text)


class AnswerKeyRow(Base):
    """The key of the hashes, made with the tables: one row."""

    __tablename__ = "ragguard_answer_key"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    value: Mapped[bytes]


class AnswerRow(OfRecord[Answer], Base):
    """An answer that the system gave."""

    record = Answer
    __tablename__ = "ragguard_answers"

    seq: Mapped[int] = mapped_column(SERIAL, primary_key=True)
    tenant: Mapped[str] = mapped_column(server_default="")
    digest: Mapped[str] = mapped_column(Text)
    passages: Mapped[frozenset[str]] = mapped_column(Json(frozenset, sorted))
    given_at: Mapped[datetime]

    __table_args__ = (
        Index("ragguard_answers_by_digest", "tenant", "digest"),
        Index("ragguard_answers_by_tenant", "tenant", "seq"),
        Index("ragguard_answers_by_time", "given_at"),
    )


class VerdictRow(OfRecord[VerdictRecord], Base):
    """A verdict that dropped, marked or failed."""

    record = VerdictRecord
    __tablename__ = "ragguard_verdicts"

    seq: Mapped[int] = mapped_column(SERIAL, primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    recorded_at: Mapped[datetime]
    question: Mapped[str] = mapped_column(Text)
    attacked: Mapped[bool]
    p_value: Mapped[float]
    mode: Mapped[str] = mapped_column(Text)
    error: Mapped[str | None]
    size: Mapped[int]
    kept: Mapped[int]
    passages: Mapped[tuple[JudgedPassage, ...]] = mapped_column(
        Json(_passages, lambda passages: [*map(vars, passages)])
    )
    calibration: Mapped[str]
    scorer: Mapped[str]
    version: Mapped[str]
    query: Mapped[str | None]
    tenant: Mapped[str] = mapped_column(server_default="")

    __table_args__ = (
        Index("ragguard_verdicts_by_time", "recorded_at", "seq"),
        Index("ragguard_verdicts_by_tenant", "tenant", "seq"),
    )
