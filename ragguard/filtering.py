"""The inline half as a guard runs it: from a query and its passages to a verdict that is counted.

What the judge says is turned into what is kept, and remembered for the reports of flagged
responses; and whatever goes wrong on the way becomes a verdict that says so.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Literal

from ragguard.arguments import pairs, require_k
from ragguard.audit.counting import VerdictCounter
from ragguard.audit.watch import QuarantineWatch
from ragguard.calibrator import Calibrator
from ragguard.embedding.adapt import Embedder
from ragguard.errors import InvalidInputError, JudgingError, RagguardError
from ragguard.inline.batch import embedded_at_once
from ragguard.inline.budget import Budget
from ragguard.inline.judgement import Judgement, Opened
from ragguard.inline.screen import open_screen, unjudged
from ragguard.inline.traffic import recorded
from ragguard.passage import Passage, as_passages
from ragguard.recent import RecentPassages
from ragguard.verdict import Mode, Verdict

__all__ = ["Filtering", "OnError"]

logger = logging.getLogger(__name__)

OnError = Literal["pass", "hold", "raise"]


class Filtering:
    """Filters retrieved sets. Safe to share between threads.

    Args:
        calibrator: Holds the judge in force.
        embedder: For sets in doubt.
        quarantine: What is dropped whatever the judge says.
        seen: Is told what the generator sees.
        counter: Is told what was judged.
        mode: "filter" or "monitor".
        on_error: What becomes of passages that were not judged.
        max_ms: Processor time for reading a set.
    """

    def __init__(
        self,
        calibrator: Calibrator,
        embedder: Embedder,
        *,
        quarantine: QuarantineWatch,
        seen: RecentPassages,
        counter: VerdictCounter,
        mode: Mode,
        on_error: OnError,
        max_ms: float,
    ) -> None:
        self._calibrator = calibrator
        self._embedder = embedder
        self._quarantine = quarantine
        self._seen = seen
        self._counter = counter
        self._mode: Mode = mode
        self._on_error: OnError = on_error
        self._max_ms = max_ms
        self._failures = 0

    def one(self, query: str, passages: Sequence[str | Passage], k: int | None) -> Verdict:
        """Return what `Guard.filter` returns."""
        given = _checked(query, passages, k)
        return self._verdict(query, given, k, self._open(query, given, k), self._embedder)

    def batch(
        self,
        queries_and_passages: Iterable[tuple[str, Sequence[str | Passage]]],
        k: int | None,
    ) -> list[Verdict]:
        """Return what `Guard.filter_batch` returns."""
        require_k(k)
        checked = [
            (query, _checked(query, passages, k))
            for query, passages in pairs("queries_and_passages", queries_and_passages)
        ]
        opened = [self._open(query, given, k) for query, given in checked]
        needs = [one.needs for one in opened if isinstance(one, Opened)]
        embedder = embedded_at_once(needs, self._embedder)
        return [
            self._verdict(query, given, k, one, embedder)
            for (query, given), one in zip(checked, opened, strict=True)
        ]

    def _open(self, query: str, given: list[Passage], k: int | None) -> Opened | Exception:
        try:
            return open_screen(
                query,
                given,
                len(given) if k is None else k,
                self._calibrator.judge,
                self._quarantine.keys(),
                Budget(self._max_ms),
            )
        except Exception as failure:
            return failure

    def _verdict(
        self,
        query: str,
        given: list[Passage],
        k: int | None,
        opened: Opened | Exception,
        embedder: Embedder,
    ) -> Verdict:
        try:
            if isinstance(opened, Exception):
                raise opened
            judgement = opened.finish(embedder)
        except Exception as failure:
            judgement = unjudged(given, self._quarantine.keys(), failure)
        error = self._told(judgement, len(given))
        if self._on_error == "hold" and judgement.undecided:
            if k is not None and not judgement.attacked:
                # What would move up in their place was not judged.
                k = max(0, k - len(judgement.undecided))
            judgement = judgement.with_the_undecided_held()
        drops = judgement.flagged if self._mode == "filter" else [False] * len(given)
        kept = [passage for passage, drop in zip(given, drops, strict=True) if not drop]
        dropped = [passage for passage, drop in zip(given, drops, strict=True) if drop]
        verdict = Verdict(
            kept=kept if k is None else kept[:k],
            dropped=dropped,
            attacked=judgement.attacked or judgement.held,
            p_value=judgement.p_value,
            evidence=judgement.explain,
            mode=self._mode,
            error=error,
        )
        self._seen.remember(query, verdict.kept)
        self._count(query, judgement, verdict, len(given))
        return verdict

    def _told(self, judgement: Judgement, passages: int) -> str | None:
        """Return what is to be said of a set that was not judged whole; raise it if so asked."""
        failure = judgement.failure
        if failure is None:
            return judgement.note
        if self._on_error == "raise":
            if isinstance(failure, RagguardError):
                raise failure
            raise JudgingError(
                f"the set cannot be judged ({type(failure).__name__}: {failure}); leave out the "
                'passage that causes it, or use on_error="hold"'
            ) from failure
        self._failures += 1
        # The first, second, fourth, eighth ...: whoever can make it fail must not fill the log.
        if self._failures & (self._failures - 1) == 0:
            logger.warning(
                "%d of %d passages were not judged whole and %s: %s: %s (%d such sets so far)",
                len(judgement.undecided),
                passages,
                "are held back" if self._on_error == "hold" else "pass",
                type(failure).__name__,
                failure,
                self._failures,
                exc_info=failure,
            )
        told = f"{type(failure).__name__}: {failure}"
        return told if judgement.note is None else f"{judgement.note}; {told}"

    def _count(self, query: str, judgement: Judgement, verdict: Verdict, passages: int) -> None:
        self._counter.add(
            recorded(judgement, query),
            queries=1,
            passages=passages,
            attacked=int(verdict.attacked),
            flagged=sum(judgement.flagged),
            dropped=len(verdict.dropped),
            errors=int(verdict.error is not None),
        )


def _checked(query: str, passages: Sequence[str | Passage], k: int | None) -> list[Passage]:
    if not isinstance(query, str):
        raise InvalidInputError(f"query must be a str, not {type(query).__name__}")
    require_k(k)
    return as_passages(passages)
