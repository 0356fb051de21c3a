"""The inline half as a guard runs it: from a query and its passages to a verdict that is counted.

What the filter decides is turned into what is kept, and remembered for the reports of flagged
responses; and whatever goes wrong on the way becomes a verdict that says so.
"""

from __future__ import annotations

import logging
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from ragguard.arguments import RetrievedSets, pairs, require_k, require_tenant
from ragguard.audit.verdict_counter import VerdictCounter
from ragguard.audit.verdict_log import Judged, VerdictLog
from ragguard.audit.watch import QuarantineWatch
from ragguard.calibrator import Calibrator
from ragguard.embedding.adapt import Embedder
from ragguard.embedding.vectors import CachedEmbedder, carried
from ragguard.errors import InvalidInputError, JudgingError, RagguardError
from ragguard.inline.budget import Budget
from ragguard.inline.decision import Decision
from ragguard.inline.explanations import with_marks
from ragguard.inline.scoring import SCORER
from ragguard.inline.screening import Screened, screened, undecided
from ragguard.passage import Passage, as_passages
from ragguard.recent_passages import RecentPassages
from ragguard.score_records import question_hash, record_of
from ragguard.telemetry import Spans
from ragguard.trust import Trust
from ragguard.verdict import Mode, Verdict

logger = logging.getLogger(__name__)

OnError = Literal["pass", "hold", "raise"]


