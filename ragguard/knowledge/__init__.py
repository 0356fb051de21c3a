"""Knowledge bases of every kind: searched for attributions, and repaired.

Each class wraps one kind. What it can do it does under the same names: `retrieve(query, limit)`,
`remove(ids)` and `add(passages)`. `ragguard.attribution.search.as_retrieve` and
`ragguard.repair.as_removable` choose the class; no framework is imported here.
"""

from ragguard.knowledge.pgvector import PgVectorTable
from ragguard.knowledge.qdrant import QdrantCollection

__all__ = ["PgVectorTable", "QdrantCollection"]
