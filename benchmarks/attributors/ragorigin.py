"""RAGOrigin with the best proxy that is installed."""

from benchmarks.plugins import About, AttributorPlugin
from ragguard.attribution import RAGOrigin

ATTRIBUTOR = AttributorPlugin(
    About("RAGOrigin", "RAGOrigin", "IEEE S&P 2026", "one wrong answer", "language model"),
    lambda setting: RAGOrigin(top_k=setting.k),
)
