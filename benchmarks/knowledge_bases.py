"""Knowledge bases to scan: clean passages of one source, and what attackers would plant there.

Each half has its own: what retrievers returned for its questions, its plain passages, and the texts
planted for its questions. A passage that both halves have belongs to the choosing one, so that
nothing is reported on what was chosen on.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets.records import DATASETS, load_file, texts_in, values
from benchmarks.fit_manner import FOLDS
from benchmarks.forms import FORMS
from ragguard.admission.batch import Batch, edge_hashes, sketches
from ragguard.admission.profile import profiles
from ragguard.inline.features.manner import MannerModel

COUNTS = (1, 5)
"""How many texts are planted for a question."""

_PLANTED = ("plain", "prepend")  # without the question, and with the question in front

_SOURCES = (*DATASETS, "machine_written", "keyword_traffic", "languages")
_RELEASED = ("nq", "msmarco")  # the knowledge bases that the released attacks were made for
_PER_QUESTION = 5
_FEWEST = 20
_PLANTED_AT_ONCE = 0.01  # of a knowledge base


@dataclass
class KnowledgeBase:
    """Passages of one source and one half.

    `clean` has each clean passage once, with the fold of its question; `planted`, by kind and form
    of attack, the texts for each question with its fold.
    """

    name: str
    clean: dict[str, int] = field(default_factory=dict)
    planted: dict[tuple[str, str], list[tuple[int, tuple[str, ...]]]] = field(default_factory=dict)

    def plant(self, kind: str, form: str, fold: int, texts: Sequence[str]) -> None:
        """Add what is planted for one question."""
        found = tuple(dict.fromkeys(texts))[:_PER_QUESTION]
        if found:
            self.planted.setdefault((kind, form), []).append((fold, found))

    def rounds(self, attack: tuple[str, str], count: int) -> Iterator[dict[str, int]]:
        """Yield what is planted at once, with folds: for some questions the first `count` texts.

        At most one in a hundred passages, or those of one question; every question has its turn.
        """
        most = max(1, int(_PLANTED_AT_ONCE * len(self.clean) / count))
        found = self.planted[attack]
        for at in range(0, len(found), most):
            yield {text: fold for fold, texts in found[at : at + most] for text in texts[:count]}

    def with_planted(self, planted: Mapping[str, int]) -> dict[str, int]:
        """Return the clean passages with planted ones behind them, each with its fold."""
        clean = {text: fold for text, fold in self.clean.items() if text not in planted}
        return {**clean, **planted}


class Texts:
    """What is read of texts, each once; manner by a model for every fold, or the shipped one."""

    def __init__(self, models: Sequence[MannerModel] | None = None) -> None:
        self._models = models
        self._known: dict[str, tuple[NDArray[Any], ...]] = {}

    def batch(self, texts: Mapping[str, int]) -> Batch:
        """Return texts, with their folds, as a batch."""
        new = [text for text in texts if text not in self._known]
        for fold in sorted({texts[text] for text in new}):
            own = [text for text in new if texts[text] == fold]
            model = None if self._models is None else self._models[fold]
            read = zip(profiles(own, model), edge_hashes(own), sketches(own), strict=True)
            self._known.update(zip(own, read, strict=True))
        profile, edges, lowest = zip(*[self._known[text] for text in texts], strict=True)
        return Batch(list(texts), np.array(profile), np.array(edges), np.array(lowest))


def knowledge_bases(folder: Path, half: int) -> list[KnowledgeBase]:
    """Return those of a half, 0 to choose on and 1 to report on, whose sources the folder has."""
    found = [_retrieved(folder, name, half) for name in _SOURCES]
    pages = texts_in(folder, "wikipedia_passages")
    plain = {text: at % FOLDS for at, text in enumerate(pages[half::2])}
    found.append(KnowledgeBase("wikipedia", plain))
    bases = {base.name: base for base in found if len(base.clean) >= _FEWEST}
    for number, record in enumerate(values(folder, "released_attacks")):
        source = next((name for name in _RELEASED if name in str(record["id"])), "")
        if number % 2 == half and source in bases:
            for kind, answers in record["poison"].items():
                fold = number // 2 % FOLDS
                bases[source].plant(f"{kind} (released)", "plain", fold, answers[0]["texts"])
    return list(bases.values())


def _retrieved(folder: Path, name: str, half: int) -> KnowledgeBase:
    base, path = KnowledgeBase(name), folder / f"{name}.jsonl"
    if not path.is_file():
        return base
    data = load_file(path, name)
    for position, record in enumerate(data.report if half else data.choosing):
        fold = position % FOLDS
        base.clean.update({text: fold for text in record.hits if text not in base.clean})
        for (kind, texts), form in product(record.poison.items(), _PLANTED):
            base.plant(kind, form, fold, [FORMS[form](record.question, one) for one in texts])
    if half:
        others = {text for record in data.choosing for text in record.hits}
        base.clean = {text: fold for text, fold in base.clean.items() if text not in others}
    return base
