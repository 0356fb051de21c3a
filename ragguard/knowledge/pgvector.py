"""A PostgreSQL table with an embedding in every row: pgvector's, or an array of numbers.

Every value travels as PostgreSQL's own text, so a row comes back exactly as it was whatever types
its columns have, and neither side needs to know pgvector's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ragguard.arguments import require_choice
from ragguard.errors import InvalidInputError, StoreError
from ragguard.knowledge.sources import Adapter, Vectors, storable, vectors_of
from ragguard.passage import Passage

Distance = Literal["cosine", "l2", "inner_product"]
_OPERATORS: Mapping[Distance, str] = {"cosine": "<=>", "l2": "<->", "inner_product": "<#>"}
_EXTENSION_TYPES = ("vector", "halfvec")
_ARRAY_TYPES = ("real[]", "double precision[]", "numeric[]")
_JSON_TYPES = ("json", "jsonb")


class PgVectorTable(Adapter):
    """A table of passages in PostgreSQL.

    A passage's metadata are the other columns of its row, JSON decoded and anything else as text,
    and, at the same level, what is in the column `metadata`. Scores are pgvector's distances, of an
    exact search: an index would end the ranking after `hnsw.ef_search` rows.

    Args:
        engine: An SQLAlchemy engine for the database.
        table: The table, "schema.table" where the search path does not have it.
        id: Its column of ids, of any type. Where values do not differ, `remove_quarantined` leaves
            the rows alone that share one.
        text: Its column of texts.
        embedding: Its column of embeddings, of pgvector's `vector` or `halfvec`, or an array of
            numbers, which cannot be searched.
        metadata: Its JSON column of objects, if it has one.
        embedder: What made the embeddings; anything that `as_embedder` takes. None: nothing can be
            searched, and only what carries its vector can be put in.
        distance: How rows are ranked.

    Raises:
        InvalidInputError: There is no such table or column, or a column is of another type.
        StoreError: The database fails.
    """

    _may_share_ids = True

    def __init__(
        self,
        engine: Any,
        table: str,
        *,
        id: str = "id",
        text: str = "text",
        embedding: str = "embedding",
        metadata: str | None = None,
        embedder: Any = None,
        distance: Distance = "cosine",
    ) -> None:
        if getattr(getattr(engine, "dialect", None), "name", None) != "postgresql":
            raise InvalidInputError(
                "engine must be an SQLAlchemy engine for PostgreSQL: "
                'create_engine("postgresql+psycopg://...")'
            )
        require_choice("distance", distance, tuple(_OPERATORS))
        self._engine = engine
        self._quote = quote = engine.dialect.identifier_preparer.quote_identifier
        self._table = ".".join(quote(part) for part in table.split("."))
        self._id, self._text, self._embedding, self._metadata = id, text, embedding, metadata
        self._vectors = None if embedder is None else Vectors(embedder)
        self._operator = _OPERATORS[distance]
        self._types, self._generated = self._read_columns(table)
        self._as_text = ", ".join(f"CAST({quote(name)} AS text)" for name in self._types)
        self._where = f"WHERE CAST({quote(id)} AS text) = ANY(CAST(:ids AS text[]))"
        for name in (id, text, embedding, metadata):
            if name is not None and name not in self._types:
                raise InvalidInputError(
                    f"table {table!r} has no column {name!r}; it has {', '.join(self._types)}"
                )
        if metadata is not None and self._types[metadata] not in _JSON_TYPES:
            raise InvalidInputError(f"column {metadata!r} must be json or jsonb")
        self._kind = self._types[embedding].split("(")[0]
        if self._kind not in _EXTENSION_TYPES + _ARRAY_TYPES:
            raise InvalidInputError(
                f"column {embedding!r} is {self._types[embedding]}; it must be one of "
                f"{', '.join(_EXTENSION_TYPES + _ARRAY_TYPES)}"
            )

    def retrieve(self, query: str, limit: int) -> list[Passage]:
        if self._vectors is None or self._kind not in _EXTENSION_TYPES:
            raise InvalidInputError(
                f"table {self._table} is searched by the vectors of pgvector; pass embedder= with "
                "what made them, and keep them in a column of type vector or halfvec"
            )
        if limit < 1:
            return []
        kind = self._types[self._embedding]
        distance = f"{self._quote(self._embedding)} {self._operator} CAST(:target AS {kind})"
        ranked = (
            f"SELECT {self._as_text}, {distance} FROM {self._table} "  # noqa: S608 - quoted names
            f"ORDER BY {distance}, {self._quote(self._id)} LIMIT :limit"
        )
        target = _as_literal(self._vectors.of_query(query), self._kind)
        rows = self._run(
            ("SET LOCAL enable_indexscan = off", {}), (ranked, {"target": target, "limit": limit})
        )
        return [self._passage(row[:-1], score=float(row[-1])) for row in rows]

    def _find(self, ids: list[str]) -> list[Passage]:
        return self._of_rows(f"SELECT {self._as_text} FROM", ids)

    def remove(self, ids: Sequence[str]) -> list[Passage]:
        return self._of_rows("DELETE FROM", ids, f"RETURNING {self._as_text}") if ids else []

    def _add(self, passages: Sequence[Passage], ids: list[str]) -> None:
        vectors = vectors_of(passages, self._vectors, "table")
        rows = [self._row(p, vector) for p, vector in zip(passages, vectors, strict=True)]
        columns = [name for name in self._types if name not in self._generated]
        names = ", ".join(map(self._quote, columns))
        values = ", ".join(f"CAST(:v{i} AS {self._types[name]})" for i, name in enumerate(columns))
        removed = f"DELETE FROM {self._table} {self._where}"  # noqa: S608 - quoted names
        # Overriding: or a column GENERATED ALWAYS AS IDENTITY would not take the old id.
        added = (
            f"INSERT INTO {self._table} ({names}) "  # noqa: S608 - quoted names
            f"OVERRIDING SYSTEM VALUE VALUES ({values})"
        )
        self._run(
            (removed, {"ids": ids}),
            (added, [{f"v{i}": row.get(name) for i, name in enumerate(columns)} for row in rows]),
        )

    def _read_columns(self, table: str) -> tuple[dict[str, str], set[str]]:
        """Return the type of each column, in their order, and which of them are generated."""
        columns = (
            "SELECT attname, format_type(atttypid, atttypmod), attgenerated <> '' "
            "FROM pg_attribute WHERE attrelid = to_regclass(:name) "
            "AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        )
        found = self._run((columns, {"name": self._table}))
        if not found:
            raise InvalidInputError(
                f"the database has no table {table!r}; pass 'schema.table' if it is not in the "
                "search path"
            )
        types = {name: kind for name, kind, _ in found}
        return types, {name for name, _, generated in found if generated}

    def _run(self, *steps: tuple[str, Any]) -> list[Any]:
        """Run statements with their values in one transaction; return the rows of the last one."""
        from sqlalchemy import text
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with self._engine.begin() as connection:
                for statement, values in steps:
                    result = connection.execute(text(statement), values)
                return list(result) if result.returns_rows else []
        except SQLAlchemyError as error:
            cause = getattr(error, "orig", None) or error
            raise StoreError(
                f"table {self._table} failed: {str(cause).strip().splitlines()[0]}; check the "
                "role's rights, the table's constraints and the length of the embeddings"
            ) from error

    def _of_rows(self, command: str, ids: Sequence[str], then: str = "") -> list[Passage]:
        rows = self._run((f"{command} {self._table} {self._where} {then}", {"ids": storable(ids)}))
        return [self._passage(row) for row in rows]

    def _passage(self, row: Sequence[str | None], score: float | None = None) -> Passage:
        held: dict[str, Any] = {
            name: json.loads(value) if kind in _JSON_TYPES and value is not None else value
            for (name, kind), value in zip(self._types.items(), row, strict=True)
        }
        name, text, vector = held.pop(self._id), held.pop(self._text), held.pop(self._embedding)
        if self._metadata is not None:
            inner = held[self._metadata]
            # Only where nothing is lost by it: a NULL, a list or a clash of names stays a column.
            if isinstance(inner, dict) and not set(inner) & set(self._types):
                del held[self._metadata]
                held |= inner
        return Passage(
            text or "",
            id=str(name),
            score=score,
            embedding=None if score is not None or vector is None else _as_array(vector),
            metadata=held,
        )

    def _row(self, passage: Passage, vector: NDArray[Any]) -> dict[str, str | None]:
        loose = {k: v for k, v in passage.metadata.items() if k not in self._types}
        held = {k: v for k, v in passage.metadata.items() if k in self._types}
        if self._metadata is not None:
            held.setdefault(self._metadata, loose)
        elif loose:
            raise InvalidInputError(
                f"table {self._table} has no column for the metadata {', '.join(map(repr, loose))} "
                f"of passage {passage.id!r}; pass metadata= with the name of a JSON column"
            )
        row = {
            name: json.dumps(value)
            if value is not None
            and (self._types[name] in _JSON_TYPES or not isinstance(value, str))
            else value
            for name, value in held.items()
        }
        return row | {
            self._id: passage.id,
            self._text: passage.text,
            self._embedding: _as_literal(vector, self._kind),
        }


def _as_literal(vector: NDArray[Any], kind: str) -> str:
    numbers = ",".join(repr(float(number)) for number in np.asarray(vector).ravel())
    return f"[{numbers}]" if kind in _EXTENSION_TYPES else f"{{{numbers}}}"


def _as_array(literal: str) -> NDArray[np.float64]:
    return np.array([float(number) for number in literal.strip("[]{}").split(",")])
