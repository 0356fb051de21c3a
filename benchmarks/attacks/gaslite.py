"""GASLITE: trigger tokens by gradient, close to the question for the retriever."""

from benchmarks.attacks.texts import released
from benchmarks.plugins import About, Attack

__all__ = ["ATTACK"]

ATTACK = Attack(
    About(
        "GASLITE",
        "GASLITEing the Retrieval, Ben-Tov and Sharif, arXiv 2412.20953",
        "CCS 2025",
        "knows question and retriever; adds texts",
        "gradient",
        "released texts",
    ),
    released("gaslite"),
)
