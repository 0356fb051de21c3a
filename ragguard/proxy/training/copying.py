"""First weights that copy: an induction circuit, so that training need not find one.

What a proxy must do above all is to notice that question or response repeat the passage. Small
transformers do so by two heads in a row (Olsson et al., "In-context Learning and Induction Heads",
2022): one writes beside each token which token stood before it, the other looks for places whose
predecessor is the current token and predicts what stands there. A random start finds this pair
late, after tens of millions of tokens, which is more than an hour of one processor core. Nothing
keeps training from changing these weights.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = ["start_copying"]

# Chosen on random tokens that are said twice: the second time costs 1 to 2 nats a token of 60, in
# place of the 8.3 of a uniform guess. An embedding has length 1.
_CONSTANT = 0.5  # the component that all embeddings share
_POSITIONED_PAIRS = 8  # of the fastest rotary pairs, which tell neighbours apart
_SHARPNESS = 8.0  # what each of them adds to the attention to the token before
_SLOW = 0.008  # radians a token: rotary pairs slower than that hold what is matched
_WRITTEN = 1.0  # length of what the first head writes, about
_MATCH = 20.0  # attention to what matches, about
_COPIED = 8.0  # length of what the second head writes, about
_OUTPUT_SCALE = 0.7  # gain before the language-model head


def start_copying(model: Any, rope_theta: float) -> None:
    """Set the weights of a new Llama, in place; drawn from torch's current random state.

    Layer 0's heads attend to the token before and write it, layer 1's heads match it with the
    current token and write the token found. Everything else writes nothing at first, so that the
    circuit meets no noise. A model of one layer gets the quiet start alone.

    Args:
        model: A `LlamaForCausalLM` with one matrix for both embeddings.
        rope_theta: The base of its rotary frequencies.
    """
    import torch

    config = model.config
    width, heads = config.hidden_size, config.num_attention_heads
    size = width // heads
    pairs = size // 2
    frequencies = 1.0 / rope_theta ** (torch.arange(pairs) / pairs)
    slow = [pair for pair in range(pairs) if frequencies[pair] <= _SLOW]
    # Rotation turns a match over far distances into none, but where it is slow.
    still = [*slow, *(pair + pairs for pair in slow)]
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        embedding = model.get_input_embeddings().weight
        # All tokens share one component: by it a head can attend to a place whatever stands there.
        embedding[:, 0] = _CONSTANT
        constant = _CONSTANT * math.sqrt(width / (1.0 + _CONSTANT**2))
        model.model.norm.weight.fill_(_OUTPUT_SCALE)
        if len(model.model.layers) < 2 or not still:
            return
        before, match = (model.model.layers[at].self_attn for at in (0, 1))
        # Every head of a layer writes into, or reads, a part of the stream of its own.
        written, copied = (_orthogonal(width) for _ in range(2))
        for head in range(heads):
            rows = slice(head * size, (head + 1) * size)
            asked = _orthogonal(width)[: len(still)]
            query, key = torch.zeros(size), torch.zeros(size)
            for pair in range(min(_POSITIONED_PAIRS, pairs)):
                # A key turned back by one step meets the query of the next token head on.
                key[pair] = 1.0
                query[pair] = math.cos(frequencies[pair])
                query[pair + pairs] = -math.sin(frequencies[pair])
            scale = math.sqrt(_SHARPNESS * math.sqrt(size)) / constant
            for projection, direction in ((before.q_proj, query), (before.k_proj, key)):
                projection.weight[rows].zero_()
                projection.weight[rows, 0] = scale * direction
            before.v_proj.weight[rows].zero_()
            before.v_proj.weight[rows][still] = asked
            place = written[rows][: len(still)]
            before.o_proj.weight[:, rows][:, still] = place.T * _WRITTEN / math.sqrt(width)
            sharp = math.sqrt(_MATCH * math.sqrt(size) / len(still))
            match.q_proj.weight[rows].zero_()
            match.k_proj.weight[rows].zero_()
            match.q_proj.weight[rows][still] = sharp * asked
            match.k_proj.weight[rows][still] = sharp * place
            match.v_proj.weight[rows] = copied[rows]
            match.o_proj.weight[:, rows] = _COPIED / math.sqrt(width) * copied[rows].T


def _orthogonal(width: int) -> Any:
    """Return a random orthogonal matrix without share in component 0, which is all tokens'."""
    import torch

    basis, _ = torch.linalg.qr(torch.randn(width, width))
    basis[:, 0] = 0.0
    return basis
