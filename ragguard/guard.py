"""The guard: the one object a user holds. It joins the inline and the background half."""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # noqa: F401 - asyncio imports it with the first query else
import os
import weakref
from collections.abc import Callable, Collection, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self

from ragguard.arguments import RetrievedSets, pairs, require_k
from ragguard.attribution.result import Attributor, Retrieve
from ragguard.audit import AuditStore
from ragguard.background.policy import Policy, PolicyName
from ragguard.embedding import Embedder
from ragguard.filtering import OnError
from ragguard.guard_decisions import Deciding
from ragguard.guard_parts import Health, Parts, remade
from ragguard.guard_reports import Feedback
from ragguard.inline.conformal import Calibration
from ragguard.inline.decision import Strategy
from ragguard.passage import Passage
from ragguard.trust import Trust
from ragguard.verdict import Mode, Verdict

if TYPE_CHECKING:
    from ragguard.proxy import Proxy

__all__ = ["Guard"]


class Guard(Feedback, Deciding):
    """Filters retrieved passages inline, and traces flagged responses in the background.

    A guard is safe to share between threads, and works on both sides of a fork. A pickled one is
    made anew from its settings, with the calibration that it has adopted: it opens the store's URL
    (which goes along, password included), and makes no store where there is none, or begins with
    what was in quarantine in memory. A copy in the same process shares all objects that it was
    given, and what is kept in memory.

    Args:
        embedder: None for the built-in embedder (no model, no download); an `Embedder`, a LangChain
            `Embeddings`, a LlamaIndex `BaseEmbedding`, a SentenceTransformer or a callable.
        strategy: RAGDefender's grouping, where words do not decide; "auto" goes by the question.
        alpha: Share of clean queries that the filter may touch, in (0, 1).
        store: URL or path of the audit database, a store, or None to keep all in memory.
        mode: "filter" drops passages; "monitor" judges and records but drops nothing.
        on_error: What becomes of passages that could not be judged, or not whole: "pass" keeps
            them, "hold" drops them, "raise" raises if something failed. What is in quarantine,
            what words alone flag and what cannot be read at all is dropped all the same.
            `Verdict.error`, the evidence, the log and the counters tell.
        calibration: What clean traffic scores: a `Calibration`, a file written by
            `save_calibration`, or None for the shipped one.
        retrieve: Searches the whole knowledge base for attributions: `retrieve(query, limit)`,
            best first, or whatever else `ragguard.attribution.search.as_retrieve` takes.
            Without it, attributions search the passages of the event. A `retrieve` that takes
            `tenant=None` is told whose event it searches for.
        attributor: Finds the responsible passages; None means `RAGOrigin` with `proxy`.
        proxy: The language model that attributions score with: a `Proxy`, a model's name
            ("smollm2", "lexical") or an exported folder; None: `ragguard.proxy.default()`.
        policy: What an attribution may do: "observe" nothing, "review" propose passages to a
            person, "auto" quarantine them where evidence and limits allow; or a
            `ragguard.background.Policy`. None: "review" with a store that outlives the process,
            "auto" in memory.
        trust: Which passages a person alone drops, and which come from people you know
            (`ragguard.trust.Trust`); or names of protected sources, as `metadata["source"]` gives
            them. None: all are open.
        max_ms: Milliseconds of processor time for reading one retrieved set, without the embedder.
            Once they are spent, 2,000 characters at the ends of each further text are still judged;
            the rest of it follows `on_error`.
        mark_alpha: Share of clean queries in which a passage may be marked (kept, and listed in
            `Verdict.marked`) or dropped, from `alpha` to below 1. None means 5 `alpha`, or 0.99
            where that is less; `alpha` marks nothing that is not flagged.
        on_verdict: Called with every `Verdict`, in the thread that judges: the one that asks, or
            for `afilter` and `afilter_batch` one of asyncio's. What it raises is logged.
        record_texts: Whether the store keeps the question and the passages, too, of a verdict that
            dropped, marked or failed; else their hashes and ids alone.
        attribute: Whether this guard attributes reports, its own and others' on the same store.
            False leaves all to `ragguard worker`, on a store that outlives the process: `policy`,
            `retrieve`, `attributor` and `proxy` then do nothing, and the worker's count.

    Raises:
        InvalidInputError: An argument is out of range or of the wrong type.
        CalibrationError: The calibration cannot be read, or has too few queries for `alpha`.
        ProxyError: The proxy that was named is missing.
        StoreError: The store cannot be opened.
    """

    def __init__(
        self,
        *,
        embedder: Embedder | Any | None = None,
        strategy: Strategy = "auto",
        alpha: float = 0.01,
        store: str | os.PathLike[str] | AuditStore | None = None,
        mode: Mode = "filter",
        on_error: OnError = "pass",
        calibration: Calibration | str | os.PathLike[str] | None = None,
        retrieve: Retrieve | Any | None = None,
        attributor: Attributor | None = None,
        proxy: Proxy | str | os.PathLike[str] | None = None,
        policy: Policy | PolicyName | None = None,
        trust: Trust | Collection[str] | None = None,
        max_ms: float = 50.0,
        mark_alpha: float | None = None,
        on_verdict: Callable[[Verdict], object] | None = None,
        record_texts: bool = False,
        attribute: bool = True,
    ) -> None:
        self._parts = Parts(**{name: value for name, value in locals().items() if name != "self"})
        weakref.finalize(self, self._parts.retire).atexit = False

    @classmethod
    def ragdefender(cls, **options: Any) -> Self:
        """Make a guard that runs RAGDefender as published: no gate, passages dropped every time.

        The benchmark's baseline. Of the options of `Guard`, `alpha` and `calibration` do nothing.
        """
        guard = cls(**options)
        guard._parts.calibrator.filter_without_gate()
        return guard

    @property
    def store(self) -> AuditStore:
        """The audit store."""
        return self._parts.store

    def filter(
        self,
        query: str,
        passages: Sequence[str | Passage],
        *,
        k: int | None = None,
        tenant: str | None = None,
    ) -> Verdict:
        """Judge the passages retrieved for a query, and keep those that may reach the generator.

        Runs without a language model, network or disk.

        Args:
            query: The user's question.
            passages: What the retriever returned, best first.
            k: How many passages the generator gets; None means all of them. Passages beyond k,
                where the caller over-fetched, tell which words are rare in what is retrieved, and
                move up for those that are dropped. `alpha` holds for the first 50 of the k, or as
                many as a calibration allows for; of far longer lists a little more is touched.
            tenant: Whose query it is, and so whose quarantine and allow-list count; None is the
                default tenant. Take it from who is logged in, never from what a user typed.

        Raises:
            InvalidInputError: An argument is of the wrong type; whatever `on_error` says.
            RagguardError: Judging failed and `on_error` is "raise".
        """
        return self._parts.filtering.one(query, passages, k, tenant)

    async def afilter(
        self,
        query: str,
        passages: Sequence[str | Passage],
        *,
        k: int | None = None,
        tenant: str | None = None,
    ) -> Verdict:
        """Return what `filter` returns, without blocking the event loop."""
        return await asyncio.to_thread(self.filter, query, passages, k=k, tenant=tenant)

    def filter_batch(
        self,
        queries_and_passages: RetrievedSets,
        *,
        k: int | None = None,
        tenant: str | None = None,
    ) -> list[Verdict]:
        """Judge many retrieved sets; what `filter` would answer to each pair, in order.

        The passages of all sets in doubt are embedded in one call of the embedder; if that fails,
        each set is embedded alone.

        Raises:
            InvalidInputError: An argument is of the wrong type; nothing was judged then.
            RagguardError: Judging failed and `on_error` is "raise".
        """
        return self._parts.filtering.batch(queries_and_passages, k, tenant)

    async def afilter_batch(
        self,
        queries_and_passages: RetrievedSets,
        *,
        k: int | None = None,
        tenant: str | None = None,
    ) -> list[Verdict]:
        """Return what `filter_batch` returns, without blocking the event loop."""
        return await asyncio.to_thread(self.filter_batch, queries_and_passages, k=k, tenant=tenant)

    def calibrate(
        self, traffic: RetrievedSets, *, k: int | None = None, force: bool = False
    ) -> Calibration:
        """Adopt trusted clean traffic as the measure of what is normal, and return it.

        The threshold rises by 1 nat at most, and not so far that less than 90 % of the reference
        attacks are found that the shipped calibration finds: the traffic may hold what an attacker
        planted or asked. What scores higher counts as just below that, with a warning. Each
        question counts once, as it came last. As in `filter`, what is in quarantine or allowed is
        not judged: nothing is learned of it.

        Args:
            traffic: Pairs of query and passages as the retriever returns them, without attacks.
            k: As will be given to `filter`, where the traffic is over-fetched; None: all.
            force: Adopt it as it is: you know that it is clean.

        Raises:
            CalibrationError: Fewer than 1 / alpha - 1 questions with passages, where alpha is what
                open passages may spend (`trust`); or refused, for the reason that it gives.
            InvalidInputError: The traffic is not of that form, or `k` is not positive.
        """
        most = require_k(k)
        given, held = pairs("traffic", traffic), self._parts.quarantine.held()
        made = self._parts.calibrator.adopt_traffic(given, most, held, force=force)
        self._parts.note_calibration()
        return made

    def calibrate_from_store(
        self, *, newest: int | None = None, clean_looking: bool = False, force: bool = False
    ) -> Calibration:
        """Adopt the traffic that was filtered on this store as the measure of what is normal.

        Every guard records what its queries scored: a uniform sample of them, and the newest ones.
        Each question counts once, and as clean: so a record that looks attacked is refused, and so
        is one that raises the threshold by more than 1 nat, or by which too few of the reference
        attacks are found. What quarantine held back was not scored.

        Args:
            newest: None for the sample of all traffic, else the newest so many questions, of at
                most 1000 queries: after a change of the knowledge base or the retriever.
            clean_looking: Learn nothing above the threshold in force: what scores higher counts as
                just below it. No traffic then raises the threshold, honest or not.
            force: Adopt it all the same: you know that its passages are clean.

        Raises:
            CalibrationError: Fewer than 1 / alpha - 1 questions were recorded; or refused, for the
                reason that the message gives.
            InvalidInputError: `newest` is not positive.
            StoreError: The store cannot be read.
        """
        self._parts.counter.flush()
        scores = self._parts.store.scores()
        made = self._parts.calibrator.adopt_recorded(
            scores, newest=newest, clean_looking=clean_looking, force=force
        )
        self._parts.note_calibration()
        return made

    def save_calibration(self, path: str | os.PathLike[str]) -> None:
        """Write the adopted calibration as JSON; `Guard(calibration=path)` reads it.

        Raises:
            CalibrationError: The guard uses the shipped calibration, or the file cannot be written.
            InvalidInputError: `path` is no path.
        """
        self._parts.calibrator.save(path)

    def health(self) -> Health:
        """Return how the guard and its store are; looks at nothing but memory, and never waits."""
        return self._parts.health()

    def close(self) -> None:
        """Write what is pending and stop all threads. Open events stay in the store.

        Returns after 10 seconds at most; the log says what could not be written.
        """
        self._parts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        parts = self._parts
        shown = ", ".join(f"{name}={parts.settings[name]!r}" for name in ("mode", "alpha"))
        return f"<{type(self).__name__} {shown}, embedder={parts.embedder.name!r}, {parts.store!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return remade, (type(self), self._parts.pickled(), self._parts.calibrator.gated)

    def __copy__(self) -> Self:
        made: Self = remade(type(self), self._parts.copied(), self._parts.calibrator.gated)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Models and stores are no data: they are shared, also with what else refers to them.
        memo.update({id(value): value for value in self._parts.settings.values()})
        return copy(self)
