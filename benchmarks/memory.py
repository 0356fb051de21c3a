"""What a defence takes of memory: `python -m benchmarks.memory --data DIR`.

Each is made in a process of its own and judges clean sets of k = 5 (report half of NQ, or the own
data). Counted is how far resident memory grows above what benchmark, data and retriever take: by
what the defence imports, reads and remembers. A model that it asks is not counted: it gets no
answers. Needs Linux, whose kernel forgets a process's peak if told so.
"""

import re
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

from benchmarks.command import Limit, Measured, OwnData, command, tracked
from benchmarks.datasets import OWN
from benchmarks.datasets.sources import load
from benchmarks.embedders import built_in
from benchmarks.plugins import Case, Defence, Setting, find, known
from benchmarks.readers.base import Answer
from benchmarks.report.table import Row, Sections, Table, listed, number
from benchmarks.retrieval import retrieve

_K = 5
_PROCESS = Path("/proc/self")


def _mebibytes(name: str) -> float:
    status = (_PROCESS / "status").read_text(encoding="utf-8")
    return int(re.findall(rf"{name}:\s+(\d+) kB", status)[0]) / 1024


def grown(job: tuple[str, Path | None, int | None]) -> Row:
    """Return the row of a defence, in mebibytes; a process has to be new."""
    name, folder, limit = job
    defence: Defence = find("defences", name)
    setting = Setting(load(OWN if folder is None else "nq", folder), built_in(), _K, 0)
    most, sets = _K * defence.over_fetch, setting.clean  # which some learn from
    sets = [retrieve(one, setting.embedder, most) for one in setting.dataset.report[:limit]]
    (_PROCESS / "clear_refs").write_text("5")  # the peak begins anew
    before = _mebibytes("VmRSS")
    judge = defence.make(setting)
    for record, found in zip(setting.dataset.report, sets, strict=False):
        judge(Case(record, found, _K, lambda _: Answer("")))
    row = {"defence": defence.about.title, "sets": len(sets)}
    return row | {"before": before, "grown": _mebibytes("VmHWM") - before}


def tables(sections: Sections) -> Iterator[Table]:
    yield listed(
        "Memory that a defence takes",
        sections["memory"],
        {
            **{"defence": "defence", "sets": "sets"},
            **{"MiB before": number("before", ".0f"), "MiB more": number("grown", ".1f")},
        },
    )


@command(tables)
def main(data: OwnData = None, limit: Limit = None) -> Measured:
    jobs = [(name, data, limit) for name in known("defences")]
    with get_context("spawn").Pool(1, maxtasksperchild=1) as new:
        rows = list(tracked(new.imap(grown, jobs, chunksize=1), "memory"))
    return {"memory": rows}, ()
