"""Our guard where it may touch 5 % of the clean queries."""

from benchmarks.defences.ours import guarding, mode
from ragguard import Guard

DEFENCE = mode(
    "ragguard, 5 %, 3 k retrieved",
    guarding(lambda _: Guard(on_error="raise", alpha=0.05)),
    over_fetch=3,
)
