"""Public formats as records of the documented schema; a format's name stands before the path."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.datasets.nearest import nearest
from benchmarks.datasets.records import Dataset, Record, answers
from ragguard.errors import InvalidInputError
from ragguard.jsonl import open_input, read_lines


def poisonedrag(path: Path) -> Dataset:
    """Read PoisonedRAG's `results/adv_targeted_results/NAME.json`: texts for each question by id.

    A BEIR `corpus.jsonl` beside the file is the knowledge base; without one there are no hits.
    """
    found = _json(path, dict).values()
    hits = nearest(
        [str(one["question"]) for one in found], _corpus(path.with_name("corpus.jsonl")).values()
    )
    return _dataset(
        path,
        (
            Record(
                one["question"],
                hit,
                frozenset(),
                {"poisonedrag": tuple(one["adv_texts"])},
                str(one["id"]),
                answers(one["correct answer"]),
                answers(one["incorrect answer"]),
            )
            for one, hit in zip(found, hits, strict=True)
        ),
    )


def beir(path: Path) -> Dataset:
    """Read a folder of BEIR: `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv`.

    Questions are those of the qrels; the passages that answer them are golden. What `ir_datasets`
    has downloaded is such a folder once it is unpacked.
    """
    corpus = _corpus(path / "corpus.jsonl")
    queries = {str(one["_id"]): str(one["text"]) for one in _lines(path / "queries.jsonl")}
    golden: dict[str, set[str]] = {}
    judgements = (path / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]
    for line in judgements:
        query, passage, score = line.split("\t")[:3]
        if int(score) > 0 and passage in corpus and query in queries:
            golden.setdefault(query, set()).add(corpus[passage])
    hits = nearest([queries[query] for query in golden], corpus.values())
    return _dataset(
        path,
        (
            Record(queries[query], hit, frozenset(texts), {}, query)
            for (query, texts), hit in zip(golden.items(), hits, strict=True)
        ),
    )


def ragdefender(path: Path) -> Dataset:
    """Read the RAGDefender artefact: `artifacts/garag/...`, `blind/...` or `tan/NAME.json`.

    One planted document a row; rows of one query are one question. `ground_truth` is a genuine
    passage; there are no answers, so only the filters can be measured on these. A BEIR
    `corpus.jsonl` beside the file adds hits.
    """
    rows = _json(path, list)
    grouped: dict[str, list[Any]] = {}
    for row in rows:
        grouped.setdefault(row["query"], []).append(row)
    hits = nearest(list(grouped), _corpus(path.with_name("corpus.jsonl")).values())
    kind = path.stem.partition("_")[0]
    return _dataset(
        path,
        (
            Record(
                query,
                tuple(dict.fromkeys((*(one["ground_truth"] for one in found), *hit))),
                frozenset(one["ground_truth"] for one in found),
                {kind: tuple(one["adversarial_document"] for one in found)},
            )
            for (query, found), hit in zip(grouped.items(), hits, strict=True)
        ),
    )


def robustrag(path: Path) -> Dataset:
    """Read RobustRAG's JSON, such as `data/realtimeqa.json`: web results with their titles."""
    return _dataset(
        path,
        (
            Record(
                one["question"],
                tuple(
                    dict.fromkeys(
                        f"{hit['title']}\n{hit['text']}" for hit in one["context"] if "text" in hit
                    )
                ),
                frozenset(),
                {"poisonedrag": texts} if (texts := answers(one.get("incorrect_context"))) else {},
                "",
                answers(one["correct answer"]),
                answers(one.get("incorrect answer")),
            )
            for one in _json(path, list)
        ),
    )


def promptfoo(path: Path) -> Dataset:
    """Read what `promptfoo redteam poison` writes, as JSON: documents with what they aim at.

    The tool writes YAML; `yq -o json` or any other reader turns it into this. A document names no
    question: what it intends stands for it, and the documents themselves are the knowledge base.
    """
    documents = _json(path, dict)["documents"]
    return _dataset(
        path,
        (
            Record(
                one["intendedResult"],
                (),
                frozenset(),
                {"promptfoo": (one["poisonedDocument"],)},
                one.get("originalPath", ""),
                (),
                (one["intendedResult"],),
            )
            for one in documents
        ),
    )


def _dataset(path: Path, records: Iterable[Record]) -> Dataset:
    return Dataset(path.stem, tuple(records), split=False)


def _read(reader: Callable[[Path], Dataset]) -> Callable[[Path], Dataset]:
    def read(path: Path) -> Dataset:
        try:
            return reader(path)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"{path} is not of the format {reader.__name__} ({error!r}); name another"
            ) from error

    return read


def _json(path: Path, kind: type) -> Any:
    with open_input(path) as stream:
        value = json.load(stream)
    if not isinstance(value, kind):
        raise InvalidInputError(f"{path} holds no {kind.__name__}; is it another format's?")
    return value


def _lines(path: Path) -> Iterable[Any]:
    with open_input(path) as stream:
        return [line.value for line in read_lines(stream, str(path))]


def _corpus(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    return {
        str(one["_id"]): f"{one.get('title') or ''} {one['text']}".strip() for one in _lines(path)
    }


CONVERTERS: Mapping[str, Callable[[Path], Dataset]] = {
    reader.__name__: _read(reader)
    for reader in (poisonedrag, beir, ragdefender, robustrag, promptfoo)
}
"""Readers by format; a dataset in a suite is "FORMAT:PATH"."""
