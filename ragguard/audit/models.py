"""The tables of the SQL audit store, but for those of `ragguard.audit.decision_models`.

A text is an `AnyText`, so that the two databases keep the same content byte for byte, unless its
column says `Text`: no caller can choose that one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import fields
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar

from sqlalchemy import BigInteger, DateTime, Double, Index, Integer, Text, false, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator

from ragguard.audit.encoding import escape, from_json, to_json, unescape
from ragguard.audit.fair_queueing import NOBODY
from ragguard.audit.quarantine import as_utc
from ragguard.audit.records import OPEN, Event, ScoredQuery
from ragguard.passage import Passage

SERIAL = BigInteger().with_variant(Integer, "sqlite")


class AnyText(TypeDecorator[str]):
    """Text of any code points, lone surrogates and NUL included."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: object) -> str | None:  # noqa: ARG002
        return None if value is None else escape(value)

    def process_result_value(self, value: str | None, dialect: object) -> str | None:  # noqa: ARG002
        return None if value is None else unescape(value)


class Json(AnyText):
    """A value as JSON; `read` makes it of what JSON gives back."""

    cache_ok = True

    def __init__(self, read: Callable[[Any], Any], write: Callable[[Any], object] = list) -> None:
        super().__init__()
        self.read, self.write = read, write

    def process_bind_param(self, value: Any, dialect: object) -> str | None:  # noqa: ARG002
        # Not ASCII: two surrogates would be read back as one character.
        return escape(json.dumps(self.write(value), ensure_ascii=False))

    def process_result_value(self, value: Any, dialect: object) -> Any:  # noqa: ARG002
        return self.read(from_json(unescape(value)))


class UtcDateTime(TypeDecorator[datetime]):
    """A moment: timezone-aware and in UTC on every database."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: object) -> datetime | None:  # noqa: ARG002
        return None if value is None else as_utc(value)

    process_result_value = process_bind_param  # SQLite keeps no timezone


class Base(DeclarativeBase):
    """The audit store's own tables; the prefix keeps them apart in a database that is shared."""

    type_annotation_map: ClassVar = {str: AnyText, datetime: UtcDateTime, float: Double}


R = TypeVar("R")


class OfRecord(Generic[R]):
    """What a table has whose rows are records of a dataclass; its fields are columns."""

    record: ClassVar[Any]
    __table__: ClassVar[Any]

    @classmethod
    def shared(cls, source: object) -> dict[str, Any]:
        """Return what a row and its record have in common, from one of the two."""
        columns = cls.__table__.columns
        names = [field.name for field in fields(cls.record) if field.name in columns]
        return {name: getattr(source, name) for name in names}

    def to_record(self) -> R:
        found: R = self.record(**self.shared(self))
        return found


VERSION = "quarantine_version"
"""The version of what the filter is told: one number for quarantine and allow-list."""


class MetaRow(Base):
    """A number about the store itself: its `VERSION`."""

    __tablename__ = "ragguard_meta"

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    value: Mapped[int] = mapped_column(BigInteger)


def _of_open(name: str, *columns: str) -> Index:
    is_open = text("claimable_at IS NOT NULL")
    return Index(name, *columns, sqlite_where=is_open, postgresql_where=is_open)


def _written(passages: Iterable[Passage]) -> list[tuple[str, str, float | None, str]]:
    """Return passages as JSON takes them; no embeddings are kept, and a NaN score becomes None."""
    kept = []
    for one in passages:
        score = None if one.score is None or math.isnan(one.score) else one.score
        # What is no text fails here, and not once it is read.
        kept.append((str.__str__(one.id), str.__str__(one.text), score, to_json(one.metadata)))
    return kept


def _read(found: Iterable[tuple[str, str, float | None, str]]) -> tuple[Passage, ...]:
    return tuple(
        Passage(text, id=name, score=score, metadata=from_json(metadata))
        for name, text, score, metadata in found
    )


class EventRow(OfRecord[Event], Base):
    """A flagged response."""

    record = Event
    __tablename__ = "ragguard_events"

    seq: Mapped[int] = mapped_column(SERIAL, primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    query: Mapped[str]
    response: Mapped[str]
    reporter: Mapped[str | None]
    status: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime]
    attempts: Mapped[int]
    error: Mapped[str | None]
    # Seconds since 1970: when pending 0, or the end of the wait after a failed attempt; when
    # running the end of the lease; else NULL.
    claimable_at: Mapped[float | None]
    failures: Mapped[int] = mapped_column(server_default="0")
    attempts_before: Mapped[int] = mapped_column(server_default="0")
    reports: Mapped[int] = mapped_column(server_default="1")
    cut: Mapped[str | None]
    # Whoever reported it, by `lane`, in a row; and in whose lane it waits for which turn.
    lanes: Mapped[str] = mapped_column(Text, server_default=NOBODY)
    lane: Mapped[str] = mapped_column(Text, server_default=NOBODY)
    turn: Mapped[int] = mapped_column(BigInteger, server_default="0")
    bare: Mapped[bool] = mapped_column(server_default=false())
    tenant: Mapped[str] = mapped_column(server_default="")

    # Last, and read where somebody asks for them: these may be long.
    seen: Mapped[tuple[Passage, ...]] = mapped_column(Json(_read, _written), deferred=True)
    attribution_json: Mapped[str | None] = mapped_column(deferred=True)  # `Attribution.to_dict`

    __table_args__ = (
        _of_open("ragguard_events_by_turn", "turn", "seq"),
        # "bare" first, or SQLite takes whichever of the two was created last.
        _of_open("ragguard_events_with_passages_by_turn", "bare", "turn", "seq"),
        _of_open("ragguard_events_by_lane", "lane", "turn"),
        Index("ragguard_events_by_status", "status", "created_at", "seq"),
        Index("ragguard_events_by_tenant", "tenant", "created_at", "seq"),
    )

    @classmethod
    def values(cls, event: Event, turn: int) -> dict[str, Any]:
        return {
            **cls.shared(event),
            "claimable_at": 0.0 if event.status in OPEN else None,
            "lanes": event.lane,
            "lane": event.lane,
            "turn": turn,
            "bare": not event.passages,
            "seen": event.passages,
        }

    def to_record(self) -> Event:
        """Return the event; without its passages where a query leaves them out."""
        seen = self.__dict__.get("seen", ())
        return Event(**self.shared(self), passages=seen, reporters=len(self.lanes.split()))


class CounterRow(Base):
    """A verdict counter."""

    __tablename__ = "ragguard_counters"

    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[int] = mapped_column(BigInteger)


class ScoreRow(OfRecord[ScoredQuery], Base):
    """What one query scored in the filter."""

    record = ScoredQuery
    __tablename__ = "ragguard_scores"

    seq: Mapped[int] = mapped_column(SERIAL, primary_key=True)
    recorded_at: Mapped[datetime]
    scorer: Mapped[str]
    with_reference: Mapped[bool]
    attacked: Mapped[bool]
    score: Mapped[float]
    suspicions: Mapped[tuple[float, ...]] = mapped_column(Json(tuple))
    priority: Mapped[float]
    question: Mapped[str]
    naming: Mapped[bool] = mapped_column(server_default=false())
