"""Makes the reference attacks: `python -m benchmarks.make_reference --out FILE`.

Attacks on questions of the project's own small data, of all the ways in which people ask there, as
a retriever would return them. `ragguard.inline.calibration_bounds` judges them under every new
calibration.
"""

import json
from collections.abc import Iterator
from importlib import resources
from itertools import product
from typing import Any

import typer

from benchmarks.command import Out, script
from benchmarks.datasets import Record, skerrin
from benchmarks.embedders import built_in
from benchmarks.retrieval import planted, retrieve
from ragguard.inline.pipeline import ConformalFilter
from ragguard.passage import Passage

FORM_NAMES = {
    "prepend": "the question in front",
    "append": "the question behind",
    "shuffled": "the question's words shuffled",
    "keywords": "the question's key words in front",
}
"""The forms that carry the question, and how a message names them."""

_COUNTS = (1, 3)
_K, _FETCHED = 5, 10


def lines() -> Iterator[dict[str, Any]]:
    """Yield what is written of each question: its clean hits, and the attacks on it."""
    embedder = built_in()
    judge = ConformalFilter(embedder)

    def passes(record: Record) -> bool:
        """Return whether a question's clean hits are left alone, so that only attacks are found."""
        hits = [Passage(text) for text in retrieve(record, embedder, _FETCHED).texts]
        sets = (hits[:_K], hits)
        return not any(judge.decide(record.question, given, _K).attacked for given in sets)

    for record in list(filter(passes, skerrin().records))[::3]:
        attacks = []
        for (form, said), count in product(FORM_NAMES.items(), _COUNTS):
            found = retrieve(record, embedder, _FETCHED, planted(record, "statement", form, count))
            if found.poisoned[:_K].any():
                ranks = found.poisoned.nonzero()[0].tolist()
                texts = [found.texts[rank] for rank in ranks]
                attacks.append({"form": said, "texts": texts, "ranks": ranks})
        hits = retrieve(record, embedder, _FETCHED).texts
        yield {"query": record.question, "hits": list(hits), "attacks": attacks}


@script
def main(out: Out = None) -> None:
    """Make the set, say whether it is the shipped one, and write it if asked to."""
    made = "".join(json.dumps(line) + "\n" for line in lines())
    shipped = resources.files("ragguard.inline") / "reference_attacks.jsonl"
    same = shipped.is_file() and shipped.read_text(encoding="utf-8") == made
    typer.echo("the same as the shipped one" if same else "not the shipped one")
    if out is not None:
        out.write_text(made, encoding="utf-8")
