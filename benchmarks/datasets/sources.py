"""Data by name: the project's own, a file of the data folder, or somebody else's format."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from benchmarks.datasets.converters import CONVERTERS
from benchmarks.datasets.records import OWN, Dataset, load_file, skerrin
from benchmarks.datasets.released import load_released
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
        data = load_released(path) if name == _RELEASED else load_file(path, name)
    records = (
        record if record.id else replace(record, id=str(number))
        for number, record in enumerate(data.records)
    )
    return replace(data, records=tuple(records))
