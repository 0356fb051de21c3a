"""ragguard keeps poisoned passages out of retrieval-augmented generation."""

from ragguard._version import __version__
from ragguard.guard import Guard
from ragguard.passage import Passage
from ragguard.verdict import Evidence, Verdict

__all__ = ["Evidence", "Guard", "Passage", "Verdict", "__version__"]
