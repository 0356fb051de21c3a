"""Background half: which passages are responsible for a response."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragguard.attribution.child_process import Apart
    from ragguard.attribution.influence_score import InfluenceScore
    from ragguard.attribution.ragforensics import RAGForensics
    from ragguard.attribution.ragorigin import RAGOrigin
    from ragguard.attribution.result import Attribution, PassageScore

__all__ = ["Apart", "Attribution", "InfluenceScore", "PassageScore", "RAGForensics", "RAGOrigin"]

_MODULES = {
    "Apart": "child_process",
    "Attribution": "result",
    "InfluenceScore": "influence_score",
    "PassageScore": "result",
    "RAGForensics": "ragforensics",
    "RAGOrigin": "ragorigin",
}


def __getattr__(name: str) -> Any:
    # Each on first use: a guard that filters loads no attribution method and no adapter.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
