"""Does RAGOrigin find more with an exported language model than with the lexical one, or with both?

Runnable alone: `python -m benchmarks.proxy_attribution --data DIR --proxy FOLDER --json FILE`.

The events and measures are those of `benchmarks.attribution`; every one is attributed with
`LexicalProxy`, with the proxy of each folder, and with mixtures: a share of the folder's
log-probability and the rest of the lexical one, token for word.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.attribution_events import RESPONSES, Selection, clean_event, poisoned_events
from benchmarks.attribution_rows import Outcomes, summary
from benchmarks.command import half_parser
from benchmarks.misgeneration import TOP_K, rounded
from benchmarks.report.result import describe_run, write
from ragguard.attribution import RAGOrigin
from ragguard.proxy import LexicalProxy, OnnxProxy, Proxy, Scores

__all__ = ["Mixed", "Remembered", "main", "run"]

_CLOSING = " \t\n.!"


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


class Mixed:
    """A weighted mean of two proxies' log-probabilities, in nats.

    A mean of fixed weights, unlike one of z-scores, does not depend on which other contexts are
    asked for.

    Args:
        first: Has the rest of the weight.
        second: Has `share` of it. It is asked without the full stop that closes a response: to a
            language model that is one token more, of which the passage says nothing.
        share: In [0, 1].
    """

    def __init__(self, first: Proxy, second: Proxy, share: float) -> None:
        self._first = first
        self._second = second
        self._share = share

    def score(self, contexts: Sequence[str], query: str, response: str) -> Scores:
        """Return the mean of both proxies' scores."""
        ours = self._first.score(contexts, query, response)
        theirs = self._second.score(contexts, query, response.rstrip(_CLOSING) or response)
        rest = 1.0 - self._share
        return Scores(
            rest * ours.semantic_correlation + self._share * theirs.semantic_correlation,
            rest * ours.generation_influence + self._share * theirs.generation_influence,
        )


def run(
    selection: Selection,
    folders: Mapping[str, Path],
    *,
    shares: Sequence[float],
    every: int,
    progress: Progress,
) -> dict[str, Any]:
    """Return the section's rows.

    Args:
        selection: The records.
        folders: Exported proxies by name.
        shares: The weights that a folder's proxy has in the mixtures.
        every: Takes every n-th record.
        progress: Told about every record.

    Raises:
        InvalidInputError: A line of a file is not a record.
        ProxyError: A folder holds no proxy.
    """
    single = {"lexical": Remembered(LexicalProxy())} | {
        name: Remembered(OnnxProxy(folder, threads=1)) for name, folder in folders.items()
    }
    proxies: dict[str, Proxy] = dict(single)
    for name in folders:
        for share in shares:
            proxies[f"lexical with {share:g} of {name}"] = Mixed(
                single["lexical"], single[name], share
            )
    origins = {name: RAGOrigin(proxy=proxy, top_k=TOP_K) for name, proxy in proxies.items()}
    outcomes = Outcomes()
    for dataset, targets, base in selection.datasets():
        taken = targets[::every]
        bar = progress.add_task(dataset, total=len(taken))
        for target in taken:
            attacks = list(poisoned_events(target, base, selection.seed))
            unpoisoned = clean_event(target, base)
            for name, origin in origins.items():
                for wording, respond in RESPONSES.items():
                    response = respond(target.wrong)
                    for kind, form, attack in attacks:
                        found = origin.attribute(target.question, response, attack.retrieve)
                        stratum = {"proxy": name, "kind": kind, "form": form}
                        outcomes.add(dataset, attack, found, **stratum, response=wording)
                    found = origin.attribute(target.question, response, unpoisoned.retrieve)
                    outcomes.add(dataset, unpoisoned, found, proxy=name, response=wording)
            for proxy in single.values():
                proxy.forget()
            progress.advance(bar)
    poisoned, clean = outcomes.poisoned(), outcomes.clean()
    return {
        "summary": summary(poisoned, clean, by=("proxy", "form", "response")),
        "poisoned": poisoned,
        "clean": clean,
        "ms_per_text": {
            name: rounded(1e3 * proxy.seconds / max(1, proxy.scored))
            for name, proxy in single.items()
        },
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurement and return the exit status."""
    parser = half_parser("proxy_attribution", __doc__)
    parser.add_argument(
        "--proxy", type=Path, action="append", default=[], help="exported folder; repeatable"
    )
    parser.add_argument(
        "--shares", type=_shares, default=(0.5,), help="of a folder's proxy in the mixtures"
    )
    parser.add_argument("--every", type=int, default=1, help="take every n-th record")
    arguments = parser.parse_args(argv)
    with Progress(console=Console(stderr=True)) as progress:
        result = run(
            Selection(arguments.data, arguments.limit, arguments.seed, arguments.half),
            {folder.name: folder for folder in arguments.proxy},
            shares=arguments.shares,
            every=arguments.every,
            progress=progress,
        )
    if arguments.json is not None:
        _save(arguments, result)
    table = Table(*result["summary"][0])
    for row in result["summary"]:
        table.add_row(*(str(value) for value in row.values()))
    Console().print(table)
    return 0


def _save(arguments: argparse.Namespace, result: Mapping[str, Any]) -> None:
    command = ["python", "-m", "benchmarks.proxy_attribution"]
    if arguments.data is not None:
        command += ["--data", arguments.data.resolve().name]
    for folder in arguments.proxy:
        command += ["--proxy", folder.name]
    command += ["--shares", ",".join(f"{share:g}" for share in arguments.shares)]
    command += ["--every", str(arguments.every), "--half", str(arguments.half)]
    about = describe_run(command, (), seed=arguments.seed, limit=arguments.limit)
    write(arguments.json, about, {"proxy_attribution": dict(result)})


def _shares(text: str) -> tuple[float, ...]:
    """Read numbers in [0, 1], comma-separated; none if the text is empty."""
    values = tuple(float(part) for part in text.split(",") if part)
    if any(not 0.0 <= value <= 1.0 for value in values):
        raise argparse.ArgumentTypeError("shares are numbers from 0 to 1")
    return values


if __name__ == "__main__":
    sys.exit(main())
