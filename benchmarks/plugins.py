"""What a plug-in is, and where the built-in and foreign ones are found.

A plug-in is one file: `benchmarks/attacks/NAME.py` holds `ATTACK`, `defences/NAME.py` holds
`DEFENCE`, and so on. One that is another's settings, such as the templates of an attack or the
prompt of a defence, is a file `attacks/NAME.toml` that `attacks/described.py` reads. A package of
somebody else's joins one by an entry point in the group `ragguard_benchmarks.attacks` (or
`.defences`, ...) whose name is the plug-in's and whose value leads to the object.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.metadata import entry_points
from pathlib import Path
from random import Random
from typing import Any, Literal

from benchmarks.datasets import Dataset, Record
from benchmarks.readers.base import ANSWER, Answer, Prompt, Reader
from benchmarks.retrieval import RetrievedSet, retrieve
from ragguard.attribution.result import Attributor
from ragguard.embedding import Embedder
from ragguard.errors import InvalidInputError


@dataclass(frozen=True)
class About:
    """Where a method comes from and how far this is it; docs/benchmarks.md explains `fidelity`."""

    title: str  # its name in tables
    paper: str  # title or arXiv number
    venue: str  # where it was published
    threat: str  # what the attacker knows, or what the defender needs to see
    needs: Literal["nothing", "gradient", "language model", "vectors"] = "nothing"  # to run on
    fidelity: str = "original"  # "reduced", "released texts", "templated", "written by MODEL"
    version: int = 1  # raised whenever results change; older results are then void


WRITTEN = "written"
"""The kind of poison that a model has written."""


@dataclass(frozen=True)
class Attack:
    """What is planted for a question."""

    about: About
    plant: Callable[[Record, int, Random], Sequence[str]]  # at most so many texts, or none
    ask: Callable[[str], str] = str  # what the user asks of a question; a trigger changes it
    refusal: bool = False  # the attacker wants no answer at all
    write: str = ""  # tells a model to write for a {place} that answers {question} with {wrong}


@dataclass(frozen=True)
class Setting:
    """What a method may prepare itself with."""

    dataset: Dataset  # its choosing half is free to learn from
    embedder: Embedder  # the retriever's
    k: int  # passages that reach the reader
    seed: int  # for whatever draws at random

    @cached_property
    def clean(self) -> Sequence[RetrievedSet]:
        """Clean sets of k passages, of the choosing half where the data has one."""
        records = self.dataset.choosing or self.dataset.report
        return [retrieve(record, self.embedder, self.k) for record in records]


@dataclass(frozen=True)
class Case:
    """One question with what was retrieved for it."""

    record: Record  # the question and its answers
    retrieved: RetrievedSet  # as many passages as the defence asks for, best first
    k: int  # how many of them the reader gets at most
    read: Callable[[Prompt], Answer]  # asks the reader; what that costs is counted

    def prompt(self, positions: Sequence[int], instruction: str = ANSWER) -> Prompt:
        """Return the question put to some of the passages."""
        return Prompt(
            self.retrieved.question,
            tuple(self.retrieved.texts[position] for position in positions),
            instruction,
            (*self.record.correct[:1], *self.record.incorrect[:1]),
        )


@dataclass(frozen=True)
class Decision:
    """What a defence did."""

    kept: tuple[int, ...]  # positions that reach the reader; at most k but for some defences
    marked: bool = False  # it kept a passage and marked it as unusual
    instruction: str = ANSWER  # what the reader is told instead of the usual
    answer: str | None = None  # where the defence itself has it; None: the reader is asked
    p_value: float | None = None  # of "this is clean traffic"; None: it has no notion of that


Judge = Callable[[Case], Decision]


@dataclass(frozen=True)
class Defence:
    """What stands between retriever and reader.

    Results are void where what it `measures` changes: sources of packages, or versions "dist:NAME".
    """

    about: About
    make: Callable[[Setting], Judge]
    over_fetch: int = 1  # how many times k it is given
    measures: tuple[str, ...] = ()


@dataclass(frozen=True)
class AttributorPlugin:
    """What finds the passages behind a wrong answer; fields as in `Defence`."""

    about: About
    make: Callable[[Setting], Attributor]
    measures: tuple[str, ...] = ("ragguard.attribution", "ragguard.proxy")


@dataclass(frozen=True)
class ReaderPlugin:
    """What answers. `make` is given what stands behind the reader's name in a suite, in words."""

    about: About
    make: Callable[..., Reader]
    measures: tuple[str, ...] = ()


ROOMS: Mapping[str, tuple[str, type]] = {
    "attacks": ("ATTACK", Attack),
    "defences": ("DEFENCE", Defence),
    "attributors": ("ATTRIBUTOR", AttributorPlugin),
    "readers": ("READER", ReaderPlugin),
}
"""Each room with the name that its files give their plug-in, and the plug-in's kind."""


@cache
def known(room: str) -> Mapping[str, tuple[Any, Path]]:
    """Return the plug-ins of a room with their files, by name; foreign ones come last."""
    attribute, kind = ROOMS[room]
    package = importlib.import_module(f"benchmarks.{room}")
    here: dict[str, tuple[Any, Path]] = {}
    for module in pkgutil.iter_modules(package.__path__):
        loaded = importlib.import_module(f"benchmarks.{room}.{module.name}")
        if (plugin := getattr(loaded, attribute, None)) is not None:
            here[module.name] = plugin, Path(str(loaded.__file__))
    for file in Path(package.__path__[0]).glob("*.toml"):
        described = importlib.import_module(f"benchmarks.{room}.described")
        here[file.stem] = described.read(file), file
    here = dict(sorted(here.items()))
    for point in entry_points(group=f"ragguard_benchmarks.{room}"):
        plugin = point.load()
        if not isinstance(plugin, kind) or point.name in here:
            raise InvalidInputError(
                f"the entry point {point.name!r} of ragguard_benchmarks.{room} must lead to a "
                f"{kind.__name__} under a name that is free; rename or remove it"
            )
        source = inspect.getsourcefile(importlib.import_module(point.module))
        here[point.name] = plugin, Path(str(source))
    return here


def find(room: str, name: str) -> Any:
    if name not in known(room):
        raise InvalidInputError(f"no {name!r} in {room}; there are {', '.join(known(room))}")
    return known(room)[name][0]


def attack_named(name: str) -> tuple[Attack, str]:
    """Return an attack, and the reader that writes its texts, which may stand behind its name."""
    plugin, _, writer = name.partition(" ")
    attack: Attack = find("attacks", plugin)
    if not writer:
        return attack, ""
    if not attack.write:
        raise InvalidInputError(f"no model writes for {plugin!r}; leave {writer!r} out")
    by = f"written by {find('readers', writer.split()[0]).about.title}"
    about = replace(attack.about, title=f"{attack.about.title}, {by}", fidelity=by)
    return replace(attack, about=about), writer
