"""What speaks for an attribution, beyond that a response can be traced to passages.

Whoever reports can trace a right answer, or any other, to the honest page that states it. So three
things are asked of what goes into quarantine without a person:

- *Counterfactual*: with the accused alone the response is explained, and without them it is not
  (`ragguard.attribution.ragorigin.support`).
- *Marks*: the accused passage shows an attack's marks, as far as whoever reports cannot arrange
  them (`ragguard.inline.marks`).
- *Independence*: nobody else states the same. What other sources state as well, in other words, is
  disputed: a person must say who is right.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ragguard.attribution.ragorigin.support import SUFFICIENT_SUPPORT, SupportMeter, explains
from ragguard.attribution.result import Attribution
from ragguard.content import content_keys
from ragguard.errors import InvalidInputError
from ragguard.inline.marks import mark_p_values
from ragguard.inline.pipeline import ConformalFilter
from ragguard.inline.query_reduction import reduced
from ragguard.passage import Passage
from ragguard.proxy import LexicalProxy
from ragguard.text import tokens
from ragguard.trust import source_of

logger = logging.getLogger(__name__)

_SHINGLE = 5  # words
_COPIED = 0.5  # share of the shorter text's shingles that a copy has
_SHINGLES = 1_000


def with_evidence(
    found: Attribution, judge: Callable[[], ConformalFilter], *, top_k: int, attack_alpha: float
) -> Attribution:
    """Return an attribution with what speaks for it, and "disputed" as its cause if others agree.

    `details` then has "counterfactual" (whether it holds), "marks" (the p-value of each accused
    passage by its marks, by content key) and "independent" (ids of those who state the same).

    Args:
        found: Whoever it accuses comes first in its scores or is all there is.
        judge: Makes the filter with the calibration in force.
        top_k: How many passages the generator sees.
        attack_alpha: The p-value up to which marks of a passage are those of an attack.

    Raises:
        InvalidInputError: An attributor has returned something else.
        RagguardError: The proxy fails, or the filter.
    """
    if not isinstance(found, Attribution):
        raise InvalidInputError(
            f"the attributor must return an Attribution, not a {type(found).__name__}"
        )
    if not found.responsible:
        return found
    scope = [*[score.passage for score in found.scores], *found.responsible]
    keys = content_keys([passage.text for passage in scope])
    known, accused = keys[: len(found.scores)], keys[len(found.scores) :]
    places = [at for at, key in enumerate(keys) if at < len(known) or key not in known]
    scope, keys = [scope[at] for at in places], [keys[at] for at in places]
    blamed = np.isin(keys, accused)
    support = _support(found, scope)
    p_values = _marks(judge(), found.query, scope, blamed, top_k)
    marked = p_values <= attack_alpha
    # That all of the accused lead to it is what the attribution found.
    leads = explains(support[marked]) or np.array_equal(marked, blamed)
    holds = leads and not explains(support[~blamed][:top_k])
    stating = [scope[i] for i in np.flatnonzero((support >= SUFFICIENT_SUPPORT) & ~marked)]
    suspects = marked if marked.any() else blamed
    others = independent(stating, [scope[i] for i in np.flatnonzero(suspects)])
    details = {
        **found.details,
        "counterfactual": bool(holds),
        "marks": {keys[i]: float(p_values[i]) for i in np.flatnonzero(blamed)},
        "independent": [passage.id for passage in others],
    }
    if not others:
        return replace(found, details=details)
    reason = f"{found.reason}; but {len(others)} from elsewhere state it, too"
    return replace(found, cause="disputed", reason=reason, responsible=[], details=details)


def _support(found: Attribution, scope: Sequence[Passage]) -> NDArray[np.float64]:
    given = found.details.get("support")
    # An attributor of one's own may mean something else by it.
    if isinstance(given, list) and all(isinstance(one, float) for one in given):
        support = np.array(given)
        if support.shape == (len(scope),) and np.isfinite(support).all():
            return support
    meter = SupportMeter(LexicalProxy(), reduced(found.query), found.response)
    return meter.support([passage.text for passage in scope])


def _marks(
    judge: ConformalFilter,
    query: str,
    scope: Sequence[Passage],
    blamed: NDArray[np.bool_],
    top_k: int,
) -> NDArray[np.float64]:
    """Return the p-values, 1 for everybody who is not accused; the set is what would be read."""
    read = blamed | (np.arange(len(scope)) < top_k)
    order = [*np.flatnonzero(read), *np.flatnonzero(~read)]
    beside = [scope[i].text for i in np.flatnonzero(~blamed).tolist()]
    count = int(read.sum())
    found = np.ones(len(scope))
    try:
        found[order[:count]] = mark_p_values(
            judge, query, [scope[i] for i in order], count, beside=beside
        )
    except Exception as error:  # a text that cannot be read must not stop the event
        logger.warning("no marks of an attack can be looked for, a person must: %s", error)
    found[~blamed] = 1.0
    return found


def independent(passages: Sequence[Passage], of: Sequence[Passage]) -> list[Passage]:
    """Return the passages that neither have a source in common with others nor copy their text."""
    sources = {source for passage in of if (source := source_of(passage)) is not None}
    texts = [_shingles(passage.text) for passage in of]
    signed = ((one, _shingles(one.text)) for one in passages if source_of(one) not in sources)
    return [one for one, text in signed if not any(_are_copies(text, other) for other in texts)]


def _are_copies(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    """Return True if half of the shorter text's runs of five words stand in the other one."""
    return len(one & other) >= _COPIED * min(len(one), len(other))


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = tokens(text)
    if len(words) < _SHINGLE:
        return frozenset([tuple(words)])
    places = range(len(words) - _SHINGLE + 1)
    return frozenset(tuple(words[at : at + _SHINGLE]) for at in islice(places, _SHINGLES))
