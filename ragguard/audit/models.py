"""The tables of the SQL audit store, and how those of older versions are brought up to date.

Every text that a caller can choose goes through `AnyText`, so that the two databases keep the
same content byte for byte.
"""

from __future__ import annotations

import time
from dataclasses import fields
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Double,
    ForeignKey,
    Index,
    Integer,
    Text,
    false,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship
from sqlalchemy.schema import CreateColumn, CreateTable

from ragguard.audit.encoding import AnyText, UtcDateTime, from_json, to_json
from ragguard.audit.fair_queueing import NOBODY, lane_of
from ragguard.audit.records import OPEN, Event, QuarantineEntry, ScoredQuery
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
    "bring_up_to_date",
    "schema_version",
]

SCHEMA_VERSION = 5
_TURNS_SINCE = 5  # the version that gave events turns and marks those without passages

_Serial = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    """The audit store's own tables; the prefix keeps them apart in a database that is shared.

    Attributes:
        record: The dataclass that a row is kept for; fields of a column's name are that column.
    """

    record: ClassVar[Any]

    @classmethod
    def shared(cls, source: object) -> dict[str, Any]:
        """Return what a row and its record have in common, from one of the two."""
        columns = cls.__table__.columns
        names = [field.name for field in fields(cls.record) if field.name in columns]
        return {name: getattr(source, name) for name in names}


class MetaRow(Base):
    """Numbers about the store itself: "schema_version" and "quarantine_version"."""

    __tablename__ = "ragguard_meta"

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    value: Mapped[int] = mapped_column(BigInteger)


def _of_open(name: str, claimable_at: Any, *columns: str) -> Index:
    is_open: ColumnElement[bool] = claimable_at.isnot(None)
    return Index(name, *columns, sqlite_where=is_open, postgresql_where=is_open)


class EventRow(Base):
    """A flagged response."""

    record = Event
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
        _of_open("ragguard_events_by_turn", claimable_at, "turn", "seq"),
        # "bare" first, or SQLite takes whichever of the two was created last.
        _of_open("ragguard_events_with_passages_by_turn", claimable_at, "bare", "turn", "seq"),
        _of_open("ragguard_events_by_lane", claimable_at, "lane", "turn"),
        Index("ragguard_events_by_status", "status", "created_at", "seq"),
    )

    @classmethod
    def values(cls, event: Event, turn: int) -> dict[str, Any]:
        """Return the row's columns."""
        lane = lane_of(event.reporter)
        return {
            **cls.shared(event),
            "claimable_at": 0.0 if event.status in OPEN else None,
            "lanes": lane,
            "lane": lane,
            "turn": turn,
            "bare": not event.passages,
        }

    def to_event(self) -> Event:
        """Return the row as the record that the protocol names."""
        passages = tuple(passage.to_passage() for passage in self.passages)
        reporters = len(self.lanes.split())
        return Event(**self.shared(self), passages=passages, reporters=reporters)


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
        metadata = from_json(self.metadata_json)
        return Passage(self.text, id=self.passage_id, score=self.score, metadata=metadata)


class AttributionRow(Base):
    """The attribution of a finished event, as the JSON of `Attribution.to_dict`."""

    __tablename__ = "ragguard_attributions"

    event_seq: Mapped[int] = mapped_column(ForeignKey(EventRow.seq), primary_key=True)
    body_json: Mapped[str] = mapped_column(AnyText)


class QuarantineRow(Base):
    """A passage in quarantine, or released from it."""

    record = QuarantineEntry
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

    def to_entry(self) -> QuarantineEntry:
        """Return the row as the record that the protocol names."""
        return QuarantineEntry(**self.shared(self))


class CounterRow(Base):
    """A verdict counter."""

    __tablename__ = "ragguard_counters"

    name: Mapped[str] = mapped_column(AnyText, primary_key=True)
    value: Mapped[int] = mapped_column(BigInteger)


class ScoreRow(Base):
    """What one query scored in the filter."""

    record = ScoredQuery
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

    @classmethod
    def values(cls, scored: ScoredQuery) -> dict[str, Any]:
        """Return the row's columns."""
        return {**cls.shared(scored), "suspicions_json": to_json(scored.suspicions)}

    def to_scored(self) -> ScoredQuery:
        """Return the row as the record that the protocol names."""
        suspicions = tuple(from_json(self.suspicions_json))
        shared = {**self.shared(self), "question": self.question or ""}
        return ScoredQuery(**shared, suspicions=suspicions)


def schema_version(session: Session) -> int | None:
    """Return the version of the tables that are there, or None if there are none."""
    if not inspect(session.connection()).has_table(MetaRow.__tablename__):
        return None
    return session.scalar(select(MetaRow.value).where(MetaRow.name == "schema_version"))


def bring_up_to_date(session: Session) -> int:
    """Create what older tables lack, or all of them, and return the version that there is then.

    Versions have only ever added tables, indexes, and columns that may be empty or have a default
    of the database's: making what is missing is enough.
    """
    found = schema_version(session)
    if found is not None and found >= SCHEMA_VERSION:
        return found
    connection = session.connection()
    for table in Base.metadata.sorted_tables:
        session.execute(CreateTable(table, if_not_exists=True))
    there = inspect(connection)
    for table in Base.metadata.sorted_tables:
        present = {column["name"] for column in there.get_columns(table.name)}
        for column in table.columns:
            if column.name not in present:
                definition = CreateColumn(column).compile(dialect=connection.dialect)
                session.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {definition}"))
        # In one order: of two indexes that serve equally well SQLite takes the last one made.
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            index.create(connection, checkfirst=True)
    if found is None:
        # The time and not 0: versions of two stores that take each other's place at one address
        # are not mistaken for each other.
        session.add(MetaRow(name="quarantine_version", value=time.time_ns() // 1_000_000))
    elif found < _TURNS_SINCE:
        # Open events keep turn 0, so they come before all that is reported from now on.
        session.execute(text("DROP INDEX IF EXISTS ragguard_events_claimable"))
        bare = EventRow.claimable_at.isnot(None) & ~EventRow.passages.any()
        session.execute(
            update(EventRow).where(bare).values(bare=True),
            execution_options={"synchronize_session": False},
        )
    session.merge(MetaRow(name="schema_version", value=SCHEMA_VERSION))
    return SCHEMA_VERSION
