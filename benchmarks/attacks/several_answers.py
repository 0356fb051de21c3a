"""Several attackers at once: each text argues for another false answer."""

from benchmarks.attacks.texts import released
from benchmarks.plugins import About, Attack

__all__ = ["ATTACK"]

ATTACK = Attack(
    About(
        "several answers",
        "PoisonArena, Chen et al., arXiv 2505.12574",
        "arXiv 2025",
        "knows the question; adds texts",
        "nothing",
        "released texts",
    ),
    released("multi_answer", form="prepend"),
)
