"""Weights that eight bits hold exactly, so that the int8 export is the model that was trained.

A trained model may as well end on the grid of its export: its losses hardly notice, and what an
export would change by rounding the weights, most of what it changes, is then zero.
"""

from __future__ import annotations

from typing import Any

from ragguard.proxy.quantise import BLOCK

__all__ = ["round_weights", "rounded"]


def rounded(weight: Any) -> Any:
    """Return the nearest matrix whose rows are, `BLOCK` values at a time, int8 times one scale.

    The scale is that of ONNX Runtime's symmetric 8-bit MatMulNBits: the value of the largest
    magnitude, divided by -128. Rounding a second time changes nothing.

    Args:
        weight: torch float tensor of shape (rows, columns).
    """
    import torch

    rows, columns = weight.shape
    padded = torch.nn.functional.pad(weight, (0, -columns % BLOCK))
    blocks = padded.reshape(rows, -1, BLOCK)
    largest = blocks.gather(-1, blocks.abs().argmax(-1, keepdim=True))
    scale = torch.where(largest == 0, torch.ones_like(largest), largest / -128.0)
    values = (blocks / scale).round().clamp(-128, 127) * scale
    return values.reshape(rows, -1)[:, :columns]


def round_weights(model: Any) -> None:
    """Round every matrix of a torch model in place, as `rounded` does; vectors stay as they are."""
    import torch

    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.copy_(rounded(parameter))
