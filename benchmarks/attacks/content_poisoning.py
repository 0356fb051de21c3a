"""Content poisoning, with the texts that PoisonArena released for it."""

from benchmarks.attacks.texts import released
from benchmarks.plugins import About, Attack

__all__ = ["ATTACK"]

ATTACK = Attack(
    About(
        "content poisoning",
        "PoisonArena, Chen et al., arXiv 2505.12574",
        "arXiv 2025",
        "knows the question; adds texts",
        "gradient",
        "released texts",
    ),
    released("content_poisoning"),
)
