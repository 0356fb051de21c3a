"""The tables of the SQL audit store.

Every text that a caller can choose goes through `AnyText`, so that the two databases keep the
same content byte for byte.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Double,
    ForeignKey,
    Index,
    Integer,
    Text,
    false,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from ragguard.audit.encoding import from_json, to_json
from ragguard.audit.fair_queueing import NOBODY
from ragguard.audit.records import (
    Event,
    EventStatus,
    QuarantineEntry,
    QuarantineStatus,
    ScoredQuery,
)
from ragguard.audit.sql_types import AnyText, UtcDateTime
from ragguard.passage import Passage

__all__ = [
    "SCHEMA_VERSION",
    "AttributionRow",
    "Base",
    "CounterRow",
    "EventRow",
    "MetaRow",
    "PassageRow",
    "QuarantineRow",
    "ScoreRow",
]

SCHEMA_VERSION = 5

_Serial = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    """The audit store's own tables; the prefix keeps them apart in a database that is shared."""


class MetaRow(Base):
    """Numbers about the store itself: "schema_version" and "quarantine_version"."""

    __tablename__ = "ragguard_meta"

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    value: Mapped[int] = mapped_column(BigInteger)


def _only(rows: ColumnElement[bool]) -> dict[str, Any]:
    return {"sqlite_where": rows, "postgresql_where": rows}


class EventRow(Base):
    """A flagged response."""

    __tablename__ = "ragguard_events"

    seq: Mapped[int] = mapped_column(_Serial, primary_key=True)
    id: Mapped[str] = mapped_column(AnyText, unique=True)
    query: Mapped[str] = mapped_column(AnyText)
    response: Mapped[str] = mapped_column(AnyText)
    reporter: Mapped[str | None] = mapped_column(AnyText)
    status: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    attempts: Mapped[int]
    error: Mapped[str | None] = mapped_column(AnyText)
    # Seconds since 1970: 0 when pending, the end of the lease when running, else NULL.
    claimable_at: Mapped[float | None] = mapped_column(Double)
    failures: Mapped[int] = mapped_column(server_default="0")
    reports: Mapped[int] = mapped_column(server_default="1")
    cut: Mapped[str | None] = mapped_column(AnyText)
    # Whoever reported it, by `lane`, in a row; and in whose lane it waits for which turn.
    lanes: Mapped[str] = mapped_column(Text, server_default=NOBODY)
    lane: Mapped[str] = mapped_column(Text, server_default=NOBODY)
    turn: Mapped[int] = mapped_column(BigInteger, server_default="0")
    bare: Mapped[bool] = mapped_column(server_default=false())

    passages: Mapped[list[PassageRow]] = relationship(
        order_by="PassageRow.position", lazy="selectin"
    )

    __table_args__ = (
        Index("ragguard_events_by_turn", "turn", "seq", **_only(claimable_at.isnot(None))),
        Index(
            "ragguard_events_with_passages_by_turn",
            # First, or SQLite takes whichever of the two was created last.
            "bare",
            "turn",
            "seq",
            **_only(claimable_at.isnot(None)),
        ),
        Index("ragguard_events_by_lane", "lane", "turn", **_only(claimable_at.isnot(None))),
        Index("ragguard_events_by_status", "status", "created_at", "seq"),
    )

    def to_event(self) -> Event:
        """Return the row as the record that the protocol names."""
        return Event(
            id=self.id,
            query=self.query,
            response=self.response,
            passages=tuple(passage.to_passage() for passage in self.passages),
            reporter=self.reporter,
            status=cast(EventStatus, self.status),
            created_at=self.created_at,
            attempts=self.attempts,
            error=self.error,
            failures=self.failures,
            reports=self.reports,
            reporters=len(self.lanes.split()),
            cut=self.cut,
        )


