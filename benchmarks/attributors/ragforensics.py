"""RAGForensics with the lexical proxy for a judge: does the passage make the answer likelier?

That is RAGOrigin's own measure of a passage's support.
"""

from benchmarks.attributors.judging import judged_by
from ragguard.attribution.ragorigin.support import MIN_SUPPORT, SupportMeter
from ragguard.proxy import LexicalProxy


def supports(question: str, passage: str, response: str) -> bool:
    """Return True if the passage alone clearly raises the response's likelihood."""
    meter = SupportMeter(LexicalProxy(), question, response)
    return bool(meter.support([passage])[0] >= MIN_SUPPORT)


ATTRIBUTOR = judged_by("RAGForensics, likelihood", "RAGForensics", "WWW 2025", lambda _: supports)
