"""The training loop: steps that depend on the seed and their number alone."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from ragguard.errors import InvalidInputError
from ragguard.proxy.prompt import PromptEncoder
from ragguard.proxy.training.examples import ExampleSource
from ragguard.proxy.training.optimizer import Optimizer
from ragguard.proxy.training.packing import Batch, pack
from ragguard.proxy.training.shape import Shape

__all__ = ["WARM_UP", "Loop", "learning_rate", "losses"]

logger = logging.getLogger("ragguard.training")

WARM_UP = 30
"""Steps in which the learning rate rises; they are timed where minutes are given."""

_FLOOR = 0.02
_OF_CONTEXT = 0.2
_LONG_EVERY = 4
_HELD_OUT_BATCHES = 2
_LOGS = 40
_LEAST_BETWEEN_LOGS = 10
_CHECKPOINT_SECONDS = 120.0


def learning_rate(step: int, steps: int, peak: float) -> float:
    """Return the rate of step 0 to `steps` - 1: linear to `peak`, then a cosine to 2 % of it.

    >>> [round(learning_rate(step, 60, 1.0), 2) for step in (0, 29, 30, 45, 60)]
    [0.03, 1.0, 1.0, 0.51, 0.02]
    """
    if step < WARM_UP:
        return peak * (step + 1) / WARM_UP
    done = (step - WARM_UP) / max(1, steps - WARM_UP)
    return peak * (_FLOOR + (1.0 - _FLOOR) * 0.5 * (1.0 + math.cos(math.pi * done)))


def losses(model: Any, batch: Batch) -> tuple[Any, Any, Any]:
    """Return the mean negative log-probability of query, response and context tokens, in nats.

    Without tokens of a kind the loss of that kind is 0. The head meets the scored positions only,
    as in the exported graph.
    """
    import torch

    tokens, prompts = torch.from_numpy(batch.tokens), torch.from_numpy(batch.prompts)
    same = prompts[:, :, None] == prompts[:, None, :]
    visible = (same & torch.ones(same.shape[1:], dtype=torch.bool).tril())[:, None]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = model.base_model(
            input_ids=tokens,
            attention_mask=visible,
            position_ids=torch.from_numpy(batch.positions),
            use_cache=False,
        ).last_hidden_state
        at = [np.nonzero(wanted) for wanted in (batch.query, batch.response, batch.context)]
        row, column = (torch.from_numpy(np.concatenate(index)) for index in zip(*at, strict=True))
        logits = model.get_output_embeddings()(hidden[row, column - 1]).float()
        each = torch.nn.functional.cross_entropy(logits, tokens[row, column], reduction="none")
    kinds = each.split([len(rows) for rows, _ in at])
    query, response, context = (kind.sum() / max(1, len(kind)) for kind in kinds)
    return query, response, context


@dataclass
class Loop:
    """One training run, from a checkpoint if there is one.

    Attributes:
        model: The model that is trained, in place.
        encoder: Makes tokens of examples.
        shape: The sizes.
        train: What is learned from.
        held_out: What is measured on.
        seed: Decides every batch.
        steps: How many steps there are; None until `minutes` have been turned into steps.
        minutes: How long the run is to take, if `steps` is None.
        checkpoint: Where the state is kept.
        identity: What a checkpoint must have been made with.
        step: The next step.
        seconds: What the steps before it took.
        log: Step, losses in nats per token, learning rate and seconds, at forty moments or fewer.
        plans: From which step on how many steps were planned; a run that is gone on with may end
            sooner or later than planned at first, and its learning rate falls accordingly.
    """

    model: Any
    encoder: PromptEncoder
    shape: Shape
    train: ExampleSource
    held_out: ExampleSource
    seed: int
    steps: int | None
    minutes: float | None
    checkpoint: Path
    identity: str
    step: int = 0
    seconds: float = 0.0
    log: list[dict[str, float]] = field(default_factory=list)
    plans: list[list[int]] = field(default_factory=list)

    def run(self) -> None:
        """Train to the end, and keep the state every two minutes and then.

        Raises:
            InvalidInputError: The checkpoint is of another run, or beyond `steps`.
        """
        import torch

        optimizer = Optimizer(self.model)
        if self.checkpoint.exists():
            self._restore(optimizer)
        self._plan()
        held_out = list(self._held_out_batches())
        self.model.train()
        last = began = time.monotonic()
        before = self.seconds
        sums: list[tuple[float, ...]] = []
        while self.step < (self.steps or WARM_UP):
            batch = self._batch()
            rate = learning_rate(self.step, self.steps or WARM_UP, self.shape.learning_rate)
            found = losses(self.model, batch)
            # SC and GC are means over their own tokens, and weigh the same. The context's tokens
            # are not scored in use; they teach words and copying with many tokens a step.
            (sum(found) / len(found)).backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step(rate)
            sums.append(tuple(float(loss.detach()) for loss in found))
            self.step += 1
            self.seconds = before + time.monotonic() - began
            if self.steps is None and self.step == WARM_UP:
                self.steps = _planned(self.minutes, self.seconds)
                logger.info("%d steps fit into %g minutes", self.steps, self.minutes)
                self._plan()
            total = self.steps or WARM_UP
            if self.step % max(_LEAST_BETWEEN_LOGS, total // _LOGS) == 0 or self.step == total:
                self._note(sums, rate, held_out)
                sums = []
            if time.monotonic() - last > _CHECKPOINT_SECONDS:
                self._keep(optimizer)
                last = time.monotonic()
        self._keep(optimizer)
        self.model.eval()

    def _batch(self) -> Batch:
        """Return this step's batch. Attention over half as long rows costs half as much."""
        parts = 1 if self.step % _LONG_EVERY == 0 else 2
        return pack(
            partial(self.train.draw, progress=self.step / (self.steps or math.inf)),
            self.encoder,
            self.shape.rows * parts,
            self.shape.length // parts,
            Random(f"{self.seed} {self.step}"),
            _OF_CONTEXT,
        )

    def held_out_losses(self) -> tuple[float, float]:
        """Return the mean losses on the held-out batches, of query and response tokens, in nats."""
        return self.measure(list(self._held_out_batches()))

    def measure(self, batches: list[Batch]) -> tuple[float, float]:
        """Return the mean losses over some batches, in nats per token."""
        import torch

        with torch.no_grad():
            pairs = [losses(self.model, batch) for batch in batches]
        return (
            sum(float(pair[0]) for pair in pairs) / len(pairs),
            sum(float(pair[1]) for pair in pairs) / len(pairs),
        )

    def _held_out_batches(self) -> Iterator[Batch]:
        for number in range(_HELD_OUT_BATCHES):
            yield pack(
                self.held_out.draw,
                self.encoder,
                self.shape.rows,
                self.shape.length,
                Random(f"held out {number}"),
            )

    def _note(self, sums: list[tuple[float, ...]], rate: float, held_out: list[Batch]) -> None:
        of_query, of_response = self.measure(held_out)
        self.log.append(
            {
                "step": self.step,
                "query_loss": sum(pair[0] for pair in sums) / len(sums),
                "response_loss": sum(pair[1] for pair in sums) / len(sums),
                "context_loss": sum(pair[2] for pair in sums) / len(sums),
                "held_out_query_loss": of_query,
                "held_out_response_loss": of_response,
                "learning_rate": rate,
                "seconds": round(self.seconds, 1),
            }
        )
        logger.info(
            "step %d of %s: held-out loss %.3f a query token, %.3f a response token",
            self.step,
            self.steps or "?",
            of_query,
            of_response,
        )

    def _plan(self) -> None:
        if self.steps is not None and (not self.plans or self.plans[-1][1] != self.steps):
            self.plans.append([self.step, self.steps])

    def _keep(self, optimizer: Optimizer) -> None:
        import torch

        state = {
            "identity": self.identity,
            "model": self.model.state_dict(),
            "optimizer": optimizer.state(),
            "step": self.step,
            "steps": self.steps,
            "seconds": self.seconds,
            "log": self.log,
            "plans": self.plans,
        }
        # Written aside first: an interruption must not cost the state before.
        aside = self.checkpoint.with_suffix(".new")
        torch.save(state, aside)
        os.replace(aside, self.checkpoint)  # noqa: PTH105

    def _restore(self, optimizer: Optimizer) -> None:
        import torch

        state = torch.load(self.checkpoint, weights_only=True)
        if state["identity"] != self.identity:
            raise InvalidInputError(
                f"{self.checkpoint} is of a run with other settings or texts; pass the same ones "
                "to go on with it, or a new folder"
            )
        self.model.load_state_dict(state["model"])
        optimizer.restore(state["optimizer"])
        self.step, self.steps = state["step"], self.steps or state["steps"]
        if self.steps is not None and self.step > self.steps:
            raise InvalidInputError(
                f"{self.checkpoint} is at step {self.step}; pass at least as many steps"
            )
        self.seconds, self.log, self.plans = state["seconds"], state["log"], state["plans"]
        logger.info("going on at step %d", self.step)


def _planned(minutes: float | None, warm_up_seconds: float) -> int:
    """Return how many steps fit, from the time that the first ones took."""
    if minutes is None:
        raise InvalidInputError("pass steps or minutes")
    return max(2 * WARM_UP, round(minutes * 60.0 * WARM_UP / warm_up_seconds))
