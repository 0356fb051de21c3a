"""Where a model words the searches, what is found is judged by what the user asked."""

from __future__ import annotations

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableBinding
from langchain_core.vectorstores import InMemoryVectorStore
from lighthouse import POISON, QUERY, Ask, texts
from ragguard import Guard

from langchain_ragguard import RAGGuardCompressor, RAGGuardRetriever

REWORDED = "construction date of the beacon tower at Marrow"


class Rewording(BaseRetriever):
    """Searches with other words than it is asked with, as a multi-query retriever does."""

    inner: BaseRetriever | RunnableBinding

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        found = [self.inner.invoke(words) for words in (REWORDED, "when it was built", query)]
        once = {document.page_content: document for documents in found for document in documents}
        return list(once.values())


async def test_around_it_the_guard_knows_the_question(store: InMemoryVectorStore, ask: Ask) -> None:
    rewording = Rewording(inner=store.as_retriever(search_kwargs={"k": 10}))
    assert set(POISON) < set(texts(rewording.invoke(QUERY)))

    found = await ask(RAGGuardRetriever(base=rewording, guard=Guard(), k=4), "invoke", QUERY)

    assert len(found) == 4
    assert set(POISON).isdisjoint(texts(found))


def test_what_an_agent_found_is_judged_by_the_users_words(store: InMemoryVectorStore) -> None:
    guard = Guard()
    tool = RAGGuardRetriever(base=store.as_retriever(), guard=guard, k=10)
    found = tool.invoke(REWORDED)
    assert set(POISON) & set(texts(found))  # so it stands in the README's limits

    kept = RAGGuardCompressor(guard=guard).compress_documents(found, QUERY)

    assert texts(kept) == [text for text in texts(found) if text not in POISON]
