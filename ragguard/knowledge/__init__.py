"""Knowledge bases of every kind: searched for attributions, and repaired.

Each class wraps one kind. What it can do it does under the same names:

- `retrieve(query, limit)` returns the `limit` best passages, best first, with the source's score;
- `find(ids)` returns the passages with these ids, with their vectors where the source has them;
- `remove(ids)` takes them out, and returns what `find` would have;
- `add(passages)` puts passages in. What has one of their ids is replaced, and one without a vector
  gets the embedder's. Of several with one id all go in, or the last where ids must differ.

They raise `InvalidInputError` where a source cannot do what it is asked for, `EmbeddingError` where
an embedder's vectors do not fit, and `StoreError` where a database fails. Nothing is then changed.
`ragguard.attribution.search.as_retrieve` and `ragguard.repair.as_removable` choose the class; no
framework is imported here.
"""

from ragguard.knowledge.pgvector import PgVectorTable
from ragguard.knowledge.qdrant import QdrantCollection

__all__ = ["PgVectorTable", "QdrantCollection"]
