"""What is kept of verdicts in a SQL database: counters, and the scores of some queries.

Each function is part of its caller's transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from ragguard.audit.dialect import SCORES_LOCK, insert_into, lock
from ragguard.audit.models import CounterRow, ScoreRow
from ragguard.audit.records import ScoredQuery

__all__ = ["add_counts", "add_scores", "all_counts", "all_scores"]


def add_counts(session: Session, counts: Mapping[str, int]) -> None:
    """Add to the counters; those that are missing begin at 0."""
    added = insert_into(session, CounterRow)
    upsert = added.on_conflict_do_update(
        index_elements=[CounterRow.name],
        set_={"value": CounterRow.value + added.excluded.value},
    )
    # Sorted: two writers that lock the same counters in different order would deadlock.
    session.execute(upsert, [{"name": name, "value": int(counts[name])} for name in sorted(counts)])


def all_counts(session: Session) -> dict[str, int]:
    """Return the counters by name."""
    return {row.name: row.value for row in session.scalars(select(CounterRow))}


def add_scores(
    session: Session, scored: Sequence[ScoredQuery], *, sample: int, recent: int
) -> None:
    """Add scores, and of each scorer keep the newest `recent` and a sample of size `sample`."""
    # Two writers that forget the same rows in different order would deadlock.
    lock(session, SCORES_LOCK)
    session.execute(insert(ScoreRow), [ScoreRow.values(record) for record in scored])
    for scorer in {record.scorer for record in scored}:
        mine = select(ScoreRow.seq).where(ScoreRow.scorer == scorer)
        newest = mine.order_by(ScoreRow.seq.desc()).limit(recent)
        lowest = mine.order_by(ScoreRow.priority, ScoreRow.seq).limit(sample)
        session.execute(
            delete(ScoreRow)
            .where(ScoreRow.scorer == scorer)
            .where(ScoreRow.seq.not_in(newest), ScoreRow.seq.not_in(lowest))
            .execution_options(synchronize_session=False)
        )


def all_scores(session: Session) -> list[ScoredQuery]:
    """Return the scores that are kept, in the order in which they were added."""
    rows = session.scalars(select(ScoreRow).order_by(ScoreRow.seq))
    return [row.to_scored() for row in rows]
