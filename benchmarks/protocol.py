"""RAGDefender's own protocol: `python -m benchmarks.protocol --data DIR --json FILE`.

Kim, Lee and Koo (2025), Section 5: every question comes with 5 benign passages (2 for multi-hop
questions), the golden one first, and with 1, 2, 4 or 6 times as many poisoned ones, all of which
are retrieved. So poison is nearly always the majority, which is what RAGDefender was made for. Of
the sets with texts of all writers it is noted, with the built-in embedder, whether the published
package follows the paper there.

Our preset follows the paper; the package counts passages in another way. In Eq. 1 it looks for the
top terms, which are in lower case, inside of words and in the letters as given. In Eq. 3 either
factor is enough for it, not both; a passage's similarity to itself counts; medians are the lower
middle; the medians' threshold lies halfway to the mean; and the count is turned round where the
mean is not below the median. Isolation (Eq. 4 to 7) is the same. A set follows the paper if the
package counts what the equation gives there. The paper names no stop words: the package takes
scikit-learn's, the preset our own, and Eq. 1 is computed with the former.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks import command
from benchmarks.datasets import Dataset, Record, load_folder
from benchmarks.defences.contenders import MULTI_HOP, Defence, all_defences
from benchmarks.forms import FORMS
from benchmarks.metrics.outcomes import Counts, counted
from benchmarks.misgeneration import in_form
from benchmarks.report.table import Row, Rows, Sections, Table, as_is, grouped, pooled
from benchmarks.retrieval import RetrievedSet, retrieve
from ragguard.embedding import Embedder
from ragguard.embedding.vectors import similarity_matrix
from ragguard.errors import InvalidInputError
from ragguard.inline.ragdefender.grouping import clustering_count, concentration_count, tfidf_terms

_OURS = ("ragguard", "ragguard 3x")
_DEFENCES = (*_OURS, "paper", "package")
_PLACE = ("dataset", "kind", "form", "ratio", "embedder")
_MEASURES = ("detected", "benign lost")
_EPSILON = 1e-9

RATIOS = (1, 2, 4, 6)  # poisoned passages for every benign one
BENIGN = {"nq": 5, "msmarco": 5, "hotpotqa": 2}  # passages a question, of the paper's datasets

_COUNTS = (
    *("questions", "fired", "poison", "poison_removed", "benign", "benign_removed"),
    *("golden", "golden_removed", "reference"),
)
_WRITERS = ("poisonedrag", "gpt4", "gemini")
TOGETHER = "together"  # all three in that order: no single one has enough for every ratio


def texts_of(record: Record, kind: str, form: str) -> list[str]:
    """Return all poison texts of a kind in a question form, each once."""
    kinds = _WRITERS if kind == TOGETHER else (kind,)
    return in_form(record, form, [text for one in kinds for text in record.poison.get(one, ())])


def poisoned_set(
    record: Record, embedder: Embedder, benign: int, poison: Sequence[str]
) -> tuple[RetrievedSet, int]:
    """Return the passages by similarity to the question, and how many the generator gets.

    First those, benign and poisoned; then the other hits, as what over-fetching would return.
    """
    ranked = retrieve(record, embedder, len(record.hits))
    golden_first = sorted(ranked.texts, key=lambda text: text not in record.golden)
    given = replace(record, hits=tuple(golden_first[:benign]))
    shown = retrieve(given, embedder, len(given.hits) + len(poison), poison)
    below = [at for at, text in enumerate(ranked.texts) if text not in given.hits]
    together = RetrievedSet(
        record.question,
        (*shown.texts, *(ranked.texts[at] for at in below)),
        np.concatenate([shown.embeddings, ranked.embeddings[below]]),
        np.append(shown.poisoned, ranked.poisoned[below]),
        np.append(shown.golden & ~shown.poisoned, ranked.golden[below]),
    )
    return together, len(shown.texts)


def follows(retrieved: RetrievedSet, *, multi_hop: bool) -> bool:
    """Return True if the package counts as many adversarial passages as the paper's equation."""
    import torch
    from ragdefender import grouping  # type: ignore[import-untyped, unused-ignore]
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    texts, rows = list(retrieved.texts), np.ascontiguousarray(retrieved.embeddings)
    if multi_hop:
        theirs = grouping.ConcentrationBasedGrouping(None)
        ours = concentration_count(similarity_matrix(rows))
    else:
        terms = [tfidf_terms(text, ENGLISH_STOP_WORDS) for text in texts]
        theirs, ours = grouping.ClusteringBasedGrouping(None), clustering_count(rows, terms)
    return bool(theirs.estimate_n_adv(texts, embeddings=torch.from_numpy(rows)) == ours)


def run(
    datasets: Sequence[Dataset],
    embedders: Sequence[Embedder],
    defences: Sequence[Defence],
    forms: Sequence[str],
) -> Rows:
    found = Counts(*_COUNTS)
    packaged = any(defence.name.startswith("package") for defence in defences)
    places = list(product(datasets, (*_WRITERS, TOGETHER), forms, RATIOS, embedders))
    for dataset, kind, form, ratio, embedder in command.tracked(places, "protocol"):
        name, benign = dataset.name, BENIGN[dataset.name]
        place = dict(zip(_PLACE, (name, kind, form, ratio, embedder.name), strict=True))
        for record in dataset.report:
            texts = texts_of(record, kind, form)[: ratio * benign]
            if len(texts) < ratio * benign:
                continue
            shown, k = poisoned_set(record, embedder, benign, texts)
            place["follows"] = None
            if packaged and embedder is embedders[0] and kind == TOGETHER:
                place["follows"] = follows(shown.first(k), multi_hop=name in MULTI_HOP)
            for defence in defences:
                key = {**place, "defence": defence.name}
                found.add(key, {**counted(defence, shown, k), "questions": 1})
    return found.rows()


