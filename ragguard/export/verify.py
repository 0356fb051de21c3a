"""Whether an exported proxy is whole, and scores as its original: the same model in torch."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ragguard.errors import MissingExtraError, ProxyError
from ragguard.export.parity import (
    GATES,
    PROBES,
    BlameScope,
    LogProbabilities,
    Parity,
    TokenProbe,
    blame,
    compare,
    demo_scopes,
    relative_error,
    same_blame,
    tells_apart,
)
from ragguard.proxy.base import Scores
from ragguard.proxy.onnx import OnnxProxy
from ragguard.proxy.prompt import PromptEncoder

__all__ = ["Reference", "TorchProxy", "verify_proxy"]

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
        ours, theirs = (
            [part.shape for pair in pairs for part in pair] for pairs in (tokens, self._tokens)
        )
        if ours != theirs:
            raise ProxyError(
                "the export and the model read different tokens; pass its own original"
            )
        parity = compare(tokens, self._tokens)
        if not tells_apart(self._scopes, self._blame):
            logger.warning(
                "the model does not tell planted passages from others, so that no verdicts are "
                "compared"
            )
            return parity
        found = [blame(export, scope) for scope in self._scopes]
        return replace(
            parity,
            same_blame=same_blame(found, self._blame),
            relative_error=relative_error(found, self._blame),
        )


def _tokens(proxy: TorchProxy | OnnxProxy, probe: TokenProbe) -> LogProbabilities:
    return proxy.token_log_probabilities(probe.contexts, probe.query, probe.response)


def verify_proxy(
    folder: str | os.PathLike[str],
    *,
    model: Any = None,
    probes: Sequence[TokenProbe] = PROBES,
    scopes: Sequence[BlameScope] | None = None,
) -> Parity | None:
    """Check an exported folder: its files, that the graph runs, and its parity.

    Args:
        folder: What `export_proxy` wrote.
        model: The original, a causal language model of transformers or the path of one; None:
            the files are compared with the manifest, and the probes only have to score finite.
        probes: The texts that are scored.
        scopes: The events on which verdicts are compared; None: those of `export_proxy`.

    Returns:
        How far the export is from `model`, or None without one.

    Raises:
        MissingExtraError: onnxruntime is not installed, or with `model` torch or transformers.
        ProxyError: A file is missing or changed, the graph does not run, or it does not score as
            `model` does within the gate of its precision.
    """
    proxy = OnnxProxy(folder)
    if model is None:
        for probe in probes:
            proxy.token_log_probabilities(probe.contexts, probe.query, probe.response)
        return None
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtraError("comparing with the original", "export,onnx") from error
    from tokenizers import Tokenizer

    if isinstance(model, (str, os.PathLike)):
        try:
            model = transformers.AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
        except (OSError, ValueError) as error:
            raise ProxyError(
                f"{model} cannot be loaded ({error}); pass the folder of a causal language model"
            ) from error
    model.eval()
    manifest = proxy.manifest
    encoder = PromptEncoder(
        Tokenizer.from_file(str(Path(folder) / "tokenizer.json")),
        manifest.prompt,
        manifest.max_length,
    )
    scopes = demo_scopes() if scopes is None else scopes
    parity = Reference(TorchProxy(model, encoder), probes, scopes).parity(proxy)
    failures = GATES[manifest.precision].failures(parity)
    if failures:
        raise ProxyError(
            f"{folder} does not score as the model ({', '.join(failures)}); export it again, in a "
            "higher precision if it is not fp32"
        )
    return parity
