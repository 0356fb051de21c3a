"""Background half: which passages are responsible for a response."""

from ragguard.attribution.attribution import Attribution, PassageScore
from ragguard.attribution.ragorigin import RAGOrigin

__all__ = ["Attribution", "PassageScore", "RAGOrigin"]
