"""RAGForensics with the lexical proxy for a judge: does the passage make the answer likelier?"""

from benchmarks.attributors.judging import judged_by, likelihood_judge

ATTRIBUTOR = judged_by(
    "RAGForensics, likelihood", "RAGForensics", "WWW 2025", lambda _: likelihood_judge()
)
