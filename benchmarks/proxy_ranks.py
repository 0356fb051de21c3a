"""How often a proxy prefers the context that a question was asked about.

Runnable alone: `python -m benchmarks.proxy_ranks --corpus FILE [--proxy FOLDER] [--json OUT]`.

For each sampled record of the report half (odd numbers) the proxy scores its own context and nine
of other records, with the record's question and first answer. Reported is the mean share of the
other contexts that score lower: 0.5 is chance, 1.0 perfect.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.report import describe_run, write
from ragguard.proxy import Proxy, default
from ragguard.proxy.training import read_corpora
from ragguard.proxy.training.corpus import Reading

__all__ = ["main", "run"]

_OTHERS = 9
_LONGEST = 1200


def run(proxy: Proxy, readings: Sequence[Reading], *, limit: int, seed: int) -> dict[str, Any]:
    """Return the mean share of other contexts that score below the own one, by GC and by SC.

    Args:
        proxy: Scores the contexts.
        readings: The records, those with contexts of 1200 characters or more are left out.
        limit: Records that are sampled.
        seed: Of the sample.
    """
    usable = [reading for reading in readings if len(reading.context) < _LONGEST]
    rng = Random(seed)
    shares = []
    for reading in rng.sample(usable, min(limit, len(usable))):
        others = [
            other.context
            for other in rng.sample(usable, _OTHERS + 1)
            if other.context != reading.context
        ][:_OTHERS]
        found = proxy.score([reading.context, *others], reading.question, reading.answers[0])
        shares.append(
            [
                float(np.mean(column[0] > column[1:]))
                for column in (found.generation_influence, found.semantic_correlation)
            ]
        )
    influence, correlation = np.mean(shares, axis=0)
    return {
        "proxy": type(proxy).__name__,
        "records": len(shares),
        "generation_influence": round(float(influence), 3),
        "semantic_correlation": round(float(correlation), 3),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurement and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proxy_ranks", description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True, help="reading-comprehension records")
    parser.add_argument("--proxy", type=Path, help="exported folder; without it, the default proxy")
    parser.add_argument("--limit", type=int, default=200, help="records that are sampled")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the result here")
    arguments = parser.parse_args(argv)
    readings = read_corpora([arguments.corpus]).readings[1::2]
    result = run(default(arguments.proxy), readings, limit=arguments.limit, seed=arguments.seed)
    if arguments.json is not None:
        command = ["python", "-m", "benchmarks.proxy_ranks", "--corpus", arguments.corpus.name]
        command += [] if arguments.proxy is None else ["--proxy", arguments.proxy.name]
        command += ["--limit", str(arguments.limit), "--seed", str(arguments.seed)]
        about = describe_run(command, (), seed=arguments.seed, limit=arguments.limit)
        write(arguments.json, about, {"proxy_ranks": [result]})
    Console().print_json(data=result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
