"""What quarantine and the record of verdicts cost: `python -m benchmarks.holding_cost --data DIR`.

Two guards judge the same sets (report half, k = 10), turn by turn in random order: one with 10,000
texts in quarantine and a record of what it drops, one with neither. Clean sets, and sets with five
texts that have the question in front; passages that were read before, and passages of which all is
forgotten, the characters that they are written in included. Counted is the processor time of the
calling thread; of each set the least of the rounds.
"""

from collections.abc import Iterator, Sequence
from random import Random
from string import ascii_lowercase
from time import thread_time

from benchmarks.command import Data, Limit, Measured, command, tracked
from benchmarks.datasets import Dataset, load_folder
from benchmarks.embedders import built_in
from benchmarks.report.table import Row, Sections, Table, listed, number
from benchmarks.retrieval import RetrievedSet, planted, retrieve
from ragguard import Guard
from ragguard.audit import QuarantineEntry
from ragguard.content import content_key
from ragguard.lru import forget_all

_ENTRIES, _K, _ROUNDS, _SEED = 10_000, 10, 12, 0


def run(datasets: Sequence[Dataset]) -> Iterator[Row]:
    draw = Random(_SEED)
    with Guard() as plain, Guard() as holding:
        plain._parts.filtering.log.add = lambda _: None  # type: ignore[assignment, method-assign]
        texts = ["".join(draw.choices(f"{ascii_lowercase} ", k=400)) for _ in range(_ENTRIES)]
        holding.store.add_quarantine(
            [QuarantineEntry(content_key(text), f"{n}", text, "r") for n, text in enumerate(texts)]
        )
        for kind, sets in (("clean", _sets(datasets, 0)), ("attacked", _sets(datasets, 5))):
            for passages in ("read before", "new"):
                best = [[float("inf")] * len(sets) for _ in range(2)]
                for _ in tracked(range(_ROUNDS), f"{kind}, {passages}"):
                    for place in draw.sample(range(len(sets)), len(sets)):
                        for which in draw.sample((0, 1), 2):
                            guard, one = (plain, holding)[which], sets[place]
                            if passages == "new":
                                forget_all()
                            began = thread_time()
                            guard.filter(one.question, one.texts)
                            best[which][place] = min(best[which][place], thread_time() - began)
                without, with_both = (1000.0 * sum(times) / len(sets) for times in best)
                row: Row = {"kind": kind, "passages": passages, "sets": len(sets)}
                row |= {"without_ms": without, "with_ms": with_both, "ratio": with_both / without}
                yield row


def _sets(datasets: Sequence[Dataset], count: int) -> list[RetrievedSet]:
    embedder = built_in()
    found = (
        retrieve(record, embedder, _K, planted(record, kind, "prepend", count))
        for dataset in datasets
        for kind in (dataset.kinds[:1] if count else ("none",))
        for record in dataset.report
    )
    return [one for one in found if len(one.texts) == _K]


def tables(sections: Sections) -> Iterator[Table]:
    yield listed(
        f"A query with {_ENTRIES} texts in quarantine and verdicts on record",
        sections["holding_cost"],
        {
            **{"sets": "kind", "passages": "passages", "how many": "sets"},
            **{"without (ms)": number("without_ms"), "with both (ms)": number("with_ms")},
            "ratio": number("ratio"),
        },
    )


@command(tables)
def main(data: Data, limit: Limit = None) -> Measured:
    datasets = [one.limited(limit) for one in load_folder(data)]
    return {"holding_cost": list(run(datasets))}, datasets
