"""Data by name: the project's own, a file of the data folder, or somebody else's format."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from benchmarks.datasets.converters import CONVERTERS
from benchmarks.datasets.records import OWN, Dataset, Record, answers, lines, load_file, skerrin
from benchmarks.embedders import nearest
from ragguard.errors import InvalidInputError

_RELEASED = "released"


def file_of(name: str, folder: Path | None) -> Path | None:
    """Return the file behind a name, None for the project's own data, which needs none.

    A name is "skerrin", a file of the data folder without its ending, or "FORMAT:PATH".
    """
    if name == OWN:
        return None
    kind, colon, path = name.partition(":")
    if colon:
        if kind not in CONVERTERS:
            raise InvalidInputError(f"no format {kind!r}; there are {', '.join(CONVERTERS)}")
        found = Path(path)
    elif folder is None:
        raise InvalidInputError(f"{name!r} is in a data folder; pass --data")
    else:
        found = folder / f"{'released_attacks' if name == _RELEASED else name}.jsonl"
    if not found.exists():
        raise InvalidInputError(f"{found} is not there; pass the folder or file that holds {name}")
    return found


@lru_cache(maxsize=8)
def load(name: str, folder: Path | None) -> Dataset:
    """Return the data behind a name; records without an id get their number."""
    path = file_of(name, folder)
    if path is None:
        data = skerrin()
    elif ":" in name:
        data = CONVERTERS[name.partition(":")[0]](path)
    else:
        data = _released(path) if name == _RELEASED else load_file(path, name)
    records = (
        record if record.id else replace(record, id=str(number))
        for number, record in enumerate(data.records)
    )
    return replace(data, records=tuple(records))


def _released(path: Path) -> Dataset:
    """Read released attacks; hits are what the built-in embedder finds in the folder's passages.

    The knowledge base was not made for these questions: it may lack their answers. All false
    answers of a question count as the attacker's. A line holds `question`, `correct_answer`, and
    `poison` by kind, each a list of {"incorrect_answer", "texts"}.
    """
    texts = [str(one["text"]) for one in lines(path.with_name("wikipedia_passages.jsonl"))]
    values = lines(path)
    found = nearest([value["question"] for value in values], texts)
    records = []
    for value, hits in zip(values, found, strict=True):
        first = {kind: found[0] for kind, found in value["poison"].items() if found}
        records.append(
            Record(
                value["question"],
                hits,
                frozenset(),
                {kind: tuple(one["texts"]) for kind, one in first.items()},
                str(value["id"]),
                answers(value.get("correct_answer")),
                tuple(dict.fromkeys(str(one["incorrect_answer"]) for one in first.values())),
            )
        )
    return Dataset("released", tuple(records), split=True)
