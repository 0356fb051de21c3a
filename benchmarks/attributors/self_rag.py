"""Self-RAG-style check: responsible is a passage that is to the point and supports the answer.

Self-RAG trained a model to say both. Here a passage is to the point if it holds half of the
question's content words, and supports the answer if one sentence holds the answer and one of them.
"""

import re

from benchmarks.attributors.judging import judged_by
from benchmarks.metrics.matching import says
from ragguard.stems import tokenize
from ragguard.text import STOP_WORDS

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_SHARE = 0.5


def supports(question: str, passage: str, response: str) -> bool:
    """Return True if the passage is to the point and a sentence of it supports the response."""
    asked = {word for word in tokenize(question) if word not in STOP_WORDS}
    if len(asked.intersection(tokenize(passage))) < _SHARE * len(asked):
        return False
    return any(
        says(sentence, response) and not asked.isdisjoint(tokenize(sentence))
        for sentence in _SENTENCE.split(passage)
    )


ATTRIBUTOR = judged_by(
    "Self-RAG check",
    "Self-RAG, Asai et al., as adapted by RAGOrigin",
    "ICLR 2024",
    lambda _: supports,
)
