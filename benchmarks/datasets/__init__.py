"""The benchmark's questions: what was retrieved for them, and what an attacker would plant."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from benchmarks.embedders import nearest
from ragguard.demo.corpus import ATTACKS, load_corpus
from ragguard.errors import InvalidInputError
from ragguard.files import open_input, read_lines

DATASETS = ("nq", "hotpotqa", "msmarco", "realtimeqa", "simpleqa", "clean_traffic")
"""The files of a data folder that the inline sections read, `<name>.jsonl` each."""

OWN = "skerrin"  # the project's own data
WRITTEN = "machine_written"  # clean traffic on pages that language models wrote
READING = "reading"  # questions of reading comprehension, asked of a plain knowledge base


@dataclass(frozen=True)
class Record:
    """One question; what the data does not say is empty."""

    question: str  # as a user types it
    hits: tuple[str, ...]  # what retrievers returned for it, every text once; no poison
    golden: frozenset[str]  # those of the hits that answer it
    poison: Mapping[str, tuple[str, ...]]  # texts by kind of attack, not yet in a question form
    id: str = ""  # as the data names it
    correct: tuple[str, ...] = ()  # the right answer and its other spellings
    incorrect: tuple[str, ...] = ()  # what the attacker wants to be answered, likewise

    @property
    def right(self) -> str:
        """The right answer in its first spelling, or ""."""
        return "".join(self.correct[:1])

    @property
    def wrong(self) -> str:
        """The attacker's answer in its first spelling, or ""."""
        return "".join(self.incorrect[:1])


@dataclass(frozen=True)
class Dataset:
    """Questions of one source, in the order of the file."""

    name: str
    records: tuple[Record, ...]
    split: bool  # weights were chosen on the even records, so only the odd ones may be reported

    @property
    def choosing(self) -> tuple[Record, ...]:
        """The half that weights and calibrations are chosen on."""
        return self.records[0::2] if self.split else ()

    @property
    def report(self) -> tuple[Record, ...]:
        """The records that results are reported on."""
        return self.records[1::2] if self.split else self.records

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attack in this data, in order of appearance."""
        return tuple(dict.fromkeys(kind for record in self.records for kind in record.poison))

    def limited(self, limit: int | None) -> Self:
        """Return the data with at most `limit` records in each half."""
        if limit is None:
            return self
        return replace(self, records=self.records[: 2 * limit if self.split else limit])


def load_folder(folder: Path) -> list[Dataset]:
    """Read the datasets that a folder holds; there must be one."""
    paths = [folder / f"{name}.jsonl" for name in DATASETS]
    if not (found := [path for path in paths if path.is_file()]):
        files = ", ".join(path.name for path in paths)
        raise InvalidInputError(f"{folder} holds none of {files}; pass the folder that does")
    return list(map(load_file, found))


def load_with_reading(folder: Path) -> list[Dataset]:
    """Return a folder's datasets, and `READING` without their questions if its files are there."""
    datasets = load_folder(folder)
    texts, lines = texts_in(folder, "wikipedia_passages"), values(folder, "reading_comprehension")
    if not texts or not lines:
        return datasets
    asked = {record.question.lower().strip(" ?") for data in datasets for record in data.records}
    questions: list[str] = []
    for source in ("nq", "xquad"):
        found = [line for line in lines if line["source"] == source]
        texts += [str(line["context"]) for line in found]
        some = [str(line["question"]) for line in found[::4]]
        questions += [one for one in some if one.lower().strip(" ?") not in asked]
    retrieved = zip(questions, nearest(questions, texts), strict=True)
    records = tuple(Record(question, hits, frozenset(), {}) for question, hits in retrieved)
    return [*datasets, Dataset(READING, records, split=True)]


def load_file(path: Path) -> Dataset:
    """Read one file of records, named after it; its odd ones are reported."""
    with open_input(path) as stream:
        records = tuple(record_of(line.value, line.place) for line in read_lines(stream, str(path)))
    return Dataset(path.stem, records, split=True)


def lines(path: Path) -> list[Any]:
    with open_input(path) as stream:
        return [line.value for line in read_lines(stream, str(path))]


def values(folder: Path, name: str) -> list[Any]:
    """Return the lines of a file of a data folder; none if the folder lacks it."""
    path = folder / f"{name}.jsonl"
    return lines(path) if path.is_file() else []


def texts_in(folder: Path, name: str, field: str = "text") -> list[str]:
    """Return the texts in a file of a data folder, each once."""
    return list(dict.fromkeys(str(value[field]) for value in values(folder, name)))


def answers(value: Any) -> tuple[str, ...]:
    """Return an answer or a list of its spellings as spellings; nothing gives none."""
    given = value if isinstance(value, list) else [] if value is None else [value]
    return tuple(map(str, given))


def record_of(value: Any, place: str) -> Record:
    """Return the record that a line of the documented schema holds."""
    try:
        golden = value.get("golden")
        return Record(
            question=value["question"],
            hits=tuple(dict.fromkeys(hit["text"] for hit in value["hits"])),
            golden=frozenset() if golden is None else frozenset({golden}),
            poison={kind: tuple(texts) for kind, texts in value.get("poison", {}).items()},
            id=str(value.get("id", "")),
            correct=answers(value.get("correct_answer")),
            incorrect=answers(value.get("incorrect_answer")),
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise InvalidInputError(
            f'{place}: expected an object with "question" and "hits" ({error!r})'
        ) from error


def skerrin() -> Dataset:
    """Return the project's own small data; every question is asked of the whole knowledge base."""
    corpus = load_corpus()
    hits = tuple(dict.fromkeys(passage.text for passage in corpus.passages))
    text_of = {passage.id: passage.text for passage in corpus.passages}
    records = tuple(
        Record(
            question=question.text,
            hits=hits,
            golden=frozenset(text_of[id_] for id_ in question.golden),
            poison={kind: question.texts[kind] for kind in ATTACKS},
            id=question.id,
            correct=(question.correct_answer,),
            incorrect=(question.incorrect_answer,),
        )
        for question in corpus.questions
    )
    return Dataset(OWN, records, split=False)
