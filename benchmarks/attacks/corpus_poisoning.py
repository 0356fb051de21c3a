"""Corpus poisoning: tokens swapped along the gradient until the retriever finds the text."""

from benchmarks.attacks.texts import released
from benchmarks.plugins import About, Attack

__all__ = ["ATTACK"]

ATTACK = Attack(
    About(
        "corpus poisoning",
        "Poisoning Retrieval Corpora, Zhong et al.",
        "EMNLP 2023",
        "knows the retriever; adds texts",
        "gradient",
        "released texts",
    ),
    released("corpus_poisoning"),
)
