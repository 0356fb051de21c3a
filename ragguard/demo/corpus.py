"""The demo's fictional knowledge base, its questions, texts that poison each, and its English."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from ragguard.errors import InvalidInputError
from ragguard.passage import Passage

Attack = Literal["statement", "multi_answer", "instruction", "article", "refusal"]
Form = Literal["prepended", "plain"]

ATTACKS: tuple[Attack, ...] = get_args(Attack)
"""The kinds of attack, in the order in which the data lists them."""


@dataclass(frozen=True)
class Question:
    """A question, its answer, and what an attacker would plant to change that answer."""

    id: str  # "q01" to "q64"
    text: str  # as a user types it
    paraphrase: str
    correct_answer: str  # spelled as the golden passages spell it
    incorrect_answer: str  # the attacker's answer; no passage of the knowledge base holds it
    golden: tuple[str, ...]  # ids of the passages that state the correct answer
    # The attacker's, by kind of attack; `poison` makes passages of them.
    texts: Mapping[Attack, tuple[str, ...]] = field(hash=False, repr=False)


@dataclass(frozen=True)
class Corpus:
    """The knowledge base: 420 passages, title in `metadata["title"]`, and 64 questions."""

    passages: tuple[Passage, ...]
    questions: tuple[Question, ...]


@cache
def load_corpus() -> Corpus:
    """Return the knowledge base that ships with ragguard; it is read once.

    >>> corpus = load_corpus()
    >>> len(corpus.passages), len(corpus.questions)
    (420, 64)
    """
    passages = (
        Passage(row["text"], id=row["id"], metadata={"title": row["title"]})
        for row in _rows("passages.jsonl")
    )
    questions = (
        Question(
            id=row["id"],
            text=row["question"],
            paraphrase=row["paraphrase"],
            correct_answer=row["correct_answer"],
            incorrect_answer=row["incorrect_answer"],
            golden=tuple(row["golden"]),
            texts={attack: tuple(row["poison"][attack]) for attack in ATTACKS},
        )
        for row in _rows("questions.jsonl")
    )
    return Corpus(tuple(passages), tuple(questions))


def _read(name: str) -> str:
    return (files("ragguard.demo") / "data" / name).read_text(encoding="utf-8")


def _rows(name: str) -> Iterator[dict[str, Any]]:
    return map(json.loads, _read(name).splitlines())


def _as_sets(value: Any) -> Any:
    if isinstance(value, str):
        return frozenset(value.split())
    return {name: _as_sets(words) for name, words in value.items()}


VOCABULARY: dict[str, Any] = _as_sets(json.loads(_read("vocabulary.json")))
"""The reader's English: words by what they tell, and of units by the word that asks for them."""


def poison(
    question: Question, kind: Attack, *, form: Form = "prepended", count: int | None = None
) -> list[Passage]:
    """Return the passages that an attacker plants to change the answer to one question.

    The form "prepended" puts the question in front of each text, so that the retriever ranks it
    high (PoisonedRAG, Zou et al. 2024, black-box setting); "plain" leaves the text alone. With None
    for `count` all texts of that kind are planted.
    """
    texts = question.texts[kind]
    if count is not None and not 1 <= count <= len(texts):
        raise InvalidInputError(f"count must be 1 to {len(texts)} for {kind!r}, not {count}")
    if form == "prepended":
        end = "" if question.text.endswith(("?", ".")) else "."
        texts = tuple(f"{question.text}{end} {text}" for text in texts)
    return [
        Passage(text, id=f"{question.id}-{kind}-{form}-{number}")
        for number, text in enumerate(texts[:count], 1)
    ]
