"""Whether an exported proxy is whole, and scores as its original: the same model in torch."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ragguard.embedding.onnx import length_buckets, padded
from ragguard.errors import ProxyError
from ragguard.export.parity import (
    GATES,
    PROBES,
    Blame,
    BlameScope,
    Gate,
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
from ragguard.export.sources import read_model
from ragguard.proxy.base import Scores
from ragguard.proxy.generator import OnnxGenerator
from ragguard.proxy.onnx import OnnxProxy
from ragguard.proxy.prompt import PromptEncoder

logger = logging.getLogger("ragguard.proxy")

_BATCH_TOKENS = 1024  # of a forward pass: their logits are 200 MB for 50,000 tokens
_FEWEST = 4  # events before the answer can be clear: one of each kind of `demo_scopes`


class TorchProxy:
    """A causal language model of transformers as a proxy, by its own forward pass and logits."""

    def __init__(self, model: Any, encoder: PromptEncoder, gain_power: float = 1.0) -> None:
        self._model = model
        self._encoder = encoder
        self.gain_power = gain_power

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
        lengths = [len(row) for row in prompts.rows]
        with torch.no_grad():
            for batch in length_buckets(lengths, len(lengths), lambda _: _BATCH_TOKENS):
                tokens, mask = (
                    torch.from_numpy(array).to(self._model.device)
                    for array in padded([prompts.rows[index] for index in batch])
                )
                found = self._model(input_ids=tokens, attention_mask=mask, use_cache=False)
                at = mask.sum(dim=1, keepdim=True) + torch.from_numpy(scored).to(mask.device)
                before = (at - 1)[:, :, None].expand(-1, -1, found.logits.shape[2])
                of_next = found.logits.float().gather(1, before).log_softmax(dim=2)
                of_token = of_next.gather(2, tokens.gather(1, at)[:, :, None])[:, :, 0]
                out[batch] = of_token.cpu().numpy()
        return out[:, : len(prompts.query)], out[:, len(prompts.query) :]


def measure(
    export: OnnxProxy,
    original: TorchProxy,
    *,
    probes: Sequence[TokenProbe],
    scopes: Sequence[BlameScope],
    gate: Gate,
    on_stage: Callable[[str], object] = lambda _: None,
) -> Parity:
    """Return how far an export is from the original, as far as the gate needs to know.

    Scope after scope both are asked whom they blame, until the answer is clear (`Gate.is_clear`).
    Nobody is asked if the probes have failed already, and blame does not count if the original
    does not tell planted passages from others (`tells_apart`).
    """
    on_stage(f"comparing log-probabilities of {len(probes)} probes")
    ours, theirs = ([_tokens(proxy, probe) for probe in probes] for proxy in (export, original))
    shapes = ([part.shape for pair in pairs for part in pair] for pairs in (ours, theirs))
    if len({tuple(found) for found in shapes}) > 1:
        raise ProxyError("the export and the model read different tokens; pass its own original")
    parity = compare(ours, theirs)
    if gate.failures(parity):
        return parity
    began = time.monotonic()
    blamed: tuple[list[Blame], list[Blame]] = ([], [])
    reached, telling = parity, False
    for done, scope in enumerate(scopes):
        took = (time.monotonic() - began) / max(1, done)
        left = f", {took * (len(scopes) - done):.0f} s left at most" if done else ""
        on_stage(f"comparing verdicts: event {done + 1} of at most {len(scopes)}{left}")
        blamed[0].append(blame(export, scope))
        blamed[1].append(blame(original, scope))
        reached = replace(
            parity, same_blame=same_blame(*blamed), relative_error=relative_error(*blamed)
        )
        telling = tells_apart(scopes[: done + 1], blamed[1])
        if done + 1 >= _FEWEST and telling and gate.is_clear(reached):
            break
    if telling:
        return reached
    logger.warning(
        "the model does not tell planted passages from others, so that no verdicts are compared"
    )
    return parity


def _tokens(proxy: TorchProxy | OnnxProxy, probe: TokenProbe) -> LogProbabilities:
    return proxy.token_log_probabilities(probe.contexts, probe.query, probe.response)


def require_same_logits(exported: OnnxGenerator, original: Any, gate: Gate) -> None:
    """Check that the generator's next tokens are as likely as the original's, token after token."""
    import torch

    probe = PROBES[0]
    ids = exported.tokens(f"{probe.contexts[0]} {probe.query} {probe.response}")
    with torch.no_grad():
        logits = original(input_ids=torch.tensor([ids], device=original.device)).logits[0]
        theirs = logits.float().log_softmax(dim=-1).cpu().numpy()
    # The first half in one pass, then one token at a time, each with what was kept of the others.
    ends = range(len(ids) // 2, len(ids) + 1)
    ours = torch.from_numpy(np.stack([exported.read(ids[:end]) for end in ends]))
    theirs = theirs[ends.start - 1 :]
    errors = np.abs(ours.log_softmax(dim=-1).numpy() - theirs)[theirs > np.log(1e-4)]
    if not errors.max() <= gate.max_token_error:
        raise ProxyError(
            f"the generator's log-probabilities are off by {errors.max():.3g} nats, more than "
            f"{gate.max_token_error:.3g}; export with precision fp32, or without a generator"
        )


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
        model: The original, a causal language model of transformers or what `read_model` reads;
            None: the files are compared with the manifest, and the probes only have to score
            finite.
        probes: The texts that are scored.
        scopes: The events on which verdicts are compared; None: those of `export_proxy`.

    Returns:
        How far the export is from `model`, or None without one.

    Raises:
        MissingExtraError: onnxruntime is not installed, or with `model` torch or transformers.
        InvalidInputError: There is no such model.
        ProxyError: A file is missing or changed, the graph does not run, or it does not score as
            `model` does within the gate of its precision.
    """
    proxy = OnnxProxy(folder)
    if model is None:
        for probe in probes:
            _tokens(proxy, probe)
        return None
    from tokenizers import Tokenizer

    if isinstance(model, (str, os.PathLike)):
        model = read_model(model).model
    model.eval()
    manifest = proxy.manifest
    tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
    encoder = PromptEncoder(tokenizer, manifest.prompt, manifest.max_length)
    scopes = demo_scopes() if scopes is None else scopes
    gate = GATES[manifest.precision]
    original = TorchProxy(model, encoder, manifest.gain_power)
    parity = measure(proxy, original, probes=probes, scopes=scopes, gate=gate)
    if failures := gate.failures(parity):
        raise ProxyError(
            f"{folder} does not score as the model ({', '.join(failures)}); export it again, in a "
            "higher precision if it is not fp32"
        )
    return parity
