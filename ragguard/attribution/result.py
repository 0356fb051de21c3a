"""The result that every attribution method returns, and its form as plain JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Protocol

from ragguard.passage import Passage
from ragguard.recent_passages import light
from ragguard.text import both_ends

Cause = Literal["poisoning", "model", "disputed", "unclear"]

BRIEF = 2_000
"""Characters that a store keeps of a passage that is not held responsible."""

Retrieve = Callable[[str, int], Sequence[Passage]]
"""`retrieve(query, limit)` returns at most `limit` passages of the knowledge base, best first."""


@dataclass(frozen=True)
class PassageScore:
    """The scores of one passage in the attribution scope.

    Attributes:
        passage: The passage.
        embedding_similarity: ES, cosine of query and passage, in [-1, 1] (RAGOrigin Eq. 5).
        semantic_correlation: SC, mean log-probability of the query's tokens, nats (Eq. 6).
        generation_influence: GC, mean log-probability of the tokens of what the response claims,
            nats (Eq. 7, which takes the whole response; `ragguard.attribution.claim`).
        responsibility: RS, the mean of the three scores' z-scores (Eq. 8), weighted by how clearly
            each falls into two groups. A method with one score puts it here.
        responsible: True if the passage is held responsible.
    """

    passage: Passage
    embedding_similarity: float
    semantic_correlation: float
    generation_influence: float
    responsibility: float
    responsible: bool


@dataclass(frozen=True)
class Attribution:
    """Which passages taught the system a response, and whether any did.

    Attributes:
        query: The user's question.
        response: The response that was reported.
        method: "ragorigin", "ragforensics", "influence", ...
        responsible: Passages held responsible, best first; empty unless cause is "poisoning".
        scores: One `PassageScore` for every passage in scope, in rank order.
        scope_size: How many passages were in scope.
        cause: "poisoning", "model" (the model errs without help), "disputed" (other sources state
            the response as well: whom the scores call responsible is accused and no more) or
            "unclear".
        reason: Why that cause, in words.
        details: Method-specific figures (segments tested, thresholds, calls made).
    """

    query: str
    response: str
    method: str
    responsible: list[Passage]
    scores: list[PassageScore]
    scope_size: int
    cause: Cause
    reason: str
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def cleared(self) -> list[str]:
        """The texts in scope that are not held responsible."""
        return [score.passage.text for score in self.scores if not score.responsible]

    @classmethod
    def of(
        cls,
        query: str,
        response: str,
        method: str,
        scope: Sequence[Passage],
        columns: Sequence[Sequence[float]],
        responsible: Sequence[bool],
        finding: tuple[Cause, str],
        details: Mapping[str, Any],
    ) -> Attribution:
        """Put an attribution together; of passages equally responsible the better ranked is first.

        Args as the attributes, but for `scope`, the n passages in rank order, `columns`, ES, SC, GC
        and RS with n values each, `responsible`, n flags, and `finding`, the cause and the reason.
        """
        scores = [PassageScore(*row) for row in zip(scope, *columns, responsible, strict=True)]
        blamed = _best_first(scores)
        return cls(query, response, method, blamed, scores, len(scores), *finding, details=details)

    @property
    def ranked(self) -> list[Passage]:
        """The passages in scope, the most responsible first: in this order a person looks at them.

        Of passages equally responsible the better ranked is first.
        """
        order = sorted(self.scores, key=lambda score: -score.responsibility)
        return [score.passage for score in order]

    @property
    def accused(self) -> list[Passage]:
        """The responsible passages, or, where the cause is disputed, those that others defend."""
        return self.responsible or [one.passage for one in self.scores if one.responsible]

    def brief(self) -> Attribution:
        """Return it as a store keeps it: of passages not held responsible the ends of their texts.

        The scope of one short report may be the longest pages of a knowledge base.
        """
        rest = [light(one.passage) for one in self.scores if not one.responsible]
        ends = [both_ends(passage.text, BRIEF) for passage in rest]
        each = zip(rest, ends, strict=True)
        short = iter([replace(passage, text=text, embedding=None) for passage, text in each])
        scores = [
            one if one.responsible else replace(one, passage=next(short)) for one in self.scores
        ]
        return replace(self, scores=scores)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types; embeddings are left out."""
        scores = [
            {
                "id": score.passage.id,
                "text": score.passage.text,
                "score": score.passage.score,
                "metadata": dict(score.passage.metadata),
                **{name: getattr(score, name) for name in _SCORES},
            }
            for score in self.scores
        ]
        plain = {name: getattr(self, name) for name in _PLAIN}
        return {**plain, "details": dict(self.details), "scores": scores}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Attribution:
        """Rebuild what `to_dict` returned."""
        scores = [
            PassageScore(
                Passage(
                    row["text"],
                    id=row["id"],
                    score=row.get("score"),
                    metadata=row.get("metadata") or {},
                ),
                **{name: row[name] for name in _SCORES},
            )
            for row in data["scores"]
        ]
        return cls(
            responsible=[] if data["cause"] == "disputed" else _best_first(scores),
            scores=scores,
            details=data["details"],
            **{name: data[name] for name in _PLAIN},
        )


def _best_first(scores: Sequence[PassageScore]) -> list[Passage]:
    ranked = sorted(scores, key=lambda score: -score.responsibility)
    return [score.passage for score in ranked if score.responsible]


_SCORES = tuple(each.name for each in fields(PassageScore) if each.name != "passage")
_PLAIN = ("query", "response", "method", "scope_size", "cause", "reason")


class Attributor(Protocol):
    """Finds the passages responsible for a response."""

    def attribute(self, query: str, response: str, retrieve: Retrieve) -> Attribution:
        """Search the knowledge base through `retrieve` and return the `Attribution`."""

    async def aattribute(self, query: str, response: str, retrieve: Retrieve) -> Attribution:
        """Return what `attribute` returns or raises, without blocking the event loop."""
        return await asyncio.to_thread(self.attribute, query, response, retrieve)
