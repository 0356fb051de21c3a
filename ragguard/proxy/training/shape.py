"""How large a proxy is, and the Llama-shaped model and byte-level tokenizer of that size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ragguard.proxy.training.copying import start_copying

__all__ = ["SHAPES", "Shape", "make_model", "train_tokenizer"]

_BEGIN = "<|begin|>"
_ROPE_THETA = 1e5


@dataclass(frozen=True)
class Shape:
    """The numbers that make a Llama: rotary positions, RMSNorm, one matrix for both embeddings.

    Attributes:
        vocabulary: Tokens at most; a small corpus has fewer.
        hidden: Width of the residual stream.
        inner: Width inside a feed-forward layer.
        layers: Transformer blocks.
        heads: Attention heads; `hidden` is a multiple of twice their number.
        length: Tokens of a row, in training and in use.
        rows: Rows of a step.
        learning_rate: Its peak.
    """

    vocabulary: int
    hidden: int
    inner: int
    layers: int
    heads: int
    length: int
    rows: int
    learning_rate: float


SHAPES = {
    "tiny": Shape(4096, 192, 512, 4, 3, length=512, rows=8, learning_rate=2e-3),
    "small": Shape(16384, 384, 1024, 8, 6, length=512, rows=16, learning_rate=1e-3),
}
"""2.6 and 20 million parameters."""


def train_tokenizer(texts: Iterable[str], shape: Shape) -> Any:
    """Return a byte-level BPE `tokenizers.Tokenizer` for `texts`; every digit is a token.

    Numbers are what answers differ in, and a number split at random places is hard to copy.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{N}"), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=shape.vocabulary,
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            special_tokens=[_BEGIN],
            show_progress=False,
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{_BEGIN} $A", special_tokens=[(_BEGIN, tokenizer.token_to_id(_BEGIN))]
    )
    return tokenizer


def make_model(shape: Shape, vocabulary: int) -> Any:
    """Return a new `LlamaForCausalLM` in float32, drawn from torch's current random state."""
    from transformers import LlamaConfig, LlamaForCausalLM

    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=shape.hidden,
            intermediate_size=shape.inner,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            num_key_value_heads=shape.heads,
            max_position_embeddings=shape.length,
            rope_theta=_ROPE_THETA,
            # Unit gain: the usual 0.02 is for widths of thousands and learns slowly here.
            initializer_range=shape.hidden**-0.5,
            tie_word_embeddings=True,
            bos_token_id=0,
            eos_token_id=None,
            use_cache=False,
        )
    )
    start_copying(model, _ROPE_THETA)
    return model