def peers(dataset: str) -> tuple[str, str]:
    """Return the names of our preset and of the package as they are meant for a dataset."""
    if dataset in MULTI_HOP:
        return "paper concentration", "package multi_hop"
    return "paper clustering", "package single_hop"


def compared(rows: Sequence[Row]) -> Iterator[Row]:
    """Hold our defences, cell by cell, against the paper's method and its package.

    "margin" is the smaller of the advantages in poison removed and benign passages kept.
    """
    for key, cell in grouped(rows, *_PLACE).items():
        by_name = {row["defence"]: row for row in pooled(cell, "defence")}
        names = dict(zip(_DEFENCES, (*_OURS, *peers(key[0])), strict=True))
        shares = {
            label: (row["poison_removed"] / row["poison"], row["benign_removed"] / row["benign"])
            for label, name in names.items()
            if (row := by_name.get(name))
        }
        found = dict(zip(_PLACE, key, strict=True))
        found["questions"] = by_name[names["paper"]]["questions"]
        for label, (at, what) in product(names, enumerate(_MEASURES)):
            found[f"{label}: {what}"] = round(shares[label][at], 4) if label in shares else None
        detected, lost = shares["paper"]
        for name in _OURS:
            margin = min(shares[name][0] - detected, lost - shares[name][1])
            found[f"{name}: margin"] = round(margin, 4)
            found[f"{name}: no_worse"] = margin >= -_EPSILON
        yield found


def tables(sections: Sections) -> Iterator[Table]:
    """Yield for every form means and the worst cell, and then our preset beside the package."""
    for (form,), rows in grouped(sections["cells"], "form").items():
        title = f"RAGDefender's protocol, form {form}"
        for name, field in (("poisoned : benign", "ratio"), ("texts", "kind")):
            parts = {str(key[0]): part for key, part in grouped(rows, field).items()}
            yield _means(f"{title}, by {field}", name, parts)
        worst = min(rows, key=lambda row: float(row["ragguard: margin"]))
        place = ", ".join(str(worst[name]) for name in _PLACE if name != "form")
        yield _means(f"{title}, worst cell", "cell", {place: [worst]})
    looked_at = [row for row in sections.get("defences", ()) if row.get("follows") is not None]
    followed = [row for row in looked_at if row["follows"]]
    for sets, rows in (("all", looked_at), ("where the package follows the paper", followed)):
        if lines := [_between(*cell) for cell in beside_package(rows)]:
            yield as_is(f"RAGDefender, our preset and the package: sets, {sets}", lines)


def beside_package(rows: Sequence[Row]) -> Iterator[tuple[tuple[Any, ...], Row, Row]]:
    """Yield (dataset, form, ratio) with the counts of the preset and of the package."""
    for cell, part in grouped(rows, "dataset", "form", "ratio").items():
        by_name = {row["defence"]: row for row in pooled(part, "defence")}
        preset, package = (by_name[name] for name in peers(cell[0]))
        yield cell, preset, package


def _between(cell: tuple[Any, ...], preset: Row, package: Row) -> Row:
    line = dict(zip(("data", "form", "poisoned : benign"), cell, strict=True))
    line["sets"] = preset["questions"]
    for what in ("poison", "benign"):
        one, two = (100 * row[f"{what}_removed"] / row[what] for row in (preset, package))
        line[f"{what} removed: preset / package, %"] = f"{one:.1f} / {two:.1f}"
        line[f"{what}: points between"] = f"{one - two:+.1f}"
    return line


def _means(title: str, name: str, parts: Mapping[str, Sequence[Row]]) -> Table:
    lines = []
    for label, rows in parts.items():
        good = sum(row["ragguard: no_worse"] for row in rows)
        means = dict.fromkeys(_DEFENCES, "-")
        for one in _DEFENCES:
            # The package was not run in every cell.
            if known := [row for row in rows if row[f"{one}: detected"] is not None]:
                shares = (fmean(row[f"{one}: {what}"] for row in known) for what in _MEASURES)
                means[one] = " / ".join(f"{100 * mean:.1f} %" for mean in shares)
        lines.append({name: label, **means, "cells no worse": f"{good} of {len(rows)}"})
    return as_is(f"{title}: poison removed / benign removed", lines)


@command.command(tables)
def main(
    data: command.Data,
    limit: command.Limit = None,
    forms: command.Forms = "prepend",
    embedders: command.Embedders = "all",
) -> command.Measured:
    asked, by_name = command.chosen("--forms", forms, FORMS), command.embedders_for(embedders)
    datasets = [one.limited(limit) for one in load_folder(data) if one.name in BENIGN]
    if not datasets:
        raise InvalidInputError(f"{data} holds none of {', '.join(BENIGN)}")
    with ExitStack() as stack:
        defences = [one for one in all_defences(stack) if one.name != "none"]
        rows = run(datasets, by_name, defences, asked)
    return {"defences": rows, "cells": list(compared(rows))}, datasets
