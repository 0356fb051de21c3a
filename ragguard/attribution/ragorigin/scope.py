"""Which part of the knowledge base is searched (RAGOrigin, Section 5.2 and Algorithm 1).

    y_i = 1 if the generator gives the response from segment i, the passages (i - 1) K + 1 to i K
                                                                                          (Eq. 3)
    scope = the first s segments,    s = min {s : at least s / 2 of y_1 ... y_s are 0}    (Eq. 4)

The paper's sentence before Eq. 4 says that half of the segments should lead to the response; this
follows the equation, by which they do not. Here `MIN_SCOPE` passages are taken in at least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ragguard.attribution.answer_agreement import answers_agree
from ragguard.attribution.prompts import agreement_prompt, answer_prompt, read_agreement
from ragguard.attribution.result import Retrieve
from ragguard.attribution.text_model import TextModel
from ragguard.content import content_keys
from ragguard.errors import GenerationError
from ragguard.passage import Passage

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
