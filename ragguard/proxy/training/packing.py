"""Packs prompts into rows of one length, each prompt blind to its neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from ragguard.errors import ProxyError
from ragguard.proxy.prompt import PromptEncoder
from ragguard.proxy.training.examples import Example

__all__ = ["NO_PROMPT", "Batch", "pack"]

NO_PROMPT = -1
"""The prompt number of padding."""


@dataclass(frozen=True)
class Batch:
    """Rows of packed prompts.

    Attributes:
        tokens: int64 array of shape (rows, length).
        prompts: int64 array of the same shape: which prompt of its row a token belongs to.
        positions: int64 array of the same shape: where in its prompt a token stands.
        query: bool array of the same shape: tokens of a query, to be predicted.
        response: bool array of the same shape: tokens of a response, to be predicted.
        context: bool array of the same shape: other tokens that are to be predicted.
    """

    tokens: NDArray[np.int64]
    prompts: NDArray[np.int64]
    positions: NDArray[np.int64]
    query: NDArray[np.bool_]
    response: NDArray[np.bool_]
    context: NDArray[np.bool_]


def pack(
    draw: Callable[[Random], Example],
    encoder: PromptEncoder,
    rows: int,
    length: int,
    rng: Random,
    of_context: float = 0.0,
) -> Batch:
    """Fill `rows` rows of `length` tokens with drawn examples, each encoded as it will be scored.

    A row ends with the last example that fits; an example that is longer than a row, or whose
    question and answer alone are, is passed over.

    Args:
        draw: Makes an example of random numbers.
        encoder: Makes tokens of it.
        rows: How many rows.
        length: Tokens of a row.
        rng: All that the batch depends on.
        of_context: Share of the other tokens, beside a prompt's first, that are to be predicted.
    """
    shape = (rows, length)
    batch = Batch(
        tokens=np.zeros(shape, dtype=np.int64),
        prompts=np.full(shape, NO_PROMPT, dtype=np.int64),
        positions=np.zeros(shape, dtype=np.int64),
        query=np.zeros(shape, dtype=bool),
        response=np.zeros(shape, dtype=bool),
        context=np.zeros(shape, dtype=bool),
    )
    row, filled, number = 0, 0, 0
    while row < rows:
        example = draw(rng)
        try:
            prompt = encoder.encode([example.context], example.question, example.answer)
        except ProxyError:
            continue
        (tokens,) = prompt.rows
        if len(tokens) > length:
            continue
        if filled + len(tokens) > length:
            row, filled, number = row + 1, 0, 0
            if row == rows:
                break
        end = filled + len(tokens)
        batch.tokens[row, filled:end] = tokens
        batch.prompts[row, filled:end] = number
        batch.positions[row, filled:end] = np.arange(len(tokens))
        batch.query[row, end + prompt.query] = True
        batch.response[row, end + prompt.response] = True
        filled, number = end, number + 1
    chances = np.random.default_rng(rng.getrandbits(64)).random(shape)
    batch.context[:] = (
        (chances < of_context) & (batch.positions > 0) & ~(batch.query | batch.response)
    )
    return batch
