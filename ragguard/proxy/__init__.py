"""Small language models that score text under a context."""

from ragguard.proxy.default import default
from ragguard.proxy.lexical import LexicalProxy
from ragguard.proxy.scores import Proxy, Scores

__all__ = ["LexicalProxy", "Proxy", "Scores", "default"]
