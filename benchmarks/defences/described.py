"""Defences that a file describes: `defences/NAME.toml`."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.defences.ours import MEASURES, guarding
from benchmarks.embedders import built_in
from benchmarks.plugins import About, Case, Decision, Defence, Judge, Setting
from benchmarks.readers.base import ANSWER
from benchmarks.retrieval import RetrievedSet
from ragguard import Guard
from ragguard.proxy.lexical import word_log_probability
from ragguard.stems import tokenize

Score = Callable[[RetrievedSet], NDArray[np.float64]]

_EMBEDDER = built_in()


def perplexity(retrieved: RetrievedSet) -> NDArray[np.float64]:
    """Return the mean surprise of each passage's words, nats a letter; float64 of shape (n,)."""
    found = []
    for text in retrieved.texts:
        words = tokenize(text)
        surprise = -sum(map(word_log_probability, words))
        found.append(surprise / max(1, sum(map(len, words))))
    return np.array(found)


def similarity(retrieved: RetrievedSet) -> NDArray[np.float64]:
    """Return the dot product of each passage's vector and the question's; float64, shape (n,)."""
    rows = _EMBEDDER.embed([retrieved.question, *retrieved.texts])
    return np.asarray(rows[1:] @ rows[0], dtype=np.float64)


def above(score: Score, percentile: float) -> Callable[[Setting], Judge]:
    """Return what drops passages above a percentile of the clean ones of the choosing half."""

    def make(setting: Setting) -> Judge:
        limit = np.percentile(np.concatenate([score(one) for one in setting.clean]), percentile)

        def judge(case: Case) -> Decision:
            return Decision(tuple(np.flatnonzero(score(case.retrieved) <= limit).tolist()))

        return judge

    return make


def read(file: Path) -> Defence:
    """Return the defence that a file describes.

    It has the fields of `About`, and `over_fetch`; `guard`, the options of our guard; or
    `perplexity` or `similarity`, the percentile of clean passages above which one is dropped; or
    none, and everything reaches the reader, with an `instruction` if there is one.
    """
    fields = tomllib.loads(file.read_text(encoding="utf-8"))
    times, told = fields.pop("over_fetch", 1), fields.pop("instruction", ANSWER)
    options: dict[str, Any] | None = fields.pop("guard", None)
    limits = [(fields.pop(one.__name__, None), one) for one in (perplexity, similarity)]
    about = About(**fields)
    if options is not None:
        make = guarding(lambda _: Guard(on_error="raise", **options))
        return Defence(about, make, times, MEASURES)
    for percentile, score in limits:
        if percentile is not None:
            return Defence(about, above(score, percentile), times, ("ragguard.proxy.lexical",))

    def judge(case: Case) -> Decision:
        return Decision(tuple(range(len(case.retrieved.texts))), instruction=told)

    return Defence(about, lambda _: judge, times)
