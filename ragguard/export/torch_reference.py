"""What an export is compared with: the original model in torch, one prompt at a time."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from ragguard.errors import ProxyError
from ragguard.export.blame_parity import (
    BlameScope,
    blame,
    relative_error,
    same_blame,
    tells_apart,
)
from ragguard.export.numeric_parity import LogProbabilities, Parity, TokenProbe, compare
from ragguard.proxy.base import Scores
from ragguard.proxy.onnx import OnnxProxy
from ragguard.proxy.prompt import PromptEncoder

__all__ = ["Reference", "TorchProxy"]

logger = logging.getLogger("ragguard.proxy")


class TorchProxy:
    """A causal language model of transformers as a proxy.

    Takes the model's own forward pass with all its logits, so that nothing of the scoring graph is
    taken for granted.
    """

    def __init__(self, model: Any, encoder: PromptEncoder) -> None:
        self._model = model
        self._encoder = encoder

    def score(self, contexts: Sequence[str], query: str, response: str) -> Scores:
        """Return SC and GC of every context, nats per token."""
        of_query, of_response = self.token_log_probabilities(contexts, query, response)
        return Scores(of_query.mean(axis=1), of_response.mean(axis=1))

    def token_log_probabilities(
        self, contexts: Sequence[str], query: str, response: str
    ) -> LogProbabilities:
        """Return what `OnnxProxy.token_log_probabilities` should."""
        import torch

        prompts = self._encoder.encode(contexts, query, response)
        scored = np.concatenate([prompts.query, prompts.response])
        out = np.empty((len(prompts.rows), len(scored)))
        with torch.no_grad():
            for into, row in zip(out, prompts.rows, strict=True):
                tokens = torch.from_numpy(row)[None].to(self._model.device)
                logits = self._model(input_ids=tokens, use_cache=False).logits[0].float()
                of_next = torch.log_softmax(logits[:-1], dim=-1).gather(1, tokens[0, 1:, None])
                into[:] = of_next[:, 0].cpu().numpy()[scored]
        return out[:, : len(prompts.query)], out[:, len(prompts.query) :]


class Reference:
    """What the original scores on the probes and blames in the scopes."""

    def __init__(
        self, original: TorchProxy, probes: Sequence[TokenProbe], scopes: Sequence[BlameScope]
    ) -> None:
        self._probes = probes
        self._scopes = scopes
        self._tokens = [_tokens(original, probe) for probe in probes]
        self._blame = [blame(original, scope) for scope in scopes]

    def parity(self, export: OnnxProxy) -> Parity:
        """Return how far an export is from the original.

        Blame is compared only if the original tells planted passages from others (`tells_apart`):
        what a model blames at random, no export blames again.

        Raises:
            ProxyError: The export reads other tokens than the original, or fails to score.
        """
        tokens = [_tokens(export, probe) for probe in self._probes]
        shapes = [
            [[part.shape for part in pair] for pair in all_] for all_ in (tokens, self._tokens)
        ]
        if shapes[0] != shapes[1]:
            raise ProxyError(
                "the export and the model read different tokens; pass its own original"
            )
        if not tells_apart(self._scopes, self._blame):
            logger.warning(
                "the model does not tell planted passages from others, so that no verdicts are "
                "compared"
            )
            return compare(tokens, self._tokens)
        found = [blame(export, scope) for scope in self._scopes]
        return compare(
            tokens,
            self._tokens,
            same_blame=same_blame(found, self._blame),
            relative_error=relative_error(found, self._blame),
        )


def _tokens(proxy: TorchProxy | OnnxProxy, probe: TokenProbe) -> LogProbabilities:
    return proxy.token_log_probabilities(probe.contexts, probe.query, probe.response)


def _shapes(found: LogProbabilities) -> list[tuple[int, ...]]:
    return [part.shape for part in found]
