"""Quarantined passages out of the knowledge base, and back.

The filter drops what is in quarantine wherever it is stored, so removal is not needed for safety.
It is for what else reads the knowledge base, and for the places in the ranking that poison takes.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, MutableSequence, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ragguard.arguments import require_method, require_texts
from ragguard.audit.decisions import decided_by
from ragguard.audit.quarantine import (
    QuarantineEntry,
    QuarantineStatus,
    check_status,
    not_in_quarantine,
)
from ragguard.audit.records import AuditStore
from ragguard.content import content_key
from ragguard.errors import InvalidInputError
from ragguard.knowledge.chroma import ChromaCollection
from ragguard.knowledge.faiss import FaissIndex
from ragguard.knowledge.langchain import LangChainStore
from ragguard.knowledge.llama_index import LlamaIndexIndex, LlamaIndexVectorStore
from ragguard.knowledge.sources import has
from ragguard.passage import Passage


class Removable(Protocol):
    """A knowledge base from which passages can be taken out by id; `find(ids)` is asked before."""

    def remove(self, ids: Sequence[str]) -> list[Passage]:
        """Take out the passages with these ids and return those that were there, as they were."""

    def add(self, passages: Sequence[Passage]) -> None:
        """Put passages in under their ids; a passage with one of the ids is replaced."""


def as_removable(
    source: Any,
    *,
    texts: MutableMapping[int, str | Passage] | MutableSequence[str | Passage] | None = None,
    embedder: Any = None,
) -> Removable:
    """Return a vector store as a `Removable`.

    Args:
        source: A LangChain vector store, a LlamaIndex index or vector store, a Chroma collection, a
            FAISS index, or anything with `remove` and `add` already, such as
            `ragguard.knowledge.QdrantCollection` and `ragguard.knowledge.PgVectorTable`.
        texts: For a FAISS index alone: its texts, by id for an index with ids of its own
            (`IndexIDMap2`), or a list of `Passage` for a flat one; kept in step with it. A plain
            string's id is the number.
        embedder: For a FAISS index, a Chroma collection and a LlamaIndex vector store: what made
            their vectors; None is the collection's own embedding function, or the built-in one.

    Raises:
        InvalidInputError: `source` is none of these, or a FAISS index comes without `texts`, or
            anything else with them.
    """
    if has(source, "remove_ids"):
        if texts is None:
            raise InvalidInputError("a FAISS index holds vectors only; pass texts= by id with it")
        return FaissIndex(source, texts, embedder)
    if texts is not None:
        raise InvalidInputError(
            f"texts= goes with a FAISS index, not with a {type(source).__name__}; leave it out, or "
            "pass the index that holds the vectors of these texts"
        )
    if has(source, "get_by_ids", "delete"):
        return LangChainStore(source)
    if has(source, "delete_nodes") and hasattr(source, "docstore"):
        return LlamaIndexIndex(source)
    if has(source, "delete_nodes", "get_nodes") and hasattr(source, "stores_text"):
        return LlamaIndexVectorStore(source, embedder)
    if has(source, "query_points"):
        raise InvalidInputError(
            "a QdrantClient holds many collections; pass "
            "ragguard.knowledge.QdrantCollection(client, name)"
        )
    if has(source, "upsert", "get"):
        return ChromaCollection(source, embedder)
    if has(source, "remove", "add"):
        removable: Removable = source
        return removable
    raise InvalidInputError(
        f"cannot remove passages from a {type(source).__name__}; pass a LangChain vector store, a "
        "LlamaIndex index, a Chroma collection, a QdrantCollection, a PgVectorTable, a FAISS index "
        "with texts=, or an object with remove(ids) and add(passages)"
    )


@dataclass(frozen=True)
class Removal:
    """What `remove_quarantined` did.

    Attributes:
        removed: Passages that are no longer in the knowledge base; their texts stay in the store.
        missing: Entries whose passage was not found under its id: removed before, stored under
            another id, or replaced by another text under the same id, which is left alone.
    """

    removed: list[Passage]
    missing: list[QuarantineEntry]


def remove_quarantined(
    store: AuditStore, base: Removable, *, status: QuarantineStatus = "confirmed"
) -> Removal:
    """Take the passages of the quarantine out of the knowledge base.

    The quarantine itself stays as it is: it goes on catching copies, and `restore` reads from it.
    `status` says which entries: "confirmed" by a person, or "quarantined", which nobody has seen.

    Raises:
        InvalidInputError: There is no such status.
        StoreError: The store fails.
    """
    _require_store(store)
    require_method("base", base, "remove(ids)")
    check_status(status)
    entries = store.quarantine(status=status)
    if not entries:
        return Removal([], [])
    wanted = {(entry.passage_id, entry.key) for entry in entries}
    names = list(dict.fromkeys(entry.passage_id for entry in entries))
    find = getattr(base, "find", None)
    if callable(find):
        # Another text that took over an id is better left alone than taken out and put back.
        there = [(p.id, content_key(p.text)) for p in find(names)]
        # To look all of them up may take long enough for a person to release one.
        still = store.quarantine(status=status, keys=[key for _, key in there])
        wanted &= {(entry.passage_id, entry.key) for entry in still}
        names = list(dict.fromkeys(one[0] for one in there if one in wanted))
    taken = base.remove(names)
    gone = {(p.id, content_key(p.text)): p for p in taken}
    others = [passage for identity, passage in gone.items() if identity not in wanted]
    if others:
        base.add(others)
    return Removal(
        [passage for identity, passage in gone.items() if identity in wanted],
        [entry for entry in entries if (entry.passage_id, entry.key) not in gone],
    )


def _require_store(store: object) -> None:
    require_method("store (of a guard it is guard.store)", store, "quarantine(status)")


def restore(
    store: AuditStore,
    base: Removable,
    keys: Iterable[str],
    *,
    removed: Iterable[Passage] = (),
    why: str | None = None,
    actor: str | None = None,
) -> list[Passage]:
    """Release entries of the quarantine, and put their passages back into the knowledge base.

    What is in `removed` (`Removal.removed`) goes back as it was, with metadata and vectors. Of
    anything else the audit store has text and id, and the metadata if an attribution found the
    passage; the knowledge base embeds the text again. `keys` are those of `QuarantineEntry`,
    `actor` is who releases them and `why` the reason, as for `Guard.release`. Where another text
    has taken over a passage's id, it stays: the entry is released, and its passage is not among
    those returned.

    Raises:
        QuarantineNotFoundError: A key is not in the store; then nothing is changed.
        StoreError: The store fails.
    """
    _require_store(store)
    require_method("base", base, "add(passages)")
    actor = decided_by(actor, why)
    entries = {entry.key: entry for entry in store.quarantine()}
    wanted = [keys] if isinstance(keys, str) else list(dict.fromkeys(require_texts("keys", keys)))
    for key in wanted:
        if key not in entries:
            raise not_in_quarantine(key)
    held = {(passage.id, content_key(passage.text)): passage for passage in removed}
    some = [entries[key] for key in wanted]
    passages = [held.get((one.passage_id, one.key)) or _as_stored(store, one) for one in some]
    back = _put_back(base, passages)
    for key in wanted:
        store.set_quarantine_status(key, "released", actor=actor, said=why)
    return back


def _put_back(base: Removable, passages: Sequence[Passage]) -> list[Passage]:
    """Put passages where no other text stands; return those."""
    ids = list(dict.fromkeys(passage.id for passage in passages))
    find = getattr(base, "find", None)
    # What cannot be looked up is taken out for it, and put in again.
    there = (find if callable(find) else base.remove)(ids) if ids else []
    # Word by word: two texts with one key may differ in what a person would not call the same.
    standing = {passage.id: passage.text.split() for passage in there}
    back = [
        one for one in passages if standing.setdefault(one.id, one.text.split()) == one.text.split()
    ]
    replaced = {passage.id for passage in back}
    others = [] if callable(find) else [one for one in there if one.id not in replaced]
    if back or others:
        base.add([*back, *others])
    return back


def _as_stored(store: AuditStore, entry: QuarantineEntry) -> Passage:
    found = None if entry.event_id is None else store.attribution(entry.event_id)
    for passage in () if found is None else found.accused:
        if passage.id == entry.passage_id and content_key(passage.text) == entry.key:
            return Passage(entry.text, id=entry.passage_id, metadata=passage.metadata)
    return Passage(entry.text, id=entry.passage_id)
