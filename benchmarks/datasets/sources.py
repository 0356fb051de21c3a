"""Data by name: the project's own, a file of the data folder, or a public format and its path."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.datasets import OWN, Dataset, Record, answers, lines, load_file, skerrin
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
    """Read a folder of BEIR; questions are those of its qrels, which say what is golden."""
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
    """Read what `promptfoo redteam poison` writes, from YAML made into JSON (`yq -o json`).

    A document names no question: what it intends stands for it.
    """
    for one in _json(path, dict)["documents"]:
        aim, poison = one["intendedResult"], {"promptfoo": (one["poisonedDocument"],)}
        yield Record(aim, (), frozenset(), poison, one.get("originalPath", ""), (), (aim,))


def _json(path: Path, kind: type) -> Any:
    value = read_json(path)
    if not isinstance(value, kind):
        raise InvalidInputError(f"{path} holds no {kind.__name__}; is it another format's?")
    return value


def _corpus(path: Path) -> dict[str, str]:
    found = lines(path) if path.is_file() else []
    return {str(one["_id"]): f"{one.get('title') or ''} {one['text']}".strip() for one in found}


def _hits(path: Path, questions: Sequence[str]) -> list[tuple[str, ...]]:
    return nearest(questions, _corpus(path.with_name("corpus.jsonl")).values())


CONVERTERS: Mapping[str, Callable[[Path], Records]] = {
    reader.__name__: reader for reader in (poisonedrag, beir, ragdefender, robustrag, promptfoo)
}
"""Readers by format; a dataset in a suite is "FORMAT:PATH"."""

_RELEASED = "released"


def file_of(name: str, folder: Path | None) -> Path | None:
    """Return the file behind a name; None for the project's own data, which needs none."""
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
        form = name.partition(":")[0]
        try:
            data = Dataset(path.stem, tuple(CONVERTERS[form](path)), split=False)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"{path} is not of the format {form} ({error!r}); name another"
            ) from error
    elif name == _RELEASED:
        data = Dataset(name, tuple(_released(path)), split=True)
    else:
        data = load_file(path)
    records = (
        record if record.id else replace(record, id=str(number))
        for number, record in enumerate(data.records)
    )
    return replace(data, records=tuple(records))


def _released(path: Path) -> Records:
    """Read released attacks; hits are what the built-in embedder finds in the folder's passages.

    All false answers of a question count as the attacker's. A line holds `question`,
    `correct_answer`, and `poison` by kind, each a list of {"incorrect_answer", "texts"}.
    """
    texts = [str(one["text"]) for one in lines(path.with_name("wikipedia_passages.jsonl"))]
    values = lines(path)
    found = nearest([value["question"] for value in values], texts)
    for value, hits in zip(values, found, strict=True):
        first = {kind: found[0] for kind, found in value["poison"].items() if found}
        poison = {kind: tuple(one["texts"]) for kind, one in first.items()}
        right = answers(value.get("correct_answer"))
        wrong = tuple(dict.fromkeys(str(one["incorrect_answer"]) for one in first.values()))
        asked, number = value["question"], str(value["id"])
        yield Record(asked, hits, frozenset(), poison, number, right, wrong)
