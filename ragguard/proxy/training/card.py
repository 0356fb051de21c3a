"""The model card of a trained proxy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragguard.proxy.training.corpus import Corpus
    from ragguard.proxy.training.shape import Shape
    from ragguard.proxy.training.train import Trained

__all__ = ["model_card"]


def model_card(shape: Shape, seed: int, corpus: Corpus, trained: Trained) -> str:
    """Return README.md: what the model is, what it was trained on, how well, what it is not."""
    last, manifest = trained.log[-1], trained.manifest
    sources = "\n".join(
        f"| {source['name']} | {source['records']} | {source['sha256'][:16]} |"
        for source in corpus.sources
    )
    return f"""# A ragguard proxy

A language model of {trained.parameters:,} parameters (Llama: {shape.layers} layers of width
{shape.hidden}, {shape.heads} heads, {manifest.vocabulary_size} byte-level BPE tokens) that scores
how well a passage predicts a question and a response. It was trained from scratch and is exported
in {manifest.precision} (quantization: {manifest.quantization}).

Use it with `RAGGUARD_PROXY=<this folder>` or `ragguard.proxy.OnnxProxy(<this folder>)`.

## Training

{trained.steps} steps of {shape.rows} x {shape.length} tokens, {trained.seconds / 60.0:.1f} minutes,
seed {seed}. Loss on the tokens of question and answer and on a fifth of the others, in the prompt
of `manifest.json`. Half of the examples come from the question records, if there are any; the
others are sentences of the passages with a name or number asked for, and made-up names and numbers
in its place. Short exercises in looking up and copying come between, at first more often than
later.

| file | records | SHA-256 begins |
|---|---|---|
{sources}

Every 25th record was kept back. On these, after the last step, in nats per token:
{last["held_out_query_loss"]:.3f} for questions, {last["held_out_response_loss"]:.3f} for answers
(at step {trained.log[0]["step"]}: {trained.log[0]["held_out_query_loss"]:.3f} and
{trained.log[0]["held_out_response_loss"]:.3f}).

## Limits

It knows the words of these texts and little of the world; it reads at most {manifest.max_length}
tokens, and of a longer passage its beginning and end. Its weights may reveal what it was trained
on: guard this folder as you guard the texts. Measure it on your own questions before you prefer it
to the built-in `LexicalProxy`.
"""
