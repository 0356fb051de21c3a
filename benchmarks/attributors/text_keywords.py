"""Text keyword matching: a passage that has the words of the wrong answer is responsible."""

from benchmarks.attributors.judging import judged_by, keyword_judge

ATTRIBUTOR = judged_by(
    "text keywords", "RAGForensics, baseline", "WWW 2025", lambda _: keyword_judge()
)
