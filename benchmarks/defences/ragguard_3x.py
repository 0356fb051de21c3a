"""Our guard as shipped, given three times k: what is dropped is replaced from below."""

from benchmarks.defences.ours import guarding, mode
from ragguard import Guard

DEFENCE = mode("ragguard, 3 k retrieved", guarding(lambda _: Guard(on_error="raise")), over_fetch=3)
