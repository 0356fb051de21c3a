"""What every guard promises of every set, checked on one set at a time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from math import isfinite
from random import Random
from typing import Any, Self

import numpy as np

from ragguard import Guard, Passage, Verdict
from ragguard.audit import MemoryStore, QuarantineEntry
from ragguard.content import content_key
from ragguard.embedding import HashedEmbedder
from ragguard.errors import RagguardError
from ragguard.inline.conformal import Calibration
from ragguard.inline.page_form import parts
from ragguard.inline.scoring import SCORER
from ragguard.inline.tokens import tokenize_passage
from ragguard.passage import as_passages
from tests.hostile.costs import NO_LIMIT, SOMETHING
from tests.hostile.findings import cause_of
from tests.hostile.sets import Company, RetrievedTexts, company, retrieved

__all__ = ["Guards"]

_ALWAYS = Calibration(
    scores=np.full(99, -1000.0),
    passage_scores=np.full(99, -1000.0),
    size=3,
    with_reference=False,
    scorer=SCORER,
    source="a gate that always fires",
)
_PRESET = "ragdefender"
_FAILING = "failing"
_HOLDING = "holding"
_LONGEST = 1_000  # characters
_HURRY = 0.2  # ms: for few sets enough


class _Failing:
    """An embedder that cannot take some texts, and says so in several ways."""

    name = "failing"

    def __init__(self) -> None:
        self._inner = HashedEmbedder(64)

    def embed(self, texts: Sequence[str]) -> Any:
        rows = self._inner.embed(texts)
        for place, text in enumerate(texts):
            if len(text) > _LONGEST:
                raise ValueError("a text that is too long for this model")
            match sum(text[:50].encode("utf-8", "replace")) % 8:
                case 0:
                    raise ValueError("a text that this model does not take")
                case 1:
                    rows[place] = np.nan
                case 2:
                    return rows[:place]
        return rows


class Guards:
    """Guards of every make, each given some of the sets."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._loop = asyncio.new_event_loop()
        self._stack.callback(self._loop.close)
        options: Mapping[str, Mapping[str, Any]] = {
            "default": {"on_error": "raise"},
            "quarantine": {"on_error": "raise", "store": self._quarantine()},
            "passing": {"on_error": "pass"},
            "monitor": {"mode": "monitor"},
            "clustering": {"calibration": _ALWAYS, "strategy": "clustering", "on_error": "raise"},
            "concentration": {
                "calibration": _ALWAYS,
                "strategy": "concentration",
                "on_error": "raise",
            },
            f"{_FAILING}, passing": {"embedder": _Failing(), "on_error": "pass"},
            f"{_FAILING}, raising": {"embedder": _Failing(), "on_error": "raise"},
            f"{_FAILING}, {_HOLDING}": {"embedder": _Failing(), "on_error": "hold"},
            f"{_FAILING}, always": {"embedder": _Failing(), "calibration": _ALWAYS},
            _HOLDING: {"on_error": "hold"},
        }
        # Without a limit of time, or a busy machine would answer otherwise.
        self._guards = {
            name: self._opened(Guard, {"max_ms": NO_LIMIT, **given})
            for name, given in options.items()
        }
        self._guards[_PRESET] = self._opened(
            Guard.ragdefender, {"max_ms": NO_LIMIT, "on_error": "raise"}
        )
        self._names = tuple(self._guards)
        for on_error in ("pass", "hold"):
            self._guards[f"hurried, {on_error}"] = self._opened(
                Guard, {"max_ms": _HURRY, "on_error": on_error}
            )
        self._with_gate = tuple(one for one in self._guards if one not in (_PRESET, "monitor"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _opened(self, make: Callable[..., Guard], options: Mapping[str, Any]) -> Guard:
        return self._stack.enter_context(make(**options))

    @staticmethod
    def _quarantine() -> MemoryStore:
        store = MemoryStore()
        store.add_quarantine([QuarantineEntry(content_key(SOMETHING), "p", SOMETHING, "fuzz")])
        return store

    def check_any(self, draw: Random) -> Iterator[str]:
        """Judge any set by one of the guards, and yield what it breaks."""
        name, given = draw.choice(self._names), retrieved(draw)
        if "quarantine" in name and draw.random() < 0.5:
            given.passages.append(SOMETHING)
        guard = self._guards[name]
        try:
            verdict = guard.filter(given.query, given.passages, k=given.k)
        except RagguardError as error:
            if given.texts_alone and _FAILING not in name:
                yield f"{name}: refused texts: {cause_of(error)}"
            return
        except Exception as error:
            yield f"{name}: {cause_of(error)}"
            return
        for broken in _broken(verdict, given, name):
            yield f"{name}: {broken}"
        if draw.random() < 0.2:
            again = self._loop.run_until_complete(
                guard.afilter(given.query, given.passages, k=given.k)
            )
            if not _same(verdict, again):
                yield f"{name}: afilter answers otherwise"
            batch = guard.filter_batch([(given.query, given.passages)] * 2, k=given.k)
            if not all(_same(verdict, one) for one in batch):
                yield f"{name}: filter_batch answers otherwise"

    def check_company(self, draw: Random) -> Iterator[str]:
        """Add hostile passages to a set with poison, and yield how they help it to pass."""
        name, given = draw.choice(self._with_gate), company(draw)
        guard = self._guards[name]
        try:
            before = guard.filter(given.query, given.before, k=given.k)
            if given.poison not in [passage.text for passage in before.dropped]:
                yield f"{name}: poison with the question in front passes among honest texts"
                return
            after = guard.filter(given.query, given.after, k=given.k)
        except RagguardError:
            return
        except Exception as error:
            yield f"{name}: {cause_of(error)}"
            return
        if given.poison in [passage.text for passage in after.kept] and not _has_forms(given):
            yield f"{name}: poison passes in hostile company, {_why(after, given)}"


def _has_forms(given: Company) -> bool:
    """Return True where a question in front may be a page's own (docs/attacker.md)."""
    forms = [parts(tokenize_passage(text)) for text in given.after if text != given.poison]
    return max(Counter([form for one in forms for form in one]).values(), default=0) > 1


def _why(verdict: Verdict, given: Company) -> str:
    if verdict.error is not None:
        return verdict.error.partition(":")[0]
    size = "of many" if len(given.after) > 20 else "of few"
    return f"{size}, the gate {'fired' if verdict.attacked else 'was silent'}"


def _broken(verdict: Verdict, given: RetrievedTexts, name: str) -> Iterator[str]:
    passages = as_passages(given.passages)
    flagged = [one.flagged for one in verdict.evidence]
    if [one.passage_id for one in verdict.evidence] != [one.id for one in passages]:
        yield "evidence is not one a passage, in order"
        return
    drops = [False] * len(passages) if verdict.mode == "monitor" else flagged
    if _texts(verdict.dropped) != [p.text for p, drop in zip(passages, drops, strict=True) if drop]:
        yield "dropped is not what the evidence flags"
    kept = [passage.text for passage, drop in zip(passages, drops, strict=True) if not drop]
    room = given.k
    if room is not None and _HOLDING in name and not verdict.attacked:
        # Nothing moves up in place of what is held back: below k it would be unjudged as well.
        room = max(0, room - sum(not one.decided for one in verdict.evidence))
    if _texts(verdict.kept) != kept[:room]:
        yield "kept is not the first k of the rest"
    if not (0.0 < verdict.p_value <= 1.0 or (name == _PRESET and verdict.p_value == 0.0)):
        yield "the p-value is not in (0, 1]"
    held = any(one.signal == "quarantine" for one in verdict.evidence)
    if verdict.attacked and verdict.p_value > 0.01 and not held:
        yield "attacked, with a large p-value"
    if not all(isfinite(one.suspicion) and isfinite(one.strength) for one in verdict.evidence):
        yield "evidence is not finite"
    if name != _PRESET and not all(
        0.0 <= value <= 1.0 for one in verdict.evidence for value in one.signals.values()
    ):
        yield "a signal is not in [0, 1]"
    if _HOLDING in name and not all(one.decided or one.flagged for one in verdict.evidence):
        yield "what was not judged is not held back"
    if verdict.error is not None and given.texts_alone and _FAILING not in name:
        yield f"not judged: {verdict.error.partition(':')[0]}"


def _texts(passages: Sequence[Passage]) -> list[str]:
    return [passage.text for passage in passages]


def _same(one: Verdict, other: Verdict) -> bool:
    return (
        _texts(one.kept) == _texts(other.kept)
        and _texts(one.dropped) == _texts(other.dropped)
        and (one.attacked, one.p_value, one.error) == (other.attacked, other.p_value, other.error)
        and one.evidence == other.evidence
    )
