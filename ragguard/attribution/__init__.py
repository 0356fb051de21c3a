"""Background half: which passages are responsible for a response."""

from ragguard.attribution.apart import Apart
from ragguard.attribution.attribution import Attribution, PassageScore
from ragguard.attribution.influence import InfluenceScore
from ragguard.attribution.ragforensics import RAGForensics
from ragguard.attribution.ragorigin import RAGOrigin

__all__ = ["Apart", "Attribution", "InfluenceScore", "PassageScore", "RAGForensics", "RAGOrigin"]
