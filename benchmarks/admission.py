"""What a scan refuses: `python -m benchmarks.admission --data DIR`.

Every knowledge base of the report half is scanned by itself, clean and with planted passages, at
most one in a hundred at once. The signs, their shares of alpha and the clean passages that p-values
are counted among come from the other half. A planted passage is found if it is refused as shipped;
besides, how many would be if the line stood where one in a thousand of these clean passages is
refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from benchmarks.command import Choose, Data, Measured, command, tracked
from benchmarks.datasets import load_folder
from benchmarks.fit_admission import KnowledgeBase, Texts, knowledge_bases
from benchmarks.report.table import Table, as_is, grouped, listed, pooled, ratio, summed
from benchmarks.samples import COUNTS, Floats
from ragguard.admission.judging import ALPHA, REVIEW, judged

_SAID = {"refused": "refused", "looked_at": "or for review", "below_line": "at 0.1 % of clean"}


def run(bases: Sequence[KnowledgeBase], texts: Texts) -> dict[str, Any]:
    def p_values(passages: Mapping[str, int]) -> Floats:
        return np.array([one.p_value for one in judged(texts.batch(passages))])

    def counted(p: Floats) -> dict[str, int]:
        return {
            "refused": int((p <= ALPHA).sum()),
            "looked_at": int((p <= REVIEW * ALPHA).sum()),
            "below_line": int((p < line).sum()),
        }

    clean = {base.name: p_values(base.clean) for base in tracked(bases, "clean")}
    together = np.sort(np.concatenate([*clean.values()]))
    line = float(together[int(ALPHA * len(together))])  # so many are below it
    rows = [{"base": name, "passages": len(p), **counted(p)} for name, p in clean.items()]
    planted = []
    for base in tracked(bases, "planted"):
        for (kind, form), count in product(base.planted, COUNTS):
            rounds = base.rounds((kind, form), count)
            p = np.concatenate([p_values(base.with_planted(some))[-len(some) :] for some in rounds])
            row: dict[str, Any] = {"base": base.name, "kind": kind, "form": form}
            planted.append({**row, "count": count, "texts": len(p), **counted(p)})
    return {"admission_clean": rows, "admission_planted": planted}


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    clean = sections["admission_clean"]
    yield listed(
        "Clean passages",
        [*clean, {**summed(clean), "base": "all"}],
        {
            "knowledge base": "base",
            "clean passages": lambda row: f"{row['passages']:,}",
            "refused": ratio("refused", "passages", 2),
            "refused or for review": ratio("looked_at", "passages", 2),
        },
    )
    lines = []
    for (kind, form), rows in grouped(sections["admission_planted"], "kind", "form").items():
        where = "in front" if form == "prepend" else "as released" if "(" in kind else "none"
        line = {"texts": kind, "question": where}
        for row, (name, said) in product(pooled(rows, "count"), _SAID.items()):
            line[f"{row['count']}: {said}"] = ratio(name, "texts")(row)
        lines.append(line)
    yield as_is("Planted passages", lines)


@command(tables)
def main(data: Data, choose: Choose = False) -> Measured:
    bases = knowledge_bases(data, 0 if choose else 1)
    return run(bases, Texts()), load_folder(data)
