"""The demo's RAG system: a retriever, a reader, and a guard between them when there is one."""

from __future__ import annotations

from collections.abc import Sequence

from ragguard.content import content_key
from ragguard.demo.corpus import Corpus
from ragguard.demo.reader import ExtractiveReader
from ragguard.demo.retriever import VectorRetriever
from ragguard.guard import Guard
from ragguard.passage import Passage
from ragguard.verdict import Verdict

__all__ = ["READ", "RETRIEVED", "System"]

READ = 5
"""How many passages the reader reads."""

RETRIEVED = 10
"""How many are retrieved for the guard, which keeps at most `READ` of them."""

_NO_ANSWER = "I do not know."


class System:
    """Answers from a corpus, with a guard in between or without.

    Attributes:
        retriever: Holds the knowledge base; texts can be planted in it.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.retriever = VectorRetriever(corpus.passages)
        self._reader = ExtractiveReader(passage.text for passage in corpus.passages)

    def read(self, query: str, passages: Sequence[Passage]) -> str:
        """Return the reader's answer from the first `READ` passages."""
        return self._reader.answer(query, passages[:READ]).text or _NO_ANSWER

    def ask(self, query: str) -> str:
        """Answer without a guard."""
        return self.read(query, self.retriever.retrieve(query, READ))

    def ask_guarded(self, guard: Guard, query: str) -> tuple[str, Verdict]:
        """Answer from what the guard keeps, and return its verdict as well."""
        verdict = guard.filter(query, self.retriever.retrieve(query, RETRIEVED), k=READ)
        return self.read(query, verdict.kept), verdict

    def ask_without(self, held: frozenset[str], query: str) -> str:
        """Answer without a filter, from what is not in quarantine."""
        found = self.retriever.retrieve(query, READ + len(held))
        return self.read(query, [p for p in found if content_key(p.text) not in held])
