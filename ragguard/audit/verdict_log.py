"""Writes down verdicts that dropped, marked or failed, off the inline path: a thread does it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from ragguard._version import __version__
from ragguard.audit.periodic import WRITE_S, Writer
from ragguard.audit.quarantine import utc_now
from ragguard.audit.records import AuditStore
from ragguard.audit.verdict_counter import VerdictCounter
from ragguard.audit.verdicts import KEPT_DAYS, KEPT_VERDICTS, JudgedPassage, Outcome, VerdictRecord
from ragguard.content import content_key
from ragguard.passage import Passage
from ragguard.quiet_log import QuietLog
from ragguard.recent_passages import passages_bytes
from ragguard.text import both_ends, printable
from ragguard.verdict import Evidence, Verdict

logger = logging.getLogger(__name__)

MOST_PASSAGES = 100
"""How many passages a record holds."""

_MAX_PENDING, _MAX_PENDING_BYTES = 1000, 32_000_000
_ID_CHARS, _REASON_CHARS, _TEXT_CHARS, _TEXTS_CHARS = 200, 1000, 20_000, 60_000
_SHOWN_PASSAGES, _SHOWN_CHARS = 3, 80


@dataclass(frozen=True)
class Judged:
    """A verdict on its way into the log, as in `VerdictRecord`, with all passages in rank order."""

    query: str
    question: str
    passages: Sequence[Passage]
    verdict: Verdict
    calibration: str
    scorer: str
    tenant: str = ""


def record_of(judged: Judged, *, with_texts: bool) -> VerdictRecord:
    """Return what is kept of a verdict; texts are bounded, and both ends of long ones are kept."""
    verdict = judged.verdict
    room = _TEXTS_CHARS if with_texts else 0
    rows: list[JudgedPassage] = []
    for passage, evidence in zip(judged.passages, verdict.evidence, strict=True):
        outcome = _outcome(evidence, drops=verdict.mode == "filter")
        if outcome is None or len(rows) == MOST_PASSAGES:
            continue
        text = both_ends(passage.text, _TEXT_CHARS) if room > 0 else None
        room -= len(text or "")
        rows.append(
            JudgedPassage(
                passage_id=passage.id[:_ID_CHARS],
                key=content_key(passage.text),
                outcome=outcome,
                signal=evidence.signal,
                strength=float(evidence.strength),
                suspicion=float(evidence.suspicion),
                reason=evidence.reason[:_REASON_CHARS],
                text=text,
            )
        )
    return VerdictRecord(
        id=verdict.id or "",
        question=judged.question,
        attacked=verdict.attacked,
        p_value=float(verdict.p_value),
        mode=verdict.mode,
        error=None if verdict.error is None else verdict.error[:_REASON_CHARS],
        size=len(judged.passages),
        kept=len(verdict.kept),
        passages=tuple(rows),
        calibration=judged.calibration[:_REASON_CHARS],
        scorer=judged.scorer,
        version=__version__,
        recorded_at=utc_now(),
        query=both_ends(judged.query, _TEXT_CHARS) if with_texts else None,
        tenant=judged.tenant,
    )


def _outcome(evidence: Evidence, *, drops: bool) -> Outcome | None:
    if evidence.flagged:
        return "dropped" if drops else "flagged"
    if evidence.marked:
        return "marked"
    return None if evidence.decided else "undecided"


class VerdictLog(Writer):
    """Verdicts that reach the store, and the log, within a second or so.

    A thousand wait at most, or 32 MB of passages; what comes on top is lost and counted
    (`verdicts_lost`). A store with no place for verdicts gets none. Texts are kept `with_texts`.
    """

    def __init__(
        self, store: AuditStore, counter: VerdictCounter, *, with_texts: bool = False
    ) -> None:
        self._store, self._keeps = store, hasattr(store, "add_verdicts")
        self._counter, self._with_texts = counter, with_texts
        self._lines = QuietLog(logger)
        self._unmade = 0
        super().__init__("ragguard-verdicts", WRITE_S)

    def _begin(self) -> None:
        super()._begin()
        self._pending: list[Judged] = []
        self._bytes = 0
        self._unwritten: list[VerdictRecord] = []

    def add(self, judged: Judged) -> None:
        """Have a verdict written down; costs a few microseconds, and never raises or waits."""
        size = 1000 + passages_bytes(judged.passages)
        with self._lock:
            full = len(self._pending) >= _MAX_PENDING or self._bytes + size > _MAX_PENDING_BYTES
            if not full:
                self._pending.append(judged)
                self._bytes += size
            self._start()
        if full:
            self._counter.add(verdicts_lost=1)

    def flush(self) -> None:
        """Write what is pending; on a failing store it is kept for the next time."""
        with self._stepping:
            with self._lock:
                pending, self._pending = self._pending, []
                self._bytes = 0
            for judged in pending:
                try:
                    record = record_of(judged, with_texts=self._with_texts)
                except Exception as error:  # one that cannot be put into words costs itself
                    self._lose(error)
                    continue
                self._tell(record)
                self._unwritten.append(record)
            if self._keeps and self._unwritten:
                try:
                    self._store.add_verdicts(self._unwritten, keep=KEPT_VERDICTS, days=KEPT_DAYS)
                except Exception as error:  # whatever a store raises, the thread must live on
                    self._fails("rows of verdicts", error)
                    if (over := len(self._unwritten) - _MAX_PENDING) > 0:
                        del self._unwritten[:over]
                        self._counter.add(verdicts_lost=over)
                    return
            self._unwritten, self.error = [], None

    @property
    def unwritten(self) -> int:
        """How many rows wait for the store."""
        return len(self._pending) + len(self._unwritten)

    def _lose(self, error: Exception) -> None:
        self._counter.add(verdicts_lost=1)
        self._unmade += 1
        # The first, second, fourth, eighth ...: many alike must not fill the log.
        if self._unmade & (self._unmade - 1) == 0:
            logger.warning("a row of a verdict cannot be made, and is lost; report this: %s", error)

    def _tell(self, record: VerdictRecord) -> None:
        if not record.dropped or not self._lines.is_read:
            return
        gone = [one for one in record.passages if one.outcome == "dropped"]
        told = "; ".join(
            f"{printable(one.passage_id)[:_SHOWN_CHARS]} ({printable(one.reason)[:_SHOWN_CHARS]})"
            for one in gone[:_SHOWN_PASSAGES]
        )
        more = f"; and {len(gone) - _SHOWN_PASSAGES} more" if len(gone) > _SHOWN_PASSAGES else ""
        self._lines.info(
            "dropped %d of %d passages, p = %.3g: %s%s; verdict %s%s",
            *(len(gone), record.size, record.p_value, told, more, record.id),
            f" of tenant {record.tenant}" if record.tenant else "",
        )
