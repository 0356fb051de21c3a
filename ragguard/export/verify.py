"""Whether an exported proxy is whole, and scores as its original: the same model in torch."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.errors import ProxyError
from ragguard.export.parity import (
    CONTEXTS,
    GATES,
    PROBES,
    Blame,
    BlameScope,
    Gate,
    Parity,
    blame,
    compare,
    demo_scopes,
    relative_error,
    same_blame,
    tells_apart,
)
from ragguard.export.sources import read_model
from ragguard.proxy.generator import OnnxGenerator
from ragguard.proxy.onnx import OnnxProxy

logger = logging.getLogger("ragguard.proxy")


class TorchSession:
    """A causal language model of transformers in place of its graph: its own pass and logits."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def run(self, _: Sequence[str], feed: Mapping[str, NDArray[np.int64]]) -> tuple[Any]:
        """Return what the graph should, a float32 array of the shape of the positions."""
        import torch

        names = ("input_ids", "attention_mask", "positions")
        tokens, mask, at = (torch.from_numpy(feed[name]).to(self._model.device) for name in names)
        with torch.no_grad():
            logits = self._model(input_ids=tokens, attention_mask=mask, use_cache=False).logits
        before = (at - 1)[:, :, None].expand(-1, -1, logits.shape[2])
        of_next = logits.float().gather(1, before).log_softmax(dim=2)
        return (of_next.gather(2, tokens.gather(1, at)[:, :, None])[:, :, 0].cpu().numpy(),)


def measure(
    export: OnnxProxy,
    model: Any,
    *,
    scopes: Sequence[BlameScope],
    gate: Gate,
    on_stage: Callable[[str], object] = lambda _: None,
) -> Parity:
    """Return how far an export is from its original, as far as the gate needs to know.

    Scope after scope both are asked whom they blame. Nobody is asked if the probes have failed
    already, and blame does not count if the original does not tell planted passages from others
    (`tells_apart`).
    """
    on_stage(f"comparing log-probabilities of {len(PROBES)} probes")
    original = export.on(TorchSession(model))
    ours, theirs = (
        [proxy.token_log_probabilities(CONTEXTS, *probe) for probe in PROBES]
        for proxy in (export, original)
    )
    parity = compare(ours, theirs)
    if gate.failures(parity):
        return parity
    scopes = scopes[: gate.events]
    began = time.monotonic()
    blamed: tuple[list[Blame], list[Blame]] = ([], [])
    for done, scope in enumerate(scopes):
        took = (time.monotonic() - began) / max(1, done)
        left = f", {took * (len(scopes) - done):.0f} s left" if done else ""
        on_stage(f"comparing verdicts: event {done + 1} of {len(scopes)}{left}")
        blamed[0].append(blame(export, scope))
        blamed[1].append(blame(original, scope))
    if not tells_apart(scopes, blamed[1]):
        logger.warning(
            "the model does not tell planted passages from others, so that no verdicts are compared"
        )
        return parity
    return replace(parity, same_blame=same_blame(*blamed), relative_error=relative_error(*blamed))


def require_same_logits(exported: OnnxGenerator, original: Any, gate: Gate) -> None:
    """Check that the generator's next tokens are as likely as the original's, token after token."""
    import torch

    ids = exported.tokens(" ".join((CONTEXTS[0], *PROBES[0])))
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
    scopes: Sequence[BlameScope] | None = None,
) -> Parity | None:
    """Check an exported folder, and return how far it is from `model`, or None without one.

    Args:
        folder: What `export_proxy` wrote.
        model: The original, a causal language model of transformers or what `read_model` reads;
            None: the files are compared with the manifest, and the probes only have to score
            finite.
        scopes: The events on which verdicts are compared; None: those of `export_proxy`.

    Raises:
        MissingExtraError: onnxruntime is not installed, or with `model` torch or transformers.
        InvalidInputError: There is no such model.
        ProxyError: A file is missing or changed, the graph does not run, or it does not score as
            `model` does within the gate of its precision.
    """
    proxy = OnnxProxy(folder)
    if model is None:
        for probe in PROBES:
            proxy.score(CONTEXTS, *probe)
        return None
    if isinstance(model, (str, os.PathLike)):
        model = read_model(model).model
    model.eval()
    scopes = demo_scopes() if scopes is None else scopes
    gate = GATES[proxy.manifest.precision]
    parity = measure(proxy, model, scopes=scopes, gate=gate)
    if failures := gate.failures(parity):
        raise ProxyError(
            f"{folder} does not score as the model ({', '.join(failures)}); export it again, in a "
            "higher precision if it is not fp32"
        )
    return parity
