"""Does RAGOrigin find more with an exported language model than with the lexical one, or with both?

Runnable alone: `python -m benchmarks.proxy_attribution --data DIR --proxy smollm2 --json FILE`.

Of each dataset the first so many records are attributed, each with one kind of attack, drawn by the
seed: planted with the question in front and plain, and not at all; the wrong answer reported as it
is and paraphrased (`benchmarks.answer_wordings.noisy_report`). Measures are those of
`benchmarks.misgeneration`. Every event is attributed with `LexicalProxy`, with the language model,
and with mixtures: a share of the model's log-probability and the rest of the lexical one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.answer_wordings import noisy_report
from benchmarks.attribution_events import Selection, clean_event, of_one_kind, poisoned_events
from benchmarks.command import half_parser
from benchmarks.misgeneration import OWN, TOP_K, KnowledgeBase, Tally, Target, rounded
from benchmarks.report.result import describe_run, write
from benchmarks.reported import Reported, Setting
from ragguard.attribution import RAGOrigin
from ragguard.proxy import LexicalProxy, MixedProxy, OnnxProxy, Proxy, Scores
from ragguard.proxy.named import export_folder

__all__ = ["Remembered", "main", "reports", "run"]


class Remembered:
    """A proxy that scores no text twice: the events of one question share most of theirs.

    Args:
        proxy: Scores what is new.
    """

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._found: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}
        self.seconds = 0.0
        self.scored = 0

    def score(self, contexts: Sequence[str], query: str, response: str) -> Scores:
        """Return what the proxy returns, or returned."""
        known = self._found.setdefault((query, response), {})
        new = [text for text in dict.fromkeys(contexts) if text not in known]
        if new:
            began = time.process_time()
            found = self._proxy.score(new, query, response)
            self.seconds += time.process_time() - began
            self.scored += len(new)
            columns = (found.semantic_correlation.tolist(), found.generation_influence.tolist())
            known.update(zip(new, zip(*columns, strict=True), strict=True))
        rows = np.array([known[text] for text in contexts]).reshape(-1, 2)
        return Scores(rows[:, 0], rows[:, 1])

    def forget(self) -> None:
        """Drop what is remembered."""
        self._found.clear()


def reports(target: Target, base: KnowledgeBase, seed: int) -> Iterator[Reported]:
    """Yield what is reported of one record: (wording, form, response, event).

    Without an attack that got through there is nothing.
    """
    only = of_one_kind(target, base, seed)
    if only is None:
        return
    for _, form, attack in poisoned_events(only, base, seed):
        yield Reported("as it is", form, target.wrong, attack)
    yield Reported("as it is", "clean", target.wrong, clean_event(target, base))
    for one in noisy_report(only, Setting(base, {}, (), seed)):
        if one.case == "paraphrase":
            yield one


def run(
    selection: Selection, model: Proxy | None, *, shares: Sequence[float], progress: Progress
) -> dict[str, Any]:
    """Return the section's rows.

    Args:
        selection: The records.
        model: The language model; None: the lexical proxy alone.
        shares: The weights that the model has; 1 is the model alone.
        progress: Told about every record.

    Raises:
        InvalidInputError: A line of a file is not a record.
    """
    lexical = Remembered(LexicalProxy())
    proxies: dict[str, Proxy] = {"lexical": lexical}
    kept = [lexical]
    if model is not None:
        kept.append(Remembered(model))
        proxies |= {
            f"{share:g} of the model": MixedProxy(lexical, kept[1], share) for share in shares
        }
    origins = {name: RAGOrigin(proxy=proxy, top_k=TOP_K) for name, proxy in proxies.items()}
    tallies: dict[tuple[str, str, str], Tally] = {}
    blamed: dict[str, list[bool]] = {name: [] for name in proxies}
    for dataset, targets, base in selection.datasets():
        if dataset == OWN and selection.data_dir is not None:
            continue
        for target in progress.track(targets, description=dataset):
            for one in reports(target, base, selection.seed):
                for name, origin in origins.items():
                    found = origin.attribute(target.question, one.response, one.event.retrieve)
                    if one.event.poison:
                        key = (name, one.case, one.form)
                        tallies.setdefault(key, Tally()).add(one.event, found)
                    else:
                        blamed[name].append(bool(found.responsible))
            for proxy in kept:
                proxy.forget()
    rows = [
        {"proxy": name, "reported": case, "form": form, **_measures(tally)}
        for (name, case, form), tally in sorted(tallies.items())
    ]
    clean = [
        {"proxy": name, "events": len(found), "blamed": rounded(float(np.mean(found)))}
        for name, found in blamed.items()
    ]
    texts_ms = [rounded(1e3 * proxy.seconds / max(1, proxy.scored)) for proxy in kept]
    return {"poisoned": rows, "clean": clean, "ms_per_text": texts_ms}


def _measures(tally: Tally) -> dict[str, Any]:
    row = tally.row()
    return {name: row[name] for name in ("events", "dacc", "fpr", "fnr")}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurement and return the exit status."""
    parser = half_parser("proxy_attribution", __doc__)
    parser.add_argument("--proxy", help="a model's name, or an exported folder")
    parser.add_argument("--shares", type=_shares, default=(0.5, 1.0), help="weights of the model")
    arguments = parser.parse_args(argv)
    name = arguments.proxy
    model = OnnxProxy(export_folder(name), threads=1) if name else None
    with Progress(console=Console(stderr=True)) as progress:
        selection = Selection(arguments.data, arguments.limit, arguments.seed, arguments.half)
        result = run(selection, model, shares=arguments.shares, progress=progress)
    if arguments.json is not None:
        command = ["python", "-m", "benchmarks.proxy_attribution"]
        if arguments.data is not None:
            command += ["--data", arguments.data.resolve().name]
        if name:
            command += ["--proxy", Path(name).name]
        command += ["--shares", ",".join(f"{share:g}" for share in arguments.shares)]
        command += ["--limit", str(arguments.limit), "--half", str(arguments.half)]
        about = describe_run(command, (), seed=arguments.seed, limit=arguments.limit)
        write(arguments.json, about, {"proxy_attribution": result})
    for rows in (result["poisoned"], result["clean"]):
        table = Table(*rows[0])
        for row in rows:
            table.add_row(*(str(value) for value in row.values()))
        Console().print(table)
    return 0


def _shares(text: str) -> tuple[float, ...]:
    """Read numbers in [0, 1], comma-separated; none if the text is empty."""
    values = tuple(float(part) for part in text.split(",") if part)
    if any(not 0.0 <= value <= 1.0 for value in values):
        raise argparse.ArgumentTypeError("shares are numbers from 0 to 1")
    return values


if __name__ == "__main__":
    sys.exit(main())
