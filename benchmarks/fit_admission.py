"""Fits `ragguard.admission`: `python -m benchmarks.fit_admission --data DIR --out FILE`.

Writes what is usual in clean passages of many knowledge bases, and how much of alpha each sign may
spend. All is chosen on the choosing half, and read by models of manner that were fitted without the
fold of the question. Each half has its own knowledge bases: what retrievers returned for its
questions, its plain passages, and the texts planted for its questions. A passage that both halves
have belongs to the choosing one.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.command import ERRORS, Data, Out, script, tracked
from benchmarks.datasets import DATASETS, load_file, load_with_reading, texts_in, values
from benchmarks.fit_manner import FOLDS, fit_folds
from benchmarks.forms import FORMS
from benchmarks.samples import COUNTS, Floats
from ragguard.admission.base import SIGNS, Base
from ragguard.admission.batch import Batch, edge_hashes, sketches
from ragguard.admission.judging import ALPHA, joined, p_values
from ragguard.admission.profile import profiles
from ragguard.inline.features.manner import MannerModel

_PLANTED = ("plain", "prepend")  # without the question, and with the question in front

_SOURCES = (*DATASETS, "machine_written", "keyword_traffic", "languages")
_RELEASED = ("nq", "msmarco")  # the knowledge bases that the released attacks were made for
_STEP = 0.05  # of the shares that are tried


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
        """Add what is planted for one question, five texts at most."""
        if found := tuple(dict.fromkeys(texts))[:5]:
            self.planted.setdefault((kind, form), []).append((fold, found))

    def rounds(self, attack: tuple[str, str], count: int) -> Iterator[dict[str, int]]:
        """Yield what is planted at once, with folds: for some questions the first `count` texts.

        At most one in a hundred passages, or those of one question; every question has its turn.
        """
        most = max(1, int(0.01 * len(self.clean) / count))
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
    """Return those of a half, 0 to choose on and 1 to report on, with twenty passages at least."""
    found = [_retrieved(folder, name, half) for name in _SOURCES]
    pages = texts_in(folder, "wikipedia_passages")
    plain = {text: at % FOLDS for at, text in enumerate(pages[half::2])}
    found.append(KnowledgeBase("wikipedia", plain))
    bases = {base.name: base for base in found if len(base.clean) >= 20}
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
    data = load_file(path)
    for position, record in enumerate(data.report if half else data.choosing):
        fold = position % FOLDS
        base.clean.update({text: fold for text in record.hits if text not in base.clean})
        for (kind, texts), form in product(record.poison.items(), _PLANTED):
            base.plant(kind, form, fold, [FORMS[form](record.question, one) for one in texts])
    if half:
        others = {text for record in data.choosing for text in record.hits}
        base.clean = {text: fold for text, fold in base.clean.items() if text not in others}
    return base


def clean_base(bases: Sequence[KnowledgeBase], texts: Texts) -> Base:
    """Return what is usual in the clean passages of all, each measured in its knowledge base."""
    own, signs = [], []
    for base in tracked(bases, "clean"):
        batch = texts.batch(base.clean)
        own.append(batch.base)
        signs.append(batch.signs(own[-1]))
    middle, spread = np.median([(one.middle, one.spread) for one in own], axis=0).tolist()
    return Base(sum(one.count for one in own), middle, spread).with_tails(_joined(signs))


def planted_p_values(
    bases: Sequence[KnowledgeBase], texts: Texts, clean: Base
) -> dict[tuple[str, str, int], dict[str, Floats]]:
    """Return the p-values of planted passages by kind, form and count of attack, and by sign."""
    found: dict[tuple[str, str, int], list[dict[str, Floats]]] = {}
    for base in tracked(bases, "planted"):
        for attack, count in product(base.planted, COUNTS):
            for planted in base.rounds(attack, count):
                p = p_values(texts.batch(base.with_planted(planted)), None, clean)[0]
                last = {name: values[-len(planted) :] for name, values in p.items()}
                found.setdefault((*attack, count), []).append(last)
    return {attack: _joined(parts) for attack, parts in found.items()}


def _joined(parts: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
    return {name: np.concatenate([one[name] for one in parts]) for name in parts[0]}


def chosen_shares(
    planted: Mapping[tuple[str, str, int], Mapping[str, Floats]], signs: Sequence[str]
) -> dict[str, float]:
    """Return the shares with which most planted passages are refused, every attack alike."""
    steps = round(1 / _STEP)
    best, most = {name: 1 / len(signs) for name in signs}, -1.0
    for parts in product(range(1, steps), repeat=len(signs) - 1):
        if (last := steps - sum(parts)) < 1:
            continue
        shares = {name: part * _STEP for name, part in zip(signs, (*parts, last), strict=True)}
        refused = float(np.mean([_refused(p, shares) for p in planted.values()]))
        if refused > most + 1e-9:
            best, most = shares, refused
    return {name: round(share, 4) for name, share in best.items()}


def _refused(p: Mapping[str, Floats], shares: Mapping[str, float]) -> float:
    return float((np.min([*joined(p, shares).values()], axis=0) <= ALPHA).mean())


@script
def main(data: Data, out: Out = None) -> None:
    """Fit, and write if asked to."""
    bases = knowledge_bases(data, 0)
    texts = Texts(fit_folds(data, load_with_reading(data)))
    clean = clean_base(bases, texts)
    planted = planted_p_values(bases, texts, clean)
    shares = chosen_shares(planted, SIGNS)
    if out is not None:
        made = json.dumps({**clean.to_json(), "shares": shares})
        out.write_text(f"{made}\n", encoding="utf-8")
    for (kind, form, count), p in planted.items():
        refused = _refused(p, shares)
        ERRORS.print(f"{kind}, {form}, {count}: {refused:.2f} of {len(p['manner'])}")
    ERRORS.print(f"{clean.count:,} clean passages; shares {shares}")
