"""Retrieved sets in every setting, and what their scores say at the line of the shipped gate."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.fitting.offsets import ALPHA
from benchmarks.fitting.samples import signals_of
from benchmarks.report.table import Row
from benchmarks.retrieval import OVER_FETCH, RetrievedSet
from ragguard.inline.calibration_file import default_calibration
from ragguard.inline.page_form import repeats_as_expected
from ragguard.inline.scoring import EXPECTED, repeating, suspicions
from ragguard.inline.tokens import tokenize_passages, tokenize_query

Bools = NDArray[np.bool_]

SETTINGS = ((5, False), (5, True), (10, False), (10, True))
"""How many passages are judged, and whether those below are given as well."""


def place_of(setting: tuple[int, bool]) -> dict[str, int]:
    """Return the columns of a row that say its setting."""
    return dict(zip(("k", "with_reference"), setting, strict=True))


def setting_of(row: Row) -> str:
    """Return how tables call the setting of a row."""
    return f"k = {row['k']}{', 3x' if row['with_reference'] else ''}"


def unranked(
    question: str, texts: Sequence[str], golden: Bools, poisoned: Bools | None = None
) -> RetrievedSet:
    """Return texts as a set, in the order in which they stand, with nothing for vectors."""
    none = np.zeros(len(texts), dtype=bool)
    vectors = np.zeros((len(texts), 1), dtype=np.float32)
    return RetrievedSet(
        question, tuple(texts), vectors, none if poisoned is None else poisoned, golden
    )


class Scored:
    """A set in a setting, read once.

    Attributes:
        line: The suspicion at which the shipped gate fires.
        expected: Which passages repeat no more than honest ones do; None if none does.
    """

    def __init__(self, found: RetrievedSet, setting: tuple[int, bool]) -> None:
        k, below = setting
        given = found.first(OVER_FETCH * k if below else k)
        self.line = default_calibration(k, with_reference=below).threshold(ALPHA, k)
        self._signals = signals_of(given, k, with_reference=below)
        of_interest = found.poisoned if found.poisoned.any() else found.golden
        self._of_interest = of_interest[: len(self._signals)]
        self.expected: Bools | None = None
        if rows := repeating(self._signals):
            asked, read = tokenize_query(found.question), tokenize_passages(given.texts)
            self.expected = repeats_as_expected(asked, read, rows, len(self._signals))

    def fires(self, expected: Bools | None = None, nats: float = EXPECTED) -> tuple[bool, bool]:
        """Return whether any passage reaches the line, and whether a planted or right one does."""
        over = suspicions(self._signals, expected, nats=nats) >= self.line
        return bool(over.any()), bool(over[self._of_interest].any())
