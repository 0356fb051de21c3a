"""Questions with the texts that authors released for them, among passages of a knowledge base."""

from pathlib import Path

from benchmarks.datasets.nearest import nearest
from benchmarks.datasets.records import Dataset, Record, answers, lines


def load_released(path: Path) -> Dataset:
    """Read released attacks; hits are what the built-in embedder finds in the folder's passages.

    The knowledge base was not made for these questions: it may lack their answers. All false
    answers of a question count as the attacker's. A line holds `question`, `correct_answer`, and
    `poison` by kind, each a list of {"incorrect_answer", "texts"}.
    """
    texts = [str(one["text"]) for one in lines(path.with_name("wikipedia_passages.jsonl"))]
    values = lines(path)
    found = nearest([value["question"] for value in values], texts)
    records = []
    for value, hits in zip(values, found, strict=True):
        first = {kind: found[0] for kind, found in value["poison"].items() if found}
        records.append(
            Record(
                value["question"],
                hits,
                frozenset(),
                {kind: tuple(one["texts"]) for kind, one in first.items()},
                str(value["id"]),
                answers(value.get("correct_answer")),
                tuple(dict.fromkeys(str(one["incorrect_answer"]) for one in first.values())),
            )
        )
    return Dataset("released", tuple(records), split=True)
