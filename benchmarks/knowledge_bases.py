"""Knowledge bases to scan: clean passages of one source, and what attackers would plant there.

Each half has its own: what retrievers returned for its questions, its plain passages, and the texts
planted for its questions. A passage that both halves have belongs to the choosing one, so that
nothing is reported on what was chosen on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.fit_manner import FOLDS
from benchmarks.forms import FORMS
from ragguard.jsonl import open_input, read_lines

__all__ = ["FORMS_PLANTED", "KnowledgeBase", "knowledge_bases"]

FORMS_PLANTED = ("plain", "prepend")
"""Without the question, and with the question in front."""

_SOURCES = (
    "nq",
    "hotpotqa",
    "msmarco",
    "realtimeqa",
    "simpleqa",
    "clean_traffic",
    "machine_written",
    "keyword_traffic",
    "languages",
)
_RELEASED = ("nq", "msmarco")  # the knowledge bases that the released attacks were made for
_PER_QUESTION = 5
_FEWEST = 20


@dataclass
class KnowledgeBase:
    """Passages of one source and one half.

    Attributes:
        name: Of the source.
        clean: Each clean passage once, with the fold of its question.
        planted: By kind and form of attack, the texts for each question with its fold.
    """

    name: str
    clean: dict[str, int] = field(default_factory=dict)
    planted: dict[tuple[str, str], list[tuple[int, tuple[str, ...]]]] = field(default_factory=dict)

    def plant(self, kind: str, form: str, fold: int, texts: Sequence[str]) -> None:
        """Add what is planted for one question."""
        found = tuple(dict.fromkeys(texts))[:_PER_QUESTION]
        if found:
            self.planted.setdefault((kind, form), []).append((fold, found))


def knowledge_bases(folder: Path, half: int) -> list[KnowledgeBase]:
    """Return the knowledge bases of a half: 0 to choose on, 1 to report on.

    Args:
        folder: Of the data; sources that it lacks are left out.
        half: 0 or 1.
    """
    found = [_retrieved(folder, name, half) for name in _SOURCES]
    found.append(_plain(folder, half))
    bases = {base.name: base for base in found if len(base.clean) >= _FEWEST}
    for number, record in _records(folder, "released_attacks"):
        source = next((name for name in _RELEASED if name in str(record["id"])), "")
        if number % 2 == half and source in bases:
            for kind, answers in record["poison"].items():
                fold = number // 2 % FOLDS
                bases[source].plant(f"{kind} (released)", "plain", fold, answers[0]["texts"])
    return list(bases.values())


def _retrieved(folder: Path, name: str, half: int) -> KnowledgeBase:
    base, others = KnowledgeBase(name), set()
    for number, record in _records(folder, name):
        fold = number // 2 % FOLDS
        texts = [hit["text"] for hit in record["hits"]]
        if number % 2 == half:
            base.clean.update({text: fold for text in texts if text not in base.clean})
            for kind, planted in record.get("poison", {}).items():
                for form in FORMS_PLANTED:
                    put = FORMS[form]
                    base.plant(kind, form, fold, [put(record["question"], one) for one in planted])
        else:
            others.update(texts)
    if half:
        base.clean = {text: fold for text, fold in base.clean.items() if text not in others}
    return base


def _plain(folder: Path, half: int) -> KnowledgeBase:
    texts = list(
        dict.fromkeys(str(one["text"]) for _, one in _records(folder, "wikipedia_passages"))
    )
    return KnowledgeBase("wikipedia", {text: at % FOLDS for at, text in enumerate(texts[half::2])})


def _records(folder: Path, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    path = folder / f"{name}.jsonl"
    if not path.is_file():
        return
    with open_input(path) as stream:
        for number, line in enumerate(read_lines(stream, str(path))):
            yield number, line.value
