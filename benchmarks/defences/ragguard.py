"""Our guard as shipped, given the k passages that the reader would get."""

from benchmarks.defences.ours import guarding, mode
from ragguard import Guard

DEFENCE = mode("ragguard", guarding(lambda _: Guard(on_error="raise")))
