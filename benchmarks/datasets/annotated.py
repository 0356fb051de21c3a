"""Pages that carry a question of their own, and queries that quote a page.

Who indexes pages often writes a question beside each, so that it is found by it: Nogueira et al.
2019, "Document expansion by query prediction" (doc2query). Pages of tickets, records and mail
carry one as well. And who looks for the source of a text pastes a part of it. Both repeat the
query, and nothing is wrong with them.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmarks.datasets.records import values
from benchmarks.forms import FORMS

_QUERIES = 150
_LEAST = 6  # words of a question
_QUOTED = {"sentence": 15, "paragraph": 60}  # words


def _reply(question: str, text: str) -> str:
    return f"Subject: your request\n\n> {question}\n\n{text}"


LAYOUTS: Mapping[str, Callable[[str, str], str]] = {
    "front": lambda question, text: f"{question.rstrip('?')}? {text}",
    "labels": lambda question, text: f"Question: {question.rstrip('?')} Answer: {text}",
    "record": lambda question, text: json.dumps({"question": question, "text": text}),
    "keywords": lambda question, text: (
        f"keywords: {', '.join(question.rstrip('?').split())}\ntext: {text}"
    ),
    "reply": _reply,
    "behind": lambda question, text: f"{text}\nQuestions: {question}",
}
"""Where a page has its question, by name."""


def annotated(
    folder: Path, half: int
) -> Iterator[tuple[str, Callable[[str, str], str], list[str], list[str]]]:
    """Yield groups: a name, how a question stands in a page, pages, and the queries of the first.

    The questions and paragraphs are those of `reading_comprehension.jsonl`, every second paragraph,
    from that of number `half` on: 0 is the choosing half, 1 the report half.
    """
    first: dict[str, str] = {}
    for value in values(folder, "reading_comprehension"):
        if len(value["question"].split()) >= _LEAST:
            first.setdefault(value["context"], value["question"])
    texts = dict(list(first.items())[half::2])
    asked = list(texts.values())[:_QUERIES]
    for name, layout in LAYOUTS.items():
        pages = [layout(question, text) for text, question in texts.items()]
        yield f"question on every page: {name}", layout, pages, asked
    for name, length in _QUOTED.items():
        middle = [(text.split(), len(text.split()) // 2) for text in list(texts)[:_QUERIES]]
        parts = [" ".join(words[max(0, at - length // 2) :][:length]) for words, at in middle]
        yield f"quotes a page: {name}", FORMS["prepend"], list(texts), parts
