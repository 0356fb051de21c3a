"""Data by name: the project's own, a file of the data folder, or a public format and its path."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks.datasets import OWN, Dataset, Record, answers, lines, load_file, skerrin
from benchmarks.embedders import nearest
from ragguard import demo
from ragguard.errors import InvalidInputError, RagguardError
from ragguard.files import read_json

Records = Iterable[Record]
_Beir = tuple[Mapping[str, str], Mapping[str, str], Sequence[tuple[str, str, int]]]

_ARENA = {
    **{"advdecoding": "adversarial_decoding", "corpus_poison": "corpus_poisoning"},
    "content_poison": "content_poisoning",
}
"""What the attacks here call those of PoisonArena, where they differ."""


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
    """Read a folder of BEIR; questions are those of its qrels, which say what is golden.

    Where there is no such folder, `ir_datasets` fetches what has that name, as "scifact/test".
    """
    corpus, queries, judged = _in_folder(path) if path.is_dir() else _by_name(path.as_posix())
    golden: dict[str, set[str]] = {}
    for query, passage, score in judged:
        if score > 0 and passage in corpus and query in queries:
            golden.setdefault(query, set()).add(corpus[passage])
    found = nearest([queries[query] for query in golden], corpus.values())
    for (query, texts), hits in zip(golden.items(), found, strict=True):
        yield Record(queries[query], hits, frozenset(texts), {}, query)


def _in_folder(path: Path) -> _Beir:
    queries = {str(one["_id"]): str(one["text"]) for one in lines(path / "queries.jsonl")}
    rows = (path / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]
    judged = [(a, b, int(score)) for a, b, score in (row.split("\t")[:3] for row in rows)]
    return _corpus(path / "corpus.jsonl"), queries, judged


def _by_name(name: str) -> _Beir:
    try:
        import ir_datasets
    except ImportError as error:
        raise ImportError(f"{name} is no folder; pip install ir_datasets to fetch it") from error
    data = ir_datasets.load(f"beir/{name}")
    passages = (
        (one.doc_id, f"{getattr(one, 'title', '') or ''} {one.text}".strip())
        for one in data.docs_iter()
    )
    queries = {one.query_id: one.text for one in data.queries_iter()}
    judged = [(one.query_id, one.doc_id, one.relevance) for one in data.qrels_iter()]
    return dict(passages), queries, judged


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


def poisonarena(path: Path) -> Records:
    """Read a folder of PoisonArena's such as `arena/data/attacker_data`: each method has its own.

    A file has the texts for one false answer to each question; of a method's the first is taken. A
    BEIR `corpus.jsonl` beside the folder adds hits.
    """
    grouped: dict[str, dict[str, Any]] = {}
    for file in sorted(path.rglob("*.json")):
        kind = _ARENA.get(file.parent.name, file.parent.name)
        for one in _json(file, list):
            grouped.setdefault(one["id"], {}).setdefault(kind, one)
    asked = [next(iter(kinds.values())) for kinds in grouped.values()]
    found = _hits(path, [one["question"] for one in asked])
    for one, hits, kinds in zip(asked, found, grouped.values(), strict=True):
        poison = {
            kind: tuple(text["context"] for text in of["adv_texts"]) for kind, of in kinds.items()
        }
        wrong = dict.fromkeys(a for of in kinds.values() for a in answers(of["incorrect_answer"]))
        right = answers(one["answer"])
        yield Record(one["question"], hits, frozenset(), poison, one["id"], right, tuple(wrong))


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
    reader.__name__: reader
    for reader in (poisonedrag, beir, ragdefender, robustrag, promptfoo, poisonarena)
}
"""Readers by format; a dataset in a suite is "FORMAT:PATH"."""

_RELEASED = "released"
_POISONEDRAG = "MIT (PoisonedRAG); texts: "
_LICENCES = {
    **dict.fromkeys(("nq", "hotpotqa"), f"{_POISONEDRAG}CC BY-SA (Wikipedia)"),
    "msmarco": f"{_POISONEDRAG}non-commercial research (MS MARCO)",
    **{"languages": "CC BY-SA 4.0 (XQuAD)", OWN: "Apache-2.0"},
}


def file_of(name: str, folder: Path | None) -> Path | None:
    """Return the file behind a name; None for the project's own data and what is fetched."""
    if name == OWN:
        return None
    kind, colon, path = name.partition(":")
    if colon:
        if kind not in CONVERTERS:
            raise InvalidInputError(f"no format {kind!r}; there are {', '.join(CONVERTERS)}")
        found = Path(path)
        if kind == beir.__name__ and not found.exists():
            return None
    elif folder is None:
        raise InvalidInputError(f"{name!r} is in a data folder; pass --data")
    else:
        found = folder / f"{'released_attacks' if name == _RELEASED else name}.jsonl"
    if not found.exists():
        raise InvalidInputError(f"{found} is not there; pass the folder or file that holds {name}")
    return found


def files_of(name: str, folder: Path | None) -> list[Path]:
    """Return the files that the records behind a name are made of: its own, and the passages'."""
    if (path := file_of(name, folder)) is None:
        return []
    passages = path.with_name("wikipedia_passages.jsonl" if name == _RELEASED else "corpus.jsonl")
    return [path, passages] if passages.is_file() else [path]


@lru_cache(maxsize=8)
def load(name: str, folder: Path | None) -> Dataset:
    """Return the data behind a name; records without an id get their number."""
    path, (form, colon, place) = file_of(name, folder), name.partition(":")
    if colon:
        try:
            found = tuple(CONVERTERS[form](Path(place)))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"{place} is not of the format {form} ({error!r}); name another"
            ) from error
        data = Dataset(Path(place).stem, found, split=False)
    elif path is None:
        data = skerrin()
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


def origin(name: str, folder: Path | None) -> dict[str, Any]:
    """Return what a result says of the data behind a name; None stands for what is not known.

    The hash of a folder is that of all its files, one after the other in the order of their paths.
    """
    path, licence = file_of(name, folder), _LICENCES.get(name)
    path = Path(demo.__file__).with_name("data") if name == OWN else path
    files = [] if path is None else sorted(path.rglob("*")) if path.is_dir() else [path]
    content = b"".join(file.read_bytes() for file in files if file.is_file())
    about = {"sha256": sha256(content).hexdigest() if files else None, "licence": licence}
    try:
        data = load(name, folder)
    except (RagguardError, ImportError):  # each of its cells has it for a reason
        return {"records": None, "split": None, **about}
    split = "odd records" if data.split else "all records"
    return {"records": len(data.report), "split": split, **about}
