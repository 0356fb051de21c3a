"""Text keyword matching: a passage that has the words of the wrong answer is responsible."""

from benchmarks.attributors.judging import judged_by
from ragguard.stems import tokenize


def holds(_: str, passage: str, response: str) -> bool:
    """Return True if the response's words stand in the passage in a row."""
    return f" {' '.join(tokenize(response))} " in f" {' '.join(tokenize(passage))} "


ATTRIBUTOR = judged_by("text keywords", "RAGForensics, baseline", "WWW 2025", lambda _: holds)
