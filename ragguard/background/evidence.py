"""What speaks for an attribution, beyond that a response can be traced to passages.

Whoever reports can trace any answer to the honest page that states it. So three things are asked of
what goes into quarantine without a person:

- *Counterfactual*: with the accused alone the response is explained, and without them it is not
  (`ragguard.attribution.ragorigin.support`).
- *Marks*: the accused passage shows an attack's marks, as far as whoever reports cannot arrange
  them (`ragguard.inline.marks`). They can hand in a page with a question mark put in: so what is
  accused is searched for by its own words, and pages of the same words must show the marks as well.
- *Independence*: nobody else states the same. What other sources state as well, in other words, is
  disputed: a person must say who is right.

Whoever plants can put in parts of honest pages: what a text holds of others is no sign of it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress, islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ragguard.attribution.claim import readings
from ragguard.attribution.ragorigin.support import SUFFICIENT_SUPPORT, explains
from ragguard.attribution.ragorigin.traced_claim import meter_of_claim
from ragguard.attribution.result import Attribution, Retrieve
from ragguard.attribution.search import as_retrieve, of_tenant
from ragguard.audit.records import Event
from ragguard.content import content_keys
from ragguard.errors import InvalidInputError
from ragguard.inline.class_bigram import class_bigram
from ragguard.inline.fingerprints import also_in, fingerprints, said_elsewhere, signed_part
from ragguard.inline.marks import asks_or_orders, mark_p_values, shows_one
from ragguard.inline.near_copies import TAKEN
from ragguard.inline.normalize.leet import lettered, letters_of
from ragguard.inline.pipeline import ConformalFilter
from ragguard.inline.query_reduction import reduced
from ragguard.passage import Passage
from ragguard.proxy import LexicalProxy
from ragguard.recent_passages import RecentPassages
from ragguard.text import MAX_CHARS, tokens
from ragguard.text.characters import FOLDED_WORDS, respelled
from ragguard.text.html import strip_markup
from ragguard.trust import source_of

logger = logging.getLogger(__name__)
_T = TypeVar("_T")
_SHINGLE = 5  # words
_COPIED = 0.5  # share of the shorter text's shingles that a copy has
_SHINGLES = 1_000
_STRETCH, _MOST = 500, 10  # letters that are searched for at once, and how many stretches of a text
_NEW = 0.25  # of a stretch's fingerprints, that one is searched for
_FOUND = 20  # pages for each stretch, beside those accused
_SEARCHES = 100  # for one event: reports can have very many texts accused
_REMEMBERED = 500  # texts of one event
# What a search may take for an order, or refuse; a planted text is asked for by its words.
_NO_WORDS = re.compile(r"[\x00-\x1f!-/:-@\[-`{-\x7f\ud800-\udfff]+")
_WITH_DIGITS = re.compile(r"[^\W_]*(?:[^\W\d_]\d|\d[^\W\d_])[^\W_]*")
_SPELLED_OUT = re.compile(r"(?<![^\W_])(?:[^\W_]{1,3} +){7,}[^\W_]{1,3}(?![^\W_])")


def with_evidence(
    found: Attribution, gate: Callable[[], ConformalFilter], *, top_k: int, attack_alpha: float
) -> Attribution:
    """Return an attribution with what speaks for it, and "disputed" as its cause if others agree.

    `details` then has "counterfactual" (whether it holds), "marks" (the p-value of each accused
    passage by its marks, by content key) and "independent" (ids of those who state the same).
    `gate` makes the filter with the calibration in force; `top_k` and `attack_alpha` are as those
    of a `Policy`.
    """
    if not isinstance(found, Attribution):
        raise InvalidInputError(
            f"the attributor must return an Attribution, not {type(found).__name__}"
        )
    if not found.responsible:
        return found
    scope = [*[score.passage for score in found.scores], *found.responsible]
    keys = content_keys([passage.text for passage in scope])
    known, accused = keys[: len(found.scores)], keys[len(found.scores) :]
    each = [at < len(known) or key not in known for at, key in enumerate(keys)]
    scope, keys = list(compress(scope, each)), list(compress(keys, each))
    blamed = np.isin(keys, accused)
    support = _support(found, scope)
    p_values = _marks(gate(), found.query, scope, blamed, top_k)
    marked = p_values <= attack_alpha
    leads = explains(support[marked]) or np.array_equal(marked, blamed)  # all do, as was found
    holds = leads and not explains(support[~blamed][:top_k])
    stating = list(compress(scope, (support >= SUFFICIENT_SUPPORT) & ~marked))
    asking = any(asks_or_orders(found.query, one.text) for one in compress(scope, marked))
    suspects = marked if asking else blamed  # those without that mark may be planted beside
    others = independent(stating, list(compress(scope, suspects)))
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
    meter = meter_of_claim(LexicalProxy(), reduced(found.query), found.response, scope)
    return meter.support([passage.text for passage in scope])


def _marks(
    gate: ConformalFilter, query: str, scope: Sequence[Passage], blamed: NDArray[np.bool_], k: int
) -> NDArray[np.float64]:
    """Return the p-values, 1 for everybody who is not accused; the set is what would be read."""
    read = blamed | (np.arange(len(scope)) < k)
    first = [*compress(scope, read), *compress(scope, ~read)]
    beside = [one.text for one in compress(scope, ~blamed)]
    found = np.ones(len(scope))
    try:
        found[read] = mark_p_values(gate, query, first, blamed[read], beside=beside)
    except Exception as error:  # a text that cannot be read must not stop the event
        logger.warning("no marks of an attack can be looked for, a person must: %s", error)
    return found


def independent(passages: Sequence[Passage], of: Sequence[Passage]) -> list[Passage]:
    """Return the passages that neither have a source in common with others nor copy their text."""
    sources = {source for passage in of if (source := source_of(passage)) is not None}
    texts = [_shingles(passage.text) for passage in of]

    def is_copy(text: str) -> bool:
        own = _shingles(text)
        return any(len(own & one) >= _COPIED * min(len(own), len(one)) for one in texts)

    return [one for one in passages if source_of(one) not in sources and not is_copy(one.text)]


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = tokens(text)
    if len(words) < _SHINGLE:
        return frozenset([tuple(words)])
    places = range(len(words) - _SHINGLE + 1)
    return frozenset(tuple(words[at : at + _SHINGLE]) for at in islice(places, _SHINGLES))


def found_beside(
    retrieve: Retrieve | None, event: Event, accused: Sequence[Passage], *, least: int
) -> Iterator[tuple[str, list[str]]]:
    """Yield what was searched for of each text, and what was found; else the event's texts.

    Of a long text stretches that are spread over it are searched for; of very many texts less of
    each, and nothing of the last of them, but something of the first `least`. What was not searched
    for may be any page's, so copies are not to be known by it.
    """
    if retrieve is None:
        yield from ((one.text, [other.text for other in event.passages]) for one in accused)
        return
    search, left = as_retrieve(of_tenant(retrieve, event.tenant)), max(_SEARCHES, least)
    for place, passage in enumerate(accused):
        most = min(left, _MOST, max(1, left // (len(accused) - place)))
        stretches = _stretches(passage.text) if most else []
        count = min(most, len(stretches))
        last = (len(stretches) - 1) / max(1, count - 1)
        some = [stretches[round(at * last)] for at in range(count)]
        left -= count
        # Those accused are found first: they must not take the places of the others.
        limit = _FOUND + min(len(accused), _SEARCHES)
        asked = list(map(_in_words, some))
        # Most stretches of a text find the same pages.
        found = dict.fromkeys(one.text for part in asked for one in search(part, limit))
        yield " ".join(asked), [*found]


def _in_words(part: str) -> str:
    """Return a stretch as a search can find its page, in the words that a signature reads."""
    words = _NO_WORDS.sub(" ", lettered(respelled(strip_markup(part), FOLDED_WORDS)))
    listed = class_bigram().classes
    words = _WITH_DIGITS.sub(
        lambda word: meant if (meant := letters_of(word[0].lower())) in listed else word[0], words
    )
    return _SPELLED_OUT.sub(" ", words).strip()


def _stretches(text: str) -> list[str]:
    """Return the stretches that a signature reads of a text, without those that repeat others."""
    read = signed_part(text)
    parts = [read[at : at + _STRETCH] for at in range(0, len(read), _STRETCH)]
    parts = [part for part in parts if part.strip()]
    prints, kept, said = fingerprints(parts), [], set[int]()
    for place, part in enumerate(parts):
        own = {*prints.distinct(place).tolist()}
        if not said or len(own - said) > _NEW * len(own):
            kept.append(part)
            said |= own
    return kept


class OtherTexts:
    """What other texts say of an event's, each read once: long ones are remembered nowhere else."""

    def __init__(self, event: Event, seen: RecentPassages) -> None:
        self._event, self._seen = event, seen
        self._shows_one = partial(shows_one, event.query)
        self.keys = _remembered(content_keys)
        self._fingerprints = _remembered(lambda texts: [its for _, its in readings(texts)])

    def doubt(self, text: str, beside: Sequence[str], *, known: bool | None) -> str | None:
        """Return why a text's marks may be the doing of whoever reports, or None.

        `known` is whether `beside` was found in a knowledge base, or the text was let through.
        """
        if known is False:
            return "this guard has not let it through, so no answer can rest on it"
        same = [*beside, *self._seen.of_same_letters(text, self._event.tenant)]
        key, *keys = self.keys([text, *same])
        others = {one for one, its in zip(same, keys, strict=True) if one != text and its == key}
        if not known:  # then a page of the same words may be written in any way
            others.add(" ".join(tokens(text[:MAX_CHARS])))
        if all(map(self._shows_one, others)):
            return None
        return "a page of the same words does not show the marks that it shows"

    def cleared(self, texts: Sequence[str]) -> list[NDArray[np.uint32]]:
        """Return what texts say that were looked at and cleared, as one; nothing without any."""
        return [np.unique(np.concatenate(self._fingerprints(texts)))] if texts else []

    def contained_parts(
        self, text: str, pages: Sequence[str], accused: Collection[str]
    ) -> Iterator[NDArray[np.uint32]]:
        """Yield what those pages say of which a text may hold parts.

        None is one that is accused, by content key, or a copy that shows a mark of attack. A page
        that has nearly all of the text, and shows none, is one that was copied.
        """
        keys = zip(pages, self.keys(pages), strict=True)
        others = [other for other, key in keys if key not in accused]
        own, *theirs = self._fingerprints([text, *others])
        for other, its in zip(others, theirs, strict=True):
            shared = also_in(own, its)
            if shared.any() and (shared.mean() < TAKEN or not self._shows_one(other)):
                yield its

    def said_lately(self, accused: Mapping[str, Passage]) -> list[NDArray[np.uint32]]:
        """Return those fingerprints of the accused, by content key, that pages let through have.

        As one array, or nothing where there are none. A search answers so many pages and no more,
        and those planted beside an accused text may come first. What shows a mark of attack is no
        such page, nor is one that is accused itself.
        """
        if not accused:
            return []
        said = said_elsewhere(
            np.unique(np.concatenate(self._fingerprints([one.text for one in accused.values()]))),
            self._seen.texts(self._event.tenant),
            lambda text: self.keys([text])[0] not in accused and not self._shows_one(text),
        )
        return [said] if len(said) else []


def _remembered(
    work_out: Callable[[Sequence[str]], Sequence[_T]],
) -> Callable[[Sequence[str]], list[_T]]:
    known: dict[str, _T] = {}

    def answers(texts: Sequence[str]) -> list[_T]:
        if len(known) > _REMEMBERED:
            known.clear()
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(new, work_out(new), strict=True))
        return [known[text] for text in texts]

    return answers
