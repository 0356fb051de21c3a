"""What an export is compared with: the original model in torch, one prompt at a time."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.errors import ProxyError
from ragguard.proxy.base import Scores
from ragguard.proxy.export.blame_parity import (
    Scope,
    Verdict,
    relative_error,
    same_blame,
    tells_apart,
    verdict,
)
from ragguard.proxy.export.numeric_parity import Parity, Probe, compare
from ragguard.proxy.onnx import OnnxProxy
from ragguard.proxy.prompt import PromptEncoder

__all__ = ["TorchProxy", "measure", "torch_log_probabilities"]

logger = logging.getLogger("ragguard.proxy")


def torch_log_probabilities(
    model: Any, encoder: PromptEncoder, probe: Probe
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what `OnnxProxy.token_log_probabilities` should: torch, one prompt at a time.

    Takes the model's own forward pass with all its logits, so that nothing of the scoring graph
    is taken for granted.
    """
    import torch

    prompts = encoder.encode(probe.contexts, probe.query, probe.response)
    scored = np.concatenate([prompts.query, prompts.response])
    out = np.empty((len(prompts.rows), len(scored)))
    with torch.no_grad():
        for into, row in zip(out, prompts.rows, strict=True):
            tokens = torch.from_numpy(row)[None].to(model.device)
            logits = model(input_ids=tokens, use_cache=False).logits[0].float()
            of_next = torch.log_softmax(logits[:-1], dim=-1).gather(1, tokens[0, 1:, None])
            into[:] = of_next[:, 0].cpu().numpy()[scored]
    return out[:, : len(prompts.query)], out[:, len(prompts.query) :]


class TorchProxy:
    """The original as a proxy: `torch_log_probabilities`, averaged.

    Args:
        model: A causal language model of transformers.
        encoder: Makes its prompts.
    """

    def __init__(self, model: Any, encoder: PromptEncoder) -> None:
        self._model = model
        self._encoder = encoder

    def score(self, contexts: Sequence[str], query: str, response: str) -> Scores:
        """Return SC and GC of every context, nats per token."""
        of_query, of_response = torch_log_probabilities(
            self._model, self._encoder, Probe(tuple(contexts), query, response)
        )
        return Scores(of_query.mean(axis=1), of_response.mean(axis=1))


def measure(
    proxy: OnnxProxy,
    probes: Sequence[Probe],
    expected: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
    scopes: Sequence[Scope],
    verdicts: Sequence[Verdict],
) -> Parity:
    """Return how far `proxy` is from what its original scored and blamed.

    Args:
        proxy: The export.
        probes: Where log-probabilities are compared.
        expected: Those of the original.
        scopes: Where verdicts are compared.
        verdicts: Those of the original. They are compared only if it tells planted passages from
            others (`tells_apart`); what a model blames at random, no export blames again.

    Raises:
        ProxyError: The export reads other tokens than the original, or fails to score.
    """
    exported = [
        proxy.token_log_probabilities(probe.contexts, probe.query, probe.response)
        for probe in probes
    ]
    if any(
        ours.shape != theirs.shape
        for pair in zip(exported, expected, strict=True)
        for ours, theirs in zip(*pair, strict=True)
    ):
        raise ProxyError("the export and the model read different tokens; pass its own original")
    if not tells_apart(scopes, verdicts):
        logger.warning(
            "the model does not tell planted passages from others, so that no verdicts are compared"
        )
        return compare(exported, expected, same_blame=None, relative_error=None)
    found = [verdict(proxy, scope) for scope in scopes]
    return compare(
        exported,
        expected,
        same_blame=same_blame(found, verdicts),
        relative_error=relative_error(found, verdicts),
    )