class PassageRow(Base):
    """A passage that the generator saw."""

    __tablename__ = "ragguard_event_passages"

    event_seq: Mapped[int] = mapped_column(ForeignKey(EventRow.seq), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    passage_id: Mapped[str] = mapped_column(AnyText)
    text: Mapped[str] = mapped_column(AnyText)
    score: Mapped[float | None] = mapped_column(Double)
    metadata_json: Mapped[str] = mapped_column(AnyText)

    @staticmethod
    def values(event_seq: int, position: int, passage: Passage) -> dict[str, object]:
        """Return the row's columns; the embedding is not kept, and a NaN score becomes None."""
        score = passage.score
        return {
            "event_seq": event_seq,
            "position": position,
            "passage_id": passage.id,
            "text": passage.text,
            "score": None if score is None or score != score else score,
            "metadata_json": to_json(passage.metadata),
        }

    def to_passage(self) -> Passage:
        """Return the row as a `Passage`."""
        return Passage(
            self.text,
            id=self.passage_id,
            score=self.score,
            metadata=from_json(self.metadata_json),
        )


class AttributionRow(Base):
    """The attribution of a finished event, as the JSON of `Attribution.to_dict`."""

    __tablename__ = "ragguard_attributions"

    event_seq: Mapped[int] = mapped_column(ForeignKey(EventRow.seq), primary_key=True)
    body_json: Mapped[str] = mapped_column(AnyText)


class QuarantineRow(Base):
    """A passage in quarantine, or released from it."""

    __tablename__ = "ragguard_quarantine"

    seq: Mapped[int] = mapped_column(_Serial, primary_key=True)
    key: Mapped[str] = mapped_column(AnyText, unique=True)
    passage_id: Mapped[str] = mapped_column(AnyText)
    text: Mapped[str] = mapped_column(AnyText)
    reason: Mapped[str] = mapped_column(AnyText)
    event_id: Mapped[str | None] = mapped_column(AnyText)
    status: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
    actor: Mapped[str | None] = mapped_column(AnyText)
    # The quarantine's version since which the key is held, or is not; 0 in older versions' rows.
    changed: Mapped[int] = mapped_column(BigInteger, server_default="0")

    __table_args__ = (Index("ragguard_quarantine_changed", "changed"),)

    @staticmethod
    def values(entry: QuarantineEntry) -> dict[str, object]:
        """Return the row's columns."""
        return {
            "key": entry.key,
            "passage_id": entry.passage_id,
            "text": entry.text,
            "reason": entry.reason,
            "event_id": entry.event_id,
            "status": entry.status,
            "created_at": entry.created_at,
            "updated_at": entry.updated_at,
            "actor": entry.actor,
        }

    def to_entry(self) -> QuarantineEntry:
        """Return the row as the record that the protocol names."""
        return QuarantineEntry(
            key=self.key,
            passage_id=self.passage_id,
            text=self.text,
            reason=self.reason,
            event_id=self.event_id,
            status=cast(QuarantineStatus, self.status),
            created_at=self.created_at,
            updated_at=self.updated_at,
            actor=self.actor,
        )


class CounterRow(Base):
    """A verdict counter."""

    __tablename__ = "ragguard_counters"

    name: Mapped[str] = mapped_column(AnyText, primary_key=True)
    value: Mapped[int] = mapped_column(BigInteger)


class ScoreRow(Base):
    """What one query scored in the filter."""

    __tablename__ = "ragguard_scores"

    seq: Mapped[int] = mapped_column(_Serial, primary_key=True)
    recorded_at: Mapped[datetime] = mapped_column(UtcDateTime)
    scorer: Mapped[str] = mapped_column(AnyText)
    with_reference: Mapped[bool]
    attacked: Mapped[bool]
    score: Mapped[float] = mapped_column(Double)
    suspicions_json: Mapped[str] = mapped_column(Text)
    priority: Mapped[float] = mapped_column(Double)
    # NULL in what older versions recorded.
    question: Mapped[str | None] = mapped_column(AnyText)

    @staticmethod
    def values(scored: ScoredQuery) -> dict[str, object]:
        """Return the row's columns."""
        return {
            "recorded_at": scored.recorded_at,
            "scorer": scored.scorer,
            "with_reference": scored.with_reference,
            "attacked": scored.attacked,
            "score": scored.score,
            "suspicions_json": to_json(scored.suspicions),
            "priority": scored.priority,
            "question": scored.question,
        }

    def to_scored(self) -> ScoredQuery:
        """Return the row as the record that the protocol names."""
        return ScoredQuery(
            score=self.score,
            suspicions=tuple(from_json(self.suspicions_json)),
            with_reference=self.with_reference,
            attacked=self.attacked,
            scorer=self.scorer,
            recorded_at=self.recorded_at,
            priority=self.priority,
            question=self.question or "",
        )
