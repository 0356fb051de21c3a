"""Reading-comprehension questions asked of a plain knowledge base: clean traffic of another kind.

The passages begin with their titles, and people ask about what titles name ("who sings don't take
your guns to town"): a title that holds the question's words is the commonest thing that looks like
an attack and is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.datasets import Dataset, Record, load_folder
from benchmarks.datasets.nearest import nearest
from ragguard.jsonl import open_input, read_lines

READING = "reading"
"""The name of the dataset."""

_KNOWLEDGE_BASE = "wikipedia_passages.jsonl"
_QUESTIONS = "reading_comprehension.jsonl"
_SOURCES = ("nq", "xquad")
_ONE_OF = 4
_HITS = 30


def load_with_reading(folder: Path) -> list[Dataset]:
    """Return the datasets of a folder, and behind them this one if the folder has its files."""
    datasets = load_folder(folder)
    reading = load_reading(folder, datasets)
    return datasets if reading is None else [*datasets, reading]


def load_reading(folder: Path, others: Sequence[Dataset] = ()) -> Dataset | None:
    """Return the questions with the passages that the built-in embedder ranks first for them.

    Args:
        folder: The data folder.
        others: Datasets whose questions are left out.

    Returns:
        The dataset; None if the folder lacks its files.
    """
    if not all((folder / name).is_file() for name in (_KNOWLEDGE_BASE, _QUESTIONS)):
        return None
    asked = {record.question.lower().strip(" ?") for data in others for record in data.records}
    texts = dict.fromkeys(str(line["text"]) for line in _lines(folder / _KNOWLEDGE_BASE))
    questions: list[str] = []
    for source in _SOURCES:
        found = []
        for line in _lines(folder / _QUESTIONS):
            if line["source"] == source:
                texts[str(line["context"])] = None
                found.append(str(line["question"]))
        questions += [one for one in found[::_ONE_OF] if one.lower().strip(" ?") not in asked]
    records = tuple(
        Record(question, hits, frozenset(), {})
        for question, hits in zip(questions, nearest(questions, texts, _HITS), strict=True)
    )
    return Dataset(READING, records, split=True)


def _lines(path: Path) -> Iterator[dict[str, object]]:
    with open_input(path) as stream:
        for line in read_lines(stream, str(path)):
            yield line.value
