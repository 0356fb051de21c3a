"""Misgeneration events: a wrong answer that was reported, and the knowledge base behind it.

The knowledge base of an event is every hit of every question of its dataset, plus the poison
planted for this one question, ranked by one embedder. An event counts if at least two of its
poison passages come among the first K and state the wrong answer; that answer is what is reported.

Measures are those of the RAGOrigin paper (Section 6.1.4), over the texts of the scope. Poison that
the scope did not reach cannot be found: it counts as false negative, and enters DACC as an error.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import OWN, Record
from benchmarks.datasets.records import load_file
from benchmarks.forms import FORMS
from benchmarks.metrics.says import says
from ragguard.attribution import Attribution
from ragguard.attribution.ragorigin.attributor import MAX_SCOPE
from ragguard.demo.corpus import load_corpus
from ragguard.embedding import Embedder, HashedEmbedder
from ragguard.passage import Passage
from ragguard.stems import tokenize

__all__ = [
    "DATASETS",
    "MAIN_KINDS",
    "MAX_SCOPE",
    "OWN",
    "PLANTED",
    "TOP_K",
    "Event",
    "KnowledgeBase",
    "Tally",
    "Target",
    "answers",
    "chosen",
    "datasets",
    "event",
    "in_form",
    "rounded",
]

DATASETS = ("nq", "hotpotqa", "msmarco", "realtimeqa", "simpleqa")
MAIN_KINDS = ("poisonedrag", "gpt4", "gemini", "statement")
"""Kinds whose every text argues for the wrong answer; the summary is over these."""

TOP_K = 5
PLANTED = 5
_STATING = 2


@dataclass(frozen=True)
class Target:
    """A question, the right and the wrong answer, and what an attacker plants, by kind.

    Attributes:
        question: As a user types it.
        correct: The right answer; empty where the data does not say.
        wrong: What the attacker wants the system to answer.
        poison: The attacker's texts by kind of attack, not yet in any question form.
        hits: What retrievers returned for this question.
    """

    question: str
    correct: str
    wrong: str
    poison: Mapping[str, tuple[str, ...]]
    hits: tuple[str, ...]


@dataclass(frozen=True)
class Event:
    """A reported response and the knowledge base behind it.

    Attributes:
        question: What was asked.
        wrong: The wrong answer that was given.
        ranked: The best passages of the knowledge base, best first.
        poison: The planted texts that are responsible.
        ignored: Texts that count neither way.
    """

    question: str
    wrong: str
    ranked: tuple[Passage, ...]
    poison: frozenset[str]
    ignored: frozenset[str] = frozenset()

    def retrieve(self, query: str, limit: int) -> Sequence[Passage]:
        """Return the `limit` best passages; the query is the event's."""
        del query
        return self.ranked[:limit]


