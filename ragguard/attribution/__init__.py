"""Background half: which passages are responsible for a response."""

from ragguard.attribution.attribution import Attribution, PassageScore
from ragguard.attribution.influence import InfluenceScore
from ragguard.attribution.ragforensics import RAGForensics
from ragguard.attribution.ragorigin import RAGOrigin

__all__ = ["Attribution", "InfluenceScore", "PassageScore", "RAGForensics", "RAGOrigin"]
