"""Fits `ragguard.admission`: `python -m benchmarks.fit_admission --data DIR --out FILE`.

Writes what is usual in clean passages of many knowledge bases, and how much of alpha each sign may
spend. All is chosen on the choosing half, and read by models of manner that were fitted without the
fold of the question, since passages that were fitted on look more honest than they are.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from benchmarks.command import ERRORS, Data, Out, script, tracked
from benchmarks.datasets.reading import load_with_reading
from benchmarks.fit_manner import fit_folds
from benchmarks.knowledge_bases import COUNTS, KnowledgeBase, Texts, knowledge_bases
from ragguard.admission.base import SIGNS, Base
from ragguard.admission.judging import ALPHA, joined, p_values

_STEP = 0.05

Floats = NDArray[np.float64]


def clean_base(bases: Sequence[KnowledgeBase], texts: Texts) -> Base:
    """Return what is usual in the clean passages of all, each measured in its knowledge base."""
    signs: dict[str, list[Floats]] = {}
    own = []
    for base in tracked(bases, "clean"):
        batch = texts.batch(base.clean)
        own.append(batch.base)
        for name, values in batch.signs(own[-1]).items():
            signs.setdefault(name, []).append(values)
    middle = float(np.median([one.middle for one in own]))
    spread = float(np.median([one.spread for one in own]))
    all_signs = {name: np.concatenate(values) for name, values in signs.items()}
    return Base(sum(one.count for one in own), middle, spread).with_tails(all_signs)


def planted_p_values(
    bases: Sequence[KnowledgeBase], texts: Texts, clean: Base
) -> dict[tuple[str, str, int], dict[str, Floats]]:
    """Return the p-values of planted passages by kind, form and count of attack, and by sign."""
    found: dict[tuple[str, str, int], list[dict[str, Floats]]] = {}
    for base in tracked(bases, "planted"):
        for attack in base.planted:
            for count in COUNTS:
                for planted in base.rounds(attack, count):
                    batch = texts.batch(base.with_planted(planted))
                    p = p_values(batch, None, clean)[0]
                    last = {name: values[-len(planted) :] for name, values in p.items()}
                    found.setdefault((*attack, count), []).append(last)
    return {
        key: {name: np.concatenate([one[name] for one in parts]) for name in parts[0]}
        for key, parts in found.items()
    }


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
