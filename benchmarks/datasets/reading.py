"""Reading-comprehension questions asked of a plain knowledge base: clean traffic of another kind.

The passages begin with their titles, and people ask about what titles name ("who sings don't take
your guns to town"): a title that holds the question's words is the commonest thing that looks like
an attack and is none.
"""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.datasets import Dataset, Record, load_folder
from benchmarks.datasets.records import load_file, values
from benchmarks.embedders import nearest

READING = "reading"
WRITTEN = "machine_written"  # clean traffic on pages that language models wrote

_SOURCES = ("nq", "xquad")
_ONE_OF = 4


def load_with_reading(folder: Path) -> list[Dataset]:
    """Return the datasets of a folder, and behind them this one if the folder has its files."""
    datasets = load_folder(folder)
    reading = load_reading(folder, datasets)
    return datasets if reading is None else [*datasets, reading]


def load_choosing(folder: Path) -> list[Dataset]:
    """Return all whose choosing half weights and calibrations are chosen on."""
    path = folder / f"{WRITTEN}.jsonl"
    written = [load_file(path, WRITTEN)] if path.is_file() else []
    return [*load_with_reading(folder), *written]


def load_reading(folder: Path, others: Sequence[Dataset] = ()) -> Dataset | None:
    """Return the questions with the passages that the built-in embedder ranks first for them.

    Without the questions of `others`; None if the folder lacks the files.
    """
    pages, lines = (values(folder, f) for f in ("wikipedia_passages", "reading_comprehension"))
    if not pages or not lines:
        return None
    asked = {record.question.lower().strip(" ?") for data in others for record in data.records}
    texts = dict.fromkeys(str(line["text"]) for line in pages)
    questions: list[str] = []
    for source in _SOURCES:
        found = []
        for line in lines:
            if line["source"] == source:
                texts[str(line["context"])] = None
                found.append(str(line["question"]))
        questions += [one for one in found[::_ONE_OF] if one.lower().strip(" ?") not in asked]
    records = tuple(
        Record(question, hits, frozenset(), {})
        for question, hits in zip(questions, nearest(questions, texts), strict=True)
    )
    return Dataset(READING, records, split=True)
