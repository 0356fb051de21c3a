"""Defences that a file describes: `defences/NAME.toml`."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.defences.ours import MEASURES, guarding
from benchmarks.defences.quantile import above
from benchmarks.plugins import About, Case, Decision, Defence
from benchmarks.readers.base import ANSWER
from benchmarks.retrieval import RetrievedSet
from ragguard import Guard
from ragguard.proxy.lexical import word_log_probability
from ragguard.stems import tokenize


def perplexity(retrieved: RetrievedSet) -> NDArray[np.float64]:
    """Return the mean surprise of each passage's words, nats a letter; float64 of shape (n,)."""
    found = []
    for text in retrieved.texts:
        words = tokenize(text)
        surprise = -sum(map(word_log_probability, words))
        found.append(surprise / max(1, sum(map(len, words))))
    return np.array(found)


def read(file: Path) -> Defence:
    """Return the defence that a file describes.

    It has the fields of `About`, and `over_fetch`; `guard`, the options of our guard; or
    `perplexity`, the percentile of clean passages above which one is dropped; or neither, and
    everything reaches the reader, with an `instruction` if there is one.
    """
    fields = tomllib.loads(file.read_text(encoding="utf-8"))
    times, told = fields.pop("over_fetch", 1), fields.pop("instruction", ANSWER)
    options: dict[str, Any] | None = fields.pop("guard", None)
    percentile: float | None = fields.pop("perplexity", None)
    about = About(**fields)
    if options is not None:
        make = guarding(lambda _: Guard(on_error="raise", **options))
        return Defence(about, make, times, MEASURES)
    if percentile is not None:
        return Defence(about, above(perplexity, percentile), times, ("ragguard.proxy.lexical",))

    def judge(case: Case) -> Decision:
        return Decision(tuple(range(len(case.retrieved.texts))), instruction=told)

    return Defence(about, lambda _: judge, times)
