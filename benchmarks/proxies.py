"""RAGOrigin with a real language model for its proxy, beside the lexical one and mixed with it.

Runnable: `python -m benchmarks.proxies --data DIR --model FOLDER --other FOLDER --json FILE`. The
model is an export in fp32, the other is another form of it: reported is in how many events it holds
the very same passages responsible. With --openvino so is the model with products in bfloat16
(`benchmarks.real_model`).

Of each dataset the first records are taken, each with one kind of attack, drawn by the seed. Their
events: five texts with the question in front and plain, one text alone, nothing planted, and the
answer in another wording (`benchmarks.wordings`): paraphrased, and one more, drawn as well.
With --kept, scores are kept in a folder, and a run that was broken off goes on there.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.progress import Progress

from benchmarks.command import ERRORS, Half, Limit, Measured, OwnData, Seed, command
from benchmarks.datasets import OWN, Record
from benchmarks.kept import KeptRows
from benchmarks.misgeneration import (
    TOP_K,
    KnowledgeBase,
    Outcomes,
    Selection,
    Tally,
    clean_event,
    of_one_kind,
    poisoned_events,
    single_events,
)
from benchmarks.real_model import by_openvino
from benchmarks.report.table import Row, Table, crossed, listed, ratio
from benchmarks.wordings import Reported, long_answer, noisy_report, truth_and_falsehood
from ragguard.attribution import Attribution, RAGOrigin
from ragguard.proxy import LexicalProxy, MixedProxy, OnnxProxy, Proxy, Scores
from ragguard.proxy.base import gain_power
from ragguard.stems import tokenize

MODEL = "the model"


class Remembered:
    """A proxy that scores no text twice, and keeps what it scored in a file, if there is one."""

    def __init__(self, proxy: Proxy, file: Path | None) -> None:
        self._proxy = proxy
        self.gain_power = gain_power(proxy)
        self._kept = KeptRows(file, np.float64)

    def score(self, contexts: Sequence[str], query: str, response: str) -> Scores:
        """Return what the proxy returns, or returned."""

        def scored(new: list[int]) -> NDArray[np.float64]:
            found = self._proxy.score([contexts[at] for at in new], query, response)
            return np.stack([found.semantic_correlation, found.generation_influence], axis=1)

        keys = [json.dumps([context, query, response]) for context in contexts]
        return Scores(*self._kept.of(keys, scored).reshape(-1, 2).T)


def reports(record: Record, base: KnowledgeBase, seed: int) -> Iterator[Reported]:
    """Yield what is reported of one record; nothing if no attack on it got through."""
    only = of_one_kind(record, base, seed)
    if only is None:
        return
    for _, form, attack in poisoned_events(only, base, seed):
        yield Reported("five texts", form, record.wrong, attack)
    for form, attack in single_events(only, base, seed):
        yield Reported("one text", form, record.wrong, attack)
    yield Reported("nothing planted", "none", record.wrong, clean_event(record, base))
    mixing = {kind: texts for kind, texts in record.poison.items() if kind == "multi_answer"}
    wordings: dict[str, dict[str, Reported]] = defaultdict(dict)
    for one in (
        *noisy_report(only, base, seed),
        *long_answer(only, base, seed),
        *truth_and_falsehood(replace(only, poison={**only.poison, **mixing}), base, seed),
    ):
        wordings[one.case].setdefault(one.form, one)
    yield from wordings.pop("paraphrase", {}).values()
    if wordings:
        case = Random(f"{seed} {record.question} wording").choice(sorted(wordings))
        yield from wordings[case].values()


def run(
    selection: Selection,
    model: Proxy,
    others: Mapping[str, Proxy],
    *,
    shares: Sequence[float],
    progress: Progress,
) -> dict[str, Any]:
    lexical = LexicalProxy()
    weights = {**{f"{weight:g} of the model": weight for weight in shares}, MODEL: 1.0}
    proxies: dict[str, Proxy] = {
        "lexical": lexical,
        **{name: MixedProxy(lexical, model, weight) for name, weight in weights.items()},
    }
    # Of each other form the same mixtures: an event is alike if they blame the same passages.
    forms = {
        f"{name}, {mixture}": (MixedProxy(lexical, other, weight), mixture)
        for name, other in others.items()
        for mixture, weight in weights.items()
    }
    proxies |= {name: proxy for name, (proxy, _) in forms.items()}
    origins = {name: RAGOrigin(proxy=proxy, top_k=TOP_K) for name, proxy in proxies.items()}
    outcomes = Outcomes()
    agreed: dict[str, list[tuple[bool, bool]]] = {name: [] for name in forms}
    for dataset, records, base in selection.datasets():
        if dataset == OWN and selection.data_dir is not None:
            continue
        for record in progress.track(records, description=dataset):
            for one in reports(record, base, selection.seed):
                cases = [one.case]
                if one.case == "five texts" and len(tokenize(record.wrong)) == 1:
                    cases.append("one word")
                found = {
                    name: origin.attribute(record.question, one.response, one.event.retrieve)
                    for name, origin in origins.items()
                }
                for name, attribution in found.items():
                    for case in cases if name not in forms else ():
                        outcomes.add(one.event, attribution, proxy=name, case=case, form=one.form)
                for name, pairs in agreed.items():
                    theirs = blamed_texts(found[forms[name][1]])
                    pairs.append((bool(theirs), blamed_texts(found[name]) == theirs))
    alike = [
        {
            "form": name,
            "events": len(pairs),
            "identical": sum(same for _, same in pairs),
            "with_blame": sum(blamed for blamed, _ in pairs),
            "identical_with_blame": sum(blamed and same for blamed, same in pairs),
        }
        for name, pairs in agreed.items()
    ]
    rows = outcomes.rows(_measures)
    rows.sort(key=lambda row: (row["proxy"], row["case"], row["form"]))
    return {"proxies": rows, "proxy_forms": alike}


def blamed_texts(attribution: Attribution) -> set[str]:
    return {passage.text for passage in attribution.responsible}


def _measures(tally: Tally) -> dict[str, Any]:
    row = tally.row()
    found = {name: row[name] for name in ("events", "dacc", "fpr", "fnr")}
    return {**found, "blamed": tally.counts["blamed"]}


_FORMS = {"prepend": "question in front", "plain": "plain", "none": "found"}


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    rows = sections["proxies"]
    yield crossed(
        "A real model as proxy: DACC / FPR / FNR in % (events)",
        [row for row in rows if row["form"] != "none"],
        {"event": "case", "form": lambda row: _FORMS[row["form"]]},
        "proxy",
        lambda part: _cell(part[0]),
        order=("lexical",),
    )
    yield crossed(
        "A real model as proxy: events with nothing planted in which somebody is blamed",
        [row for row in rows if row["form"] == "none"],
        {"event": "case"},
        "proxy",
        lambda part: f"{part[0]['blamed']} of {part[0]['events']}",
        order=("lexical",),
    )
    if not sections["proxy_forms"]:
        return
    yield listed(
        "Other forms of the model: events with the very same responsible set",
        sections["proxy_forms"],
        {
            "form": "form",
            "events": "events",
            "identical": ratio("identical", "events"),
            "of those with blame": ratio("identical_with_blame", "with_blame"),
        },
    )


def _cell(row: Row) -> str:
    measures = " / ".join(f"{100 * row[name]:.1f}" for name in ("dacc", "fpr", "fnr"))
    return f"{measures} ({row['events']})"


@command(tables)
def main(
    model: Annotated[Path, typer.Option(help="folder of the export in fp32")],
    other: Annotated[Path | None, typer.Option(help="folder of another form of it")] = None,
    shares: Annotated[str, typer.Option(help="of the model in mixtures, comma-separated")] = "0.2",
    openvino: Annotated[bool, typer.Option("--openvino", help="in bfloat16 as well")] = False,
    kept: Annotated[Path | None, typer.Option(help="folder where scores are kept")] = None,
    data: OwnData = None,
    limit: Limit = None,
    seed: Seed = 0,
    half: Half = 1,
) -> Measured:
    read = {folder.name: OnnxProxy(folder, threads=1) for folder in (model, other) if folder}
    if openvino:
        read["bfloat16"] = OnnxProxy(model, threads=1, providers=by_openvino(1))
    remembered = {
        name: Remembered(proxy, None if kept is None else kept / f"{name}.sqlite")
        for name, proxy in read.items()
    }
    first = remembered.pop(model.name)
    weights = [float(weight) for weight in shares.split(",")]
    with Progress(console=ERRORS) as progress:
        selection = Selection(data, limit, seed, half)
        return run(selection, first, remembered, shares=weights, progress=progress), ()
