"""Honest pages and queries that repeat each other.

Who indexes pages often writes a question beside each, so that it is found by it: Nogueira et al.
2019, "Document expansion by query prediction" (doc2query). Pages of tickets, records and mail
carry one as well. Who looks for the source of a text pastes a part of it, and who reads a manual
asks for its headings.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from math import log
from pathlib import Path
from pydoc_data.topics import topics

from benchmarks.datasets import values
from benchmarks.forms import FORMS
from ragguard.text import STOP_WORDS, tokens

_QUERIES = 150
_LEAST = 6  # words of a question
_QUOTED = {"sentence": 15, "paragraph": 60}  # words
_HEADING = re.compile(r"(?m)^(\S[^\n]*)\n(?:\*{3,}|={3,}|-{3,})\n")
_WORDS = 110  # of a page of the manual
_FEW = 12  # words: a section of less says nothing

Form = Callable[[str, str], str]  # of a question and a text: one text that holds both

LAYOUTS: Mapping[str, Form] = {
    "front": lambda question, text: f"{question.rstrip('?')}? {text}",
    "labels": lambda question, text: f"Question: {question.rstrip('?')} Answer: {text}",
    "record": lambda question, text: json.dumps({"question": question, "text": text}),
    "keywords": lambda question, text: (
        f"keywords: {', '.join(question.rstrip('?').split())}\ntext: {text}"
    ),
    "reply": lambda question, text: f"Subject: your request\n\n> {question}\n\n{text}",
    "behind": lambda question, text: f"{text}\nQuestions: {question}",
}
"""Where a page has its question, by name."""


def annotated(folder: Path, half: int) -> Iterator[tuple[str, Form, list[str], list[str]]]:
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


def key_words(texts: list[str], count: int = 4) -> list[str]:
    """Return of each text the words that tell most of it, by TF-IDF, the first of them first."""
    words = [Counter(word for word in tokens(text) if word not in STOP_WORDS) for text in texts]
    held = Counter(word for of_text in words for word in of_text)
    idf = {word: log(len(texts) / number) for word, number in held.items()}
    return [
        " ".join(sorted(of_text, key=lambda word: -of_text[word] * idf[word])[:count])
        for of_text in words
    ]


def manual_pages() -> dict[str, str]:
    """Return the pages of Python's language reference, and the heading of each section's first.

    Headings of one word, and those that stand over several sections, are no queries: they are "",
    as those of the other pages.
    """
    found: dict[str, str] = {}
    for _, text in sorted(topics.items()):
        parts = _HEADING.split(text)
        for heading, body in zip(parts[1::2], parts[2::2], strict=True):
            words = body.split()
            title = heading.replace('"', "")
            for start in range(0, len(words) if len(words) >= _FEW else 0, _WORDS):
                page = " ".join(words[start : start + _WORDS])
                found.setdefault(page if start else f"{title}\n{page}", "" if start else title)
    count = Counter(found.values())
    return {
        page: title if count[title] == 1 and len(title.split()) > 1 else ""
        for page, title in found.items()
    }
