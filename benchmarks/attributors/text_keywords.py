"""Text keyword matching: a passage that has the words of the wrong answer is responsible."""

from benchmarks.attributors.judging import judged_by
from benchmarks.metrics.matching import says


def holds(_: str, passage: str, response: str) -> bool:
    return says(passage, response)


ATTRIBUTOR = judged_by("text keywords", "RAGForensics, baseline", "WWW 2025", lambda _: holds)