@dataclass(eq=False)
class Filtering:
    """Filters retrieved sets, with the arguments and parts of a `Guard`. Threads may share it."""

    calibrator: Calibrator
    embedder: Embedder
    quarantine: QuarantineWatch
    seen: RecentPassages
    counter: VerdictCounter
    log: VerdictLog
    on_verdict: Callable[[Verdict], object] | None
    mode: Mode
    on_error: OnError
    max_ms: float
    trust: Trust | None

    def __post_init__(self) -> None:
        self._spans = Spans()
        self._failures = 0
        self._unheard = 0

    def one(
        self, query: str, passages: Sequence[str | Passage], k: int | None, tenant: str | None
    ) -> Verdict:
        """Return what `Guard.filter` returns."""
        if not isinstance(query, str):
            raise InvalidInputError(f"query must be a str, not {type(query).__name__}")
        # A subclass may compare as it likes, and what is remembered is found by comparing.
        return self._judged([(str.__str__(query), as_passages(passages))], k, tenant)[0]

    def batch(
        self,
        queries_and_passages: RetrievedSets,
        k: int | None,
        tenant: str | None,
    ) -> list[Verdict]:
        """Return what `Guard.filter_batch` returns."""
        return self._judged(list(pairs("queries_and_passages", queries_and_passages)), k, tenant)

    def _judged(
        self, sets: list[tuple[str, list[Passage]]], k: int | None, tenant: str | None
    ) -> list[Verdict]:
        most, whose = require_k(k), require_tenant(tenant)
        found = [
            (time.time_ns(), self._screened(query, given, most, whose)) for query, given in sets
        ]
        embedder = self.embedder
        if len(sets) > 1:
            needs = [one.gated.needs for _, one in found if isinstance(one, Screened)]
            embedder = embedded_at_once(needs, embedder)
        return [
            self._spans.around(
                partial(self._verdict, query, given, most, whose, one, embedder), begun
            )
            for (query, given), (begun, one) in zip(sets, found, strict=True)
        ]

    def _screened(
        self, query: str, given: list[Passage], k: int | None, tenant: str
    ) -> Screened | Exception:
        try:
            return screened(
                query,
                given,
                len(given) if k is None else k,
                self.calibrator.filter,
                self.quarantine.held(tenant),
                Budget(self.max_ms),
                self.trust,
            )
        except Exception as failure:
            return failure

    def _verdict(
        self,
        query: str,
        given: list[Passage],
        k: int | None,
        tenant: str,
        found: Screened | Exception,
        embedder: Embedder,
    ) -> Verdict:
        try:
            if isinstance(found, Exception):
                raise found
            decision = found.decide(embedder)
        except Exception as failure:
            decision = undecided(given, self.quarantine.held(tenant), failure, self.trust)
        raised = self._raised(decision.failure)
        error = self._told(decision, len(given))
        if self.on_error == "hold" and decision.undecided:
            if k is not None and not decision.attacked:
                # What would move up in their place was not judged.
                k = max(0, k - len(decision.undecided))
            decision = decision.with_undecided_dropped()
        kept, dropped, drops = given, [], self.mode == "filter"
        marked = decision.marked(k, drops=drops)
        if drops and any(decision.flagged):
            judged = list(zip(given, decision.flagged, strict=True))
            kept = [passage for passage, drop in judged if not drop]
            dropped = [passage for passage, drop in judged if drop]
        if raised is not None:
            kept, marked = [], []  # the caller gets none
        attacked = decision.attacked or decision.in_quarantine
        told = attacked or bool(marked) or error is not None or any(decision.flagged)
        verdict = Verdict(
            kept=kept[:k],
            dropped=dropped,
            attacked=attacked,
            p_value=decision.p_value,
            evidence=partial(with_marks, decision.explain, marked) if marked else decision.explain,
            mode=self.mode,
            error=error,
            marked=[given[place] for place in marked],
            id=secrets.token_hex(8) if told else None,
        )
        if raised is None:
            self.seen.remember(query, verdict.kept, tenant)
        scored = record_of(decision, query)
        self.counter.add(
            scored,
            queries=1,
            passages=len(given),
            attacked=int(verdict.attacked),
            flagged=sum(decision.flagged),
            dropped=len(dropped),
            marked=len(marked),
            errors=int(error is not None),
        )
        if told:
            question = _hash_of(query) if scored is None else scored.question
            in_force = self.calibrator.in_force
            self.log.add(Judged(query, question, given, verdict, in_force, SCORER, tenant))
        if raised is not None:
            raise raised
        if self.on_verdict is not None:
            self._hear(verdict, self.on_verdict)
        return verdict

    def _hear(self, verdict: Verdict, listener: Callable[[Verdict], object]) -> None:
        try:
            listener(verdict)
        except Exception as error:  # the verdict stands, whatever others make of it
            self._unheard += 1
            if self._unheard & (self._unheard - 1) == 0:
                logger.exception("on_verdict failed (%d times so far): %s", self._unheard, error)

    def _raised(self, failure: Exception | None) -> RagguardError | None:
        """Return what is raised of a set that was not judged whole, once it is written down."""
        if failure is None or self.on_error != "raise":
            return None
        if isinstance(failure, RagguardError):
            return failure
        raised = JudgingError(
            f"the set cannot be judged ({type(failure).__name__}: {failure}); leave out the "
            'passage that causes it, or use on_error="hold"'
        )
        raised.__cause__ = failure
        return raised

    def _told(self, decision: Decision, passages: int) -> str | None:
        """Return what is to be said of a set that was not judged whole, or None."""
        failure = decision.failure
        if failure is None:
            return decision.note
        self._failures += 1
        # The first, second, fourth, eighth ...: whoever can make it fail must not fill the log.
        if self.on_error != "raise" and self._failures & (self._failures - 1) == 0:
            logger.warning(
                "%d of %d passages were not judged whole and %s: %s: %s (%d such sets so far)",
                len(decision.undecided),
                passages,
                "are held back" if self.on_error == "hold" else "pass",
                type(failure).__name__,
                failure,
                self._failures,
                exc_info=failure,
            )
        told = f"{type(failure).__name__}: {failure}"
        return told if decision.note is None else f"{decision.note}; {told}"


def _hash_of(query: str) -> str:
    try:
        return question_hash(query)
    except Exception:  # whatever kept the set from being judged
        return ""


def embedded_at_once(sets: Iterable[Sequence[Passage]], embedder: Embedder) -> Embedder:
    """Return an embedder that knows the vectors of these sets, from one call of `embedder`.

    Passages of a set whose vectors can be used are not embedded. If the call fails, `embedder`
    itself is returned: one text that cannot be embedded must not cost the other sets theirs.
    """
    texts = dict.fromkeys(
        passage.text for passages in sets if carried(passages) is None for passage in passages
    )
    if not texts:
        return embedder
    # They stay even where the batch is larger than the cache of `embedder`.
    known = CachedEmbedder(embedder, max_bytes=sys.maxsize)
    try:
        known.embed(list(texts))
    except RagguardError as error:
        logger.warning(
            "%d texts cannot be embedded at once, trying set by set: %s", len(texts), error
        )
        return embedder
    return known
