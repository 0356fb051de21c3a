"""Public formats as records of the documented schema; a format's name stands before the path."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.datasets.records import Dataset, Record, answers, lines
from benchmarks.embedders import nearest
from ragguard.errors import InvalidInputError
from ragguard.jsonl import read_json

Records = Iterable[Record]


def poisonedrag(path: Path) -> Records:
    """Read PoisonedRAG's `results/adv_targeted_results/NAME.json`: texts for each question by id.

    A BEIR `corpus.jsonl` beside the file is the knowledge base; without one there are no hits.
    """
    found = _json(path, dict).values()
    for one, hits in zip(found, _hits(path, [str(one["question"]) for one in found]), strict=True):
        poison = {"poisonedrag": tuple(one["adv_texts"])}
        right, wrong = answers(one["correct answer"]), answers(one["incorrect answer"])
        yield Record(one["question"], hits, frozenset(), poison, str(one["id"]), right, wrong)


def beir(path: Path) -> Records:
    """Read a folder of BEIR: `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv`.

    Questions are those of the qrels; the passages that answer them are golden. What `ir_datasets`
    has downloaded is such a folder once it is unpacked.
    """
    corpus = _corpus(path / "corpus.jsonl")
    queries = {str(one["_id"]): str(one["text"]) for one in lines(path / "queries.jsonl")}
    golden: dict[str, set[str]] = {}
    judgements = (path / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]
    for line in judgements:
        query, passage, score = line.split("\t")[:3]
        if int(score) > 0 and passage in corpus and query in queries:
            golden.setdefault(query, set()).add(corpus[passage])
    found = nearest([queries[query] for query in golden], corpus.values())
    for (query, texts), hits in zip(golden.items(), found, strict=True):
        yield Record(queries[query], hits, frozenset(texts), {}, query)


def ragdefender(path: Path) -> Records:
    """Read the RAGDefender artefact: `artifacts/garag/...`, `blind/...` or `tan/NAME.json`.

    One planted document a row; rows of one query are one question. `ground_truth` is a genuine
    passage; there are no answers, so only the filters can be measured on these. A BEIR
    `corpus.jsonl` beside the file adds hits.
    """
    grouped: dict[str, list[Any]] = {}
    for row in _json(path, list):
        grouped.setdefault(row["query"], []).append(row)
    kind = path.stem.partition("_")[0]
    for (query, rows), hits in zip(grouped.items(), _hits(path, list(grouped)), strict=True):
        golden = dict.fromkeys(row["ground_truth"] for row in rows)
        texts = tuple(dict.fromkeys([*golden, *hits]))
        poison = {kind: tuple(row["adversarial_document"] for row in rows)}
        yield Record(query, texts, frozenset(golden), poison)


def robustrag(path: Path) -> Records:
    """Read RobustRAG's JSON, such as `data/realtimeqa.json`: web results with their titles."""
    for one in _json(path, list):
        hits = [f"{hit['title']}\n{hit['text']}" for hit in one["context"] if "text" in hit]
        texts = answers(one.get("incorrect_context"))
        poison = {"poisonedrag": texts} if texts else {}
        right, wrong = answers(one["correct answer"]), answers(one.get("incorrect answer"))
        unlike = tuple(dict.fromkeys(hits))
        yield Record(one["question"], unlike, frozenset(), poison, "", right, wrong)


def promptfoo(path: Path) -> Records:
    """Read what `promptfoo redteam poison` writes, as JSON: documents with what they aim at.

    The tool writes YAML; `yq -o json` or any other reader turns it into this. A document names no
    question: what it intends stands for it, and the documents themselves are the knowledge base.
    """
    for one in _json(path, dict)["documents"]:
        aim, poison = one["intendedResult"], {"promptfoo": (one["poisonedDocument"],)}
        yield Record(aim, (), frozenset(), poison, one.get("originalPath", ""), (), (aim,))


def _read(reader: Callable[[Path], Records]) -> Callable[[Path], Dataset]:
    def read(path: Path) -> Dataset:
        try:
            return Dataset(path.stem, tuple(reader(path)), split=False)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"{path} is not of the format {reader.__name__} ({error!r}); name another"
            ) from error

    return read


def _json(path: Path, kind: type) -> Any:
    value = read_json(path)
    if not isinstance(value, kind):
        raise InvalidInputError(f"{path} holds no {kind.__name__}; is it another format's?")
    return value


def _corpus(path: Path) -> dict[str, str]:
    found = lines(path) if path.is_file() else []
    return {str(one["_id"]): f"{one.get('title') or ''} {one['text']}".strip() for one in found}


def _hits(path: Path, questions: Sequence[str]) -> list[tuple[str, ...]]:
    """Return what the corpus beside a file has for questions; nothing without one."""
    return nearest(questions, _corpus(path.with_name("corpus.jsonl")).values())


CONVERTERS: Mapping[str, Callable[[Path], Dataset]] = {
    reader.__name__: _read(reader)
    for reader in (poisonedrag, beir, ragdefender, robustrag, promptfoo)
}
"""Readers by format; a dataset in a suite is "FORMAT:PATH"."""
