"""Which part of the knowledge base is searched (RAGOrigin, Section 5.2 and Algorithm 1).

Passages are taken in rank order, a segment of K at a time, until at least half of the segments do
not lead to the reported response on their own (Eq. 3 and 4). So the scope holds about as much that
is benign as may be poisoned.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ragguard.attribution.answer import answer_of
from ragguard.attribution.claim import claim, contains_phrase
from ragguard.attribution.prompts import agreement_prompt, answer_prompt, read_agreement
from ragguard.attribution.ragorigin.traced_claim import atomic_claims
from ragguard.attribution.refusal import is_refusal
from ragguard.attribution.result import Retrieve
from ragguard.attribution.text_model import TextModel
from ragguard.content import content_keys
from ragguard.errors import GenerationError
from ragguard.passage import Passage
from ragguard.stems import tokenize
from ragguard.text import MAX_CHARS, both_ends

MIN_SCOPE = 20
"""Passages that the scope takes in before Eq. 4 may end it.

Eq. 4 alone may stop at 2 K: poison of one attack that ranks just below is then missed, and few
benign passages are left to normalise the scores over; `benchmarks.attribution` measures both.
"""


@dataclass
class Ranking:
    """The knowledge base in rank order, fetched as far as it is read; equal texts count once."""

    retrieve: Retrieve
    query: str
    _unique: list[Passage] = field(default_factory=list)
    _limit: int = 0
    _fetched: int = 0
    _at_end: bool = False

    def first(self, count: int) -> list[Passage]:
        """Return the `count` best passages with different texts, or all there are if fewer."""
        while len(self._unique) < count and not self._at_end:
            self._limit = max(count, 2 * self._limit)
            page = self.retrieve(self.query, self._limit)
            self._at_end = len(page) < self._limit or len(page) <= self._fetched
            self._fetched = len(page)
            unique: dict[str, Passage] = {}
            keys = content_keys([passage.text for passage in page])
            for key, passage in zip(keys, page, strict=True):
                unique.setdefault(key, passage)  # a copy further down moves nobody
            self._unique = list(unique.values())
        return self._unique[:count]


class Probe(Protocol):
    """Tells whether passages lead to the reported response (Eq. 3)."""

    def reproduces(self, passages: Sequence[Passage]) -> bool:
        """Return True if a generator that reads these passages would give the response."""

    def leads(self, passages: Sequence[Passage], standing: float) -> bool:
        """Return True if these suspects do, who stand so far apart in responsibility, in [0, 1]."""


@dataclass
class AnswerProbe:
    """Asks the generator itself, once a set, and has its answer compared with the response."""

    generate: TextModel
    judge: TextModel | None  # None: a rule, `answers_agree`, compares the two
    query: str
    response: str
    instead: Probe  # decides where the generator raises what no retry would cure
    unanswered: list[GenerationError] = field(default_factory=list)  # these errors
    _known: dict[tuple[str, ...], bool | None] = field(default_factory=dict)

    def reproduces(self, passages: Sequence[Passage]) -> bool:
        found = self._asked(passages)
        return self.instead.reproduces(passages) if found is None else found

    def leads(self, passages: Sequence[Passage], standing: float) -> bool:
        found = self._asked(passages)
        return self.instead.leads(passages, standing) if found is None else found

    def _asked(self, passages: Sequence[Passage]) -> bool | None:
        texts = tuple(passage.text for passage in passages)
        if texts not in self._known:
            prompt = answer_prompt(self.query, texts)
            (answer,) = self.generate.generate_many([prompt], spared=self.unanswered)
            self._known[texts] = self.agrees(answer) if answer else None
        return self._known[texts]

    @property
    def silent(self) -> bool:
        """Whether the generator was asked and answered nothing at all."""
        return bool(self._known) and all(found is None for found in self._known.values())

    def agrees(self, answer: str) -> bool:
        """Return True if `answer` makes the same claim as the response."""
        if self.judge is not None:
            verdict = self.judge.generate(agreement_prompt(self.query, answer, self.response))
            if (agreed := read_agreement(verdict)) is not None:
                return agreed
        return answers_agree(self.query, answer, self.response)


_CLAUSE = re.compile(r"[.,;:!?](?:\s|$)|\s(?:and|but)\s")
_DENIAL = re.compile(r"\b(?:not|never|nor|neither|cannot|no longer)\b|n['\u2019]t\b", re.IGNORECASE)
_NAMES = frozenset("who whom whose".split())  # what asks for a name
_NUMBERS = frozenset("date how when year".split())
_KINDS = _NAMES | _NUMBERS
_MOST_CLAIMS = 50


def answers_agree(query: str, answer: str, response: str) -> bool:
    """Return True if two answers to `query` claim the same, by rule.

    They agree if both refuse, or if what the response claims stands in the answer, all of it or the
    name or number that was asked for, or if half of that is what the answer claims. Where neither
    is asked for, what the answer claims may stand in the response. Who denies what the other states
    does not agree, nor does one that says yes with one that says no.

    >>> answers_agree("Who led it?", "It was led by Ada Crane", "Ada Crane, in 1921.")
    True
    >>> answers_agree("Who led it?", "It was led in 1921", "Ada Crane, in 1921.")
    False
    >>> answers_agree("Is it open?", "Yes, it is.", "No, it is not open.")
    False
    """
    answer, response = (both_ends(answer_of(text, query), MAX_CHARS) for text in (answer, response))
    alike = _polarity(tokenize(answer)) * _polarity(tokenize(response))
    if alike < 0:
        return False
    refused = [is_refusal(query, text) for text in (answer, response)]
    if any(refused):
        return all(refused)
    asked_for, theirs = _asked_for(query, response), claim(query, answer)
    pairs = [(answer, claim(query, response)), (answer, asked_for)]
    if not _KINDS.intersection(tokenize(query)):
        pairs.append((response, theirs))
    elif 2 * len(tokenize(theirs)) >= len(tokenize(asked_for)):
        pairs.append((asked_for, theirs))
    return alike > 0 or any(
        contains_phrase(tokenize(text), tokenize(claimed))
        and _denies(answer, claimed) == _denies(response, claimed)
        for text, claimed in pairs
    )


def _asked_for(query: str, response: str) -> str:
    """Return the name or number of a response that answers the query, or else its claim."""
    asked = set(tokenize(query))
    claims = list(atomic_claims(query, response))[:_MOST_CLAIMS]
    if asked & (_NAMES | _NUMBERS):
        number = not asked & _NAMES
        claims.sort(key=lambda one: any(map(str.isdigit, one)) is not number)
    stated = (one for one in claims if not _denies(response, one))
    return next(stated, claim(query, response))


def _denies(text: str, claimed: str) -> bool:
    phrase = tokenize(claimed)
    clauses = [one for one in _CLAUSE.split(text) if contains_phrase(tokenize(one), phrase)]
    return all(_DENIAL.search(one) for one in clauses or [text])


def _polarity(words: Sequence[str]) -> int:
    first = words[0] if words else ""
    return (first in ("yes", "true")) - (first in ("no", "false"))


@dataclass(frozen=True)
class Scope:
    """The passages that are searched."""

    passages: list[Passage]  # in rank order, texts all different
    reproduced: tuple[bool, ...]  # whether each tested segment of K led to the response
    complete: bool  # False if the search ended at the safety limit before Eq. 4 held


def narrow_scope(
    ranking: Ranking, probe: Probe, *, top_k: int, max_scope: int, min_scope: int = MIN_SCOPE
) -> Scope:
    """Take in segments of `top_k` passages until Eq. 4 holds and `min_scope` passages are in.

    After `max_scope` passages the search ends in any case; a `min_scope` of 0 is the paper's rule.
    """
    reproduced: list[bool] = []
    half_do_not = True
    taken = 0
    while taken < max_scope and not (reproduced and half_do_not and taken >= min_scope):
        end = min(taken + top_k, max_scope)
        # Ahead in one request what the rule will need anyway.
        segment = ranking.first(max(end, min(min_scope, max_scope)))[taken:end]
        if not segment:
            break
        reproduced.append(probe.reproduces(segment))
        half_do_not = 2 * sum(reproduced) <= len(reproduced)
        taken += len(segment)
    return Scope(ranking.first(taken), tuple(reproduced), taken < max_scope or half_do_not)
