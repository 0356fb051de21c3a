"""How an exported model is asked, and whether it answers as the original does."""

from __future__ import annotations

from typing import Any

import numpy as np

from ragguard.errors import ProxyError
from ragguard.export.parity import PROBES, Gate
from ragguard.export.torch_graphs import kept_shape
from ragguard.proxy.generator import OnnxGenerator
from ragguard.proxy.manifest import ChatFormat

_MARK = "PROMPT-GOES-HERE"
_MOST_TOKENS = 8192


def chat_format(model: Any, tokenizer: Any, positions: int) -> ChatFormat:
    """Return how the tokenizer's chat template asks the model, with one message of the user.

    Raises:
        ProxyError: The tokenizer has no such template.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise ProxyError(
            "the model has no chat template, by which a generator is asked; export it without a "
            "generator, or use an instruction-tuned model"
        )
    asked = tokenizer.apply_chat_template(
        [{"role": "user", "content": _MARK}], tokenize=False, add_generation_prompt=True
    )
    before, _, after = asked.partition(_MARK)
    known = (model.generation_config.eos_token_id, tokenizer.eos_token_id)
    stops = {stop for one in known for stop in (one if isinstance(one, list) else [one])} - {None}
    return ChatFormat(
        before, after, tuple(sorted(stops)), kept_shape(model), min(positions, _MOST_TOKENS)
    )


def require_same_logits(exported: OnnxGenerator, original: Any, gate: Gate) -> None:
    """Check that the generator's next tokens are as likely as the original's, token after token.

    Raises:
        ProxyError: They are not, within the gate.
    """
    import torch

    probe = PROBES[0]
    text = f"{probe.contexts[0]} {probe.query} {probe.response}"
    ids = exported.tokens(text)
    with torch.no_grad():
        logits = original(input_ids=torch.tensor([ids], device=original.device)).logits[0]
        theirs = logits.float().log_softmax(dim=-1).cpu().numpy()
    # The first half in one pass, then one token at a time, each with what was kept of the others.
    ends = range(len(ids) // 2, len(ids) + 1)
    ours = torch.from_numpy(np.stack([exported.read(ids[:end]) for end in ends]))
    likely = theirs[ends.start - 1 :] > np.log(1e-4)
    errors = np.abs(ours.log_softmax(dim=-1).numpy() - theirs[ends.start - 1 :])[likely]
    if not errors.max() <= gate.max_token_error:
        raise ProxyError(
            f"the generator's log-probabilities are off by {errors.max():.3g} nats, more than "
            f"{gate.max_token_error:.3g}; export with precision fp32, or without a generator"
        )
