"""Trains the proxy that the benchmarks measure, on texts that they do not ask about.

Runnable alone: `python -m benchmarks.proxy_training --data DIR --steps N --out FOLDER`. Needs the
extras `export` and `onnx`.

The corpus is the even-numbered records of reading_comprehension.jsonl and wikipedia_passages.jsonl,
without the questions of the other files.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.targets import load_targets
from ragguard.proxy.training import SHAPES, Corpus, Settings, read_corpora, train_proxy

__all__ = ["main", "training_corpus"]

DATASETS = ("nq", "hotpotqa", "msmarco", "realtimeqa", "simpleqa")


def training_corpus(data: Path) -> Corpus:
    """Return the texts that may be trained on.

    Args:
        data: The folder of datasets.

    Raises:
        InvalidInputError: A file is missing or a line is not a record.
    """
    corpus = read_corpora([data / "reading_comprehension.jsonl", data / "wikipedia_passages.jsonl"])
    asked = {
        target.question
        for half in (0, 1)
        for _, targets in load_targets(data, DATASETS, half=half, limit=None)
        for target in targets
    }
    readings = tuple(record for record in corpus.readings[::2] if record.question not in asked)
    return replace(corpus, readings=readings, passages=corpus.passages[::2])


def main(argv: Sequence[str] | None = None) -> int:
    """Train and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.proxy_training", description=__doc__
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of datasets")
    parser.add_argument("--out", type=Path, required=True, help="a new folder, or one to go on in")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--size", choices=tuple(SHAPES), default="tiny")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    logging.basicConfig(level=logging.ERROR, format="%(asctime)s %(message)s")
    logging.getLogger("ragguard.training").setLevel(logging.INFO)
    settings = Settings(SHAPES[arguments.size], steps=arguments.steps, seed=arguments.seed)
    train_proxy(training_corpus(arguments.data), arguments.out, settings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
