"""Whether an exported proxy is whole, and whether it still scores as its original."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragguard.errors import MissingExtraError, ProxyError
from ragguard.export.blame_parity import BlameScope, demo_scopes
from ragguard.export.numeric_parity import GATES, PROBES, Parity, TokenProbe
from ragguard.export.torch_reference import Reference, TorchProxy
from ragguard.proxy.onnx import OnnxProxy
from ragguard.proxy.prompt import PromptEncoder

__all__ = ["verify_proxy"]


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