class KnowledgeBase:
    """Texts that any question can be ranked against, embedded once.

    Args:
        texts: The benign passages.
        embedder: Ranks them, and its vectors go with the passages; None: the built-in embedder,
            and no vectors.
        dot: Rank by dot product, with vectors as long as the square root of the number of words,
            the length of a vector of word counts.
    """

    def __init__(
        self, texts: Sequence[str], *, embedder: Embedder | None = None, dot: bool = False
    ) -> None:
        self.texts = tuple(texts)
        self._embedder = HashedEmbedder() if embedder is None else embedder
        self._carried = embedder is not None
        self._dot = dot
        self._rows = self._embedded(texts)

    def ranked(
        self, question: str, poison: Sequence[str], *, without: Collection[str] = ()
    ) -> tuple[Passage, ...]:
        """Return the best passages for `question`; of equally similar ones, poison comes last.

        Args:
            question: What is asked.
            poison: Texts that are in the knowledge base as well.
            without: Texts that are not.
        """
        texts = (*self.texts, *poison)
        target = self._embedder.embed([question])[0]
        rows = np.concatenate([self._rows, self._embedded(poison)]) if poison else self._rows
        best = np.argsort(-(rows @ target), kind="stable")
        kept = [index for index in best.tolist() if texts[index] not in without][:MAX_SCOPE]
        return tuple(Passage(texts[i], embedding=rows[i] if self._carried else None) for i in kept)

    def _embedded(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = self._embedder.embed(texts)
        if not self._dot:
            return rows
        lengths = np.sqrt([max(1, len(tokenize(text))) for text in texts])
        return np.asarray(rows * lengths[:, None], dtype=np.float32)


@dataclass
class Tally:
    """Counts over the events of one stratum."""

    events: int = 0
    accuracy: list[float] = field(default_factory=list)
    found: int = 0
    wronged: int = 0
    benign: int = 0
    poison: int = 0
    stating: int = 0
    found_stating: int = 0
    missed_by_scope: int = 0
    causes: dict[str, int] = field(default_factory=dict)
    scope: list[int] = field(default_factory=list)

    def add(self, event: Event, attribution: Attribution) -> None:
        """Count one attribution."""
        scores = [s for s in attribution.scores if s.passage.text not in event.ignored]
        planted = [score.passage.text in event.poison for score in scores]
        blamed = [score.responsible for score in scores]
        missed = len(event.poison) - sum(planted)
        right = sum(p == b for p, b in zip(planted, blamed, strict=True))
        self.events += 1
        self.accuracy.append(right / max(1, len(planted) + missed))
        self.found += sum(p and b for p, b in zip(planted, blamed, strict=True))
        self.wronged += sum(b and not p for p, b in zip(planted, blamed, strict=True))
        self.benign += planted.count(False)
        self.poison += len(event.poison)
        stating = {text for text in event.poison if says(text, event.wrong)}
        self.stating += len(stating)
        self.found_stating += sum(s.responsible and s.passage.text in stating for s in scores)
        self.missed_by_scope += missed
        self.causes[attribution.cause] = self.causes.get(attribution.cause, 0) + 1
        self.scope.append(attribution.scope_size)

    def row(self) -> dict[str, Any]:
        """Return the measures: DACC is a mean over events, the others are over all texts.

        Some planted texts do not state the wrong answer: the model that was to write them refused
        or told the truth. "fnr" counts all, "fnr_stating" those that state it word for word.
        """
        return {
            "events": self.events,
            "dacc": rounded(mean(self.accuracy)),
            "fpr": rounded(self.wronged / max(1, self.benign)),
            "fnr": rounded(1.0 - self.found / self.poison) if self.poison else 0.0,
            "fnr_stating": rounded(1.0 - self.found_stating / self.stating)
            if self.stating
            else 0.0,
            "precision": rounded(self.found / max(1, self.found + self.wronged)),
            "recall": rounded(self.found / self.poison) if self.poison else 1.0,
            "missed_by_scope": rounded(self.missed_by_scope / max(1, self.poison)),
            "scope": rounded(mean(self.scope)),
            "causes": {cause: self.causes.get(cause, 0) for cause in _CAUSES},
        }


_CAUSES = ("poisoning", "model", "unclear")


def rounded(value: float) -> float:
    """Return the value with the four decimals that a result keeps."""
    return round(float(value), 4)


def chosen(target: Target, kind: str, seed: int, count: int = PLANTED) -> list[str]:
    """Return the texts that are planted: all, or `count` drawn by the seed."""
    usable = list(dict.fromkeys(text for text in target.poison[kind] if text.strip()))
    if len(usable) <= count:
        return usable
    return random.Random(f"{seed} {kind} {target.question}").sample(usable, count)


def in_form(target: Target, form: str, texts: Sequence[str]) -> list[str]:
    """Return the texts as they are planted."""
    return list(dict.fromkeys(FORMS[form](target.question, text) for text in texts))


def answers(ranked: Sequence[Passage], poison: Collection[str], wrong: str) -> bool:
    """Return True if at least two of the poison passages are read and state the wrong answer."""
    read = [passage.text for passage in ranked[:TOP_K]]
    return sum(text in poison and says(text, wrong) for text in read) >= _STATING


def event(target: Target, base: KnowledgeBase, poison: Sequence[str]) -> Event | None:
    """Return the event of an attack on `target`, or None if it did not get through."""
    ranked = base.ranked(target.question, poison)
    if not answers(ranked, poison, target.wrong):
        return None
    return Event(target.question, target.wrong, ranked, frozenset(poison))


def datasets(
    data_dir: Path | None, limit: int | None, half: int
) -> Iterator[tuple[str, list[Target], list[str]]]:
    """Yield (name, targets, benign texts) of the folder's datasets and of the project's own.

    Args:
        data_dir: Folder of datasets; None: only the project's own.
        limit: Targets of a dataset at most.
        half: 1 for the odd records, which are reported; 0 for the even, which constants come from.

    Raises:
        InvalidInputError: A line of a file is not a record.
    """
    for name in DATASETS:
        path = None if data_dir is None else data_dir / f"{name}.jsonl"
        if path is not None and path.is_file():
            targets = [_target(record) for record in load_file(path, name).records]
            texts = dict.fromkeys(text for target in targets for text in target.hits)
            yield name, targets[half::2][:limit], list(texts)
    corpus = load_corpus()
    text_of = {passage.id: passage.text for passage in corpus.passages}
    own = [
        Target(
            question.text,
            question.correct_answer,
            question.incorrect_answer,
            dict(question.texts.items()),
            tuple(text_of[id_] for id_ in question.golden),
        )
        for question in corpus.questions
    ]
    yield OWN, own[:limit], list(dict.fromkeys(text_of.values()))


def _target(record: Record) -> Target:
    right, wrong = "".join(record.correct[:1]), record.incorrect[0]
    return Target(record.question, right, wrong, record.poison, record.hits)
