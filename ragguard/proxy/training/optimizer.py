"""How weights are stepped: matrices by orthogonal updates, embeddings and gains by Adam."""

from __future__ import annotations

from typing import Any

__all__ = ["Optimizer", "orthogonal"]

_MOMENTUM = 0.95
_MATRIX_RATE = 3.0
_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
_ITERATIONS = 5


def orthogonal(matrix: Any) -> Any:
    """Return about U V^T of a torch matrix U S V^T, by five Newton-Schulz iterations in bfloat16.

    The coefficients let singular values come out between 0.7 and 1.2 (Jordan et al., "Muon: An
    optimizer for hidden layers in neural networks", 2024).
    """
    import torch

    a, b, c = _COEFFICIENTS
    tall = matrix.shape[0] > matrix.shape[1]
    x = (matrix.T if tall else matrix).to(torch.bfloat16)
    x = x / (x.norm() + 1e-7)
    for _ in range(_ITERATIONS):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return (x.T if tall else x).to(matrix.dtype)


class Optimizer:
    """Steps the weights of a model; its state can be kept and restored.

    Args:
        model: A `LlamaForCausalLM`.
    """

    def __init__(self, model: Any) -> None:
        import torch

        named = dict(model.model.layers.named_parameters())
        self._matrices = [weight for weight in named.values() if weight.ndim == 2]
        ours = {id(weight) for weight in self._matrices}
        self._momenta = [torch.zeros_like(weight) for weight in self._matrices]
        self._adam = torch.optim.AdamW(
            [weight for weight in model.parameters() if id(weight) not in ours],
            lr=0.0,
            betas=(0.9, 0.98),
            weight_decay=0.01,
        )

    def step(self, rate: float) -> None:
        """Step against the gradients, and drop them.

        Args:
            rate: Of Adam; a matrix steps three times as far, as measured by its largest singular
                value, and as the root of its height to its width where that is above 1.
        """
        import torch

        for group in self._adam.param_groups:
            group["lr"] = rate
        self._adam.step()
        self._adam.zero_grad(set_to_none=True)
        with torch.no_grad():
            for weight, momentum in zip(self._matrices, self._momenta, strict=True):
                momentum.lerp_(weight.grad, 1.0 - _MOMENTUM)
                ahead = weight.grad.lerp(momentum, _MOMENTUM)
                rows, columns = weight.shape
                distance = rate * _MATRIX_RATE * max(1.0, rows / columns) ** 0.5
                weight.add_(orthogonal(ahead), alpha=-distance)
                weight.grad = None

    def state(self) -> dict[str, Any]:
        """Return all that `restore` needs."""
        return {"adam": self._adam.state_dict(), "momenta": self._momenta}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self._adam.load_state_dict(state["adam"])
        for momentum, kept in zip(self._momenta, state["momenta"], strict=True):
            momentum.copy_(kept)
