"""From texts to a proxy: tokenizer, training, export, model card."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ragguard.errors import InvalidInputError, MissingExtraError, ProxyError
from ragguard.proxy.manifest import Manifest, Precision
from ragguard.proxy.prompt import PromptEncoder, PromptFormat
from ragguard.proxy.training.card import model_card
from ragguard.proxy.training.corpus import Corpus
from ragguard.proxy.training.examples import ExampleSource
from ragguard.proxy.training.loop import Loop
from ragguard.proxy.training.rounding import round_weights
from ragguard.proxy.training.shape import SHAPES, Shape, make_model, train_tokenizer

__all__ = ["Settings", "Trained", "train_proxy"]

logger = logging.getLogger("ragguard.training")


@dataclass(frozen=True)
class Settings:
    """How a proxy is trained.

    Attributes:
        shape: The sizes of the model.
        steps: How many steps; with the seed and one thread this repeats a run exactly.
        minutes: In place of `steps`: as many as fit, by the time that the first thirty took.
        seed: Of the first weights and of every batch.
    """

    shape: Shape = SHAPES["tiny"]
    steps: int | None = None
    minutes: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.steps is None) is (self.minutes is None):
            raise InvalidInputError("pass either steps or minutes")
        if self.steps is not None and self.steps < 1:
            raise InvalidInputError(f"steps must be at least 1, not {self.steps}")
        if self.minutes is not None and not 0.0 < self.minutes < math.inf:
            raise InvalidInputError(f"minutes must be positive and finite, not {self.minutes}")


@dataclass(frozen=True)
class Trained:
    """What came of a run.

    Attributes:
        manifest: That of the exported proxy.
        parameters: Of the model.
        steps: How many there were.
        seconds: What they took, all sittings together.
        log: The loss curve, as `Loop.log`.
    """

    manifest: Manifest
    parameters: int
    steps: int
    seconds: float
    log: list[dict[str, float]]


def train_proxy(corpus: Corpus, folder: str | os.PathLike[str], settings: Settings) -> Trained:
    """Train a proxy on `corpus` and export it into `folder`, as small as passes its gate.

    In int8, else with fp16 weights, else in fp32. Its weights are rounded first to what eight bits
    hold (`ragguard.proxy.training.rounding`); the state that a run goes on from keeps them all.

    The folder holds what `OnnxProxy` loads, README.md (a model card) and training.json (settings,
    texts, loss curve); `training/` in it holds the state. A run that was interrupted goes on where
    its last checkpoint is when it is started again with the same settings and texts.

    Raises:
        MissingExtraError: torch, transformers, tokenizers, onnx or onnxruntime is not installed.
        InvalidInputError: The corpus is too small, or `folder` holds a run of other settings.
        ProxyError: `folder` holds a finished proxy or other files, or the export failed.
    """
    try:
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
        import tokenizers  # noqa: F401
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("train_proxy", "export,onnx") from error
    kept, held_out = corpus.split()
    target = Path(folder)
    state = target / "training"
    if target.exists() and (not target.is_dir() or any(p != state for p in target.iterdir())):
        raise ProxyError(f"{target} is not empty and not a run to go on with; pass a new folder")
    state.mkdir(parents=True, exist_ok=True)
    identity = _identity(corpus, settings)
    tokenizer = train_tokenizer(_texts(kept), settings.shape)
    torch.manual_seed(settings.seed)
    model = make_model(settings.shape, tokenizer.get_vocab_size())
    loop = Loop(
        model=model,
        encoder=PromptEncoder(tokenizer, PromptFormat(), settings.shape.length),
        shape=settings.shape,
        train=ExampleSource(kept),
        held_out=ExampleSource(held_out),
        seed=settings.seed,
        steps=settings.steps,
        minutes=settings.minutes,
        checkpoint=state / "state.pt",
        identity=identity,
    )
    logger.info(
        "training %d parameters on %d records",
        model.num_parameters(),
        len(kept.passages + kept.readings),
    )
    loop.run()
    before = loop.held_out_losses()
    round_weights(model)
    after = loop.held_out_losses()
    logger.info("weights rounded for eight bits: losses %s, before %s", after, before)
    manifest = _export(model, tokenizer, settings.shape, state / "export")
    for file in (state / "export").iterdir():
        file.rename(target / file.name)
    (state / "export").rmdir()
    trained = Trained(manifest, model.num_parameters(), loop.step, loop.seconds, loop.log)
    record = {
        "settings": asdict(settings),
        "sources": corpus.sources,
        "parameters": trained.parameters,
        "steps": trained.steps,
        "plans": loop.plans,
        "seconds": round(trained.seconds, 1),
        "threads": torch.get_num_threads(),
        "versions": {name: version(name) for name in ("torch", "transformers", "tokenizers")},
        "log": trained.log,
        "rounding": {
            name: {"held_out_query_loss": losses[0], "held_out_response_loss": losses[1]}
            for name, losses in (("before", before), ("after", after))
        },
    }
    (target / "training.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (target / "README.md").write_text(
        model_card(settings.shape, settings.seed, corpus, trained), encoding="utf-8"
    )
    return trained


def _export(model: Any, tokenizer: Any, shape: Shape, folder: Path) -> Manifest:
    from ragguard.proxy.export import export_proxy

    smaller: tuple[Precision, ...] = ("int8", "fp16-weights")
    for precision in smaller:
        try:
            return export_proxy(
                model, folder, tokenizer=tokenizer, precision=precision, max_length=shape.length
            )
        except ProxyError as error:
            logger.info("%s is not exact enough: %s", precision, error)
    return export_proxy(model, folder, tokenizer=tokenizer, max_length=shape.length)


def _texts(corpus: Corpus) -> Iterator[str]:
    found = [*corpus.passages]
    for reading in corpus.readings:
        found += (reading.context, reading.question, *reading.answers)
    # The tokenizer takes UTF-8 only, which lone surrogates are not.
    return (text.encode("utf-8", "replace").decode("utf-8") for text in found)


def _identity(corpus: Corpus, settings: Settings) -> str:
    """Return a hash of everything but the steps that decides what is trained."""
    settled = {"shape": asdict(settings.shape), "seed": settings.seed}
    digest = hashlib.sha256(json.dumps(settled, sort_keys=True).encode())
    for text in _texts(corpus):
        digest.update(text.encode("utf-8") + b"\0")
    return digest.hexdigest()
