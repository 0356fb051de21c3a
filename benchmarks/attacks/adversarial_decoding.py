"""Adversarial decoding: fluent texts that a language model writes towards the retriever."""

from benchmarks.attacks.texts import released
from benchmarks.plugins import About, Attack

__all__ = ["ATTACK"]

ATTACK = Attack(
    About(
        "adversarial decoding",
        "Controlled Generation of Natural Adversarial Documents, Zhang et al., arXiv 2410.02163",
        "arXiv 2024",
        "knows the retriever; adds texts",
        "language model",
        "released texts",
    ),
    released("adversarial_decoding"),
)
