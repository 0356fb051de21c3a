"""A small language model that answers prompts on ONNX Runtime, with a cache of keys and values."""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile
from operator import eq

import numpy as np
from numpy.typing import NDArray

from ragguard.arguments import require_k, require_number, require_path, require_text, require_whole
from ragguard.embedding.onnx import Providers, open_session, require_tokenizer
from ragguard.errors import GenerationError, InvalidInputError, ProxyError
from ragguard.proxy.manifest import ChatFormat, Manifest, export_folder, read_tokenizer
from ragguard.text import encodable

_CHUNK = 512  # tokens of a prompt that are read in one pass
_PROMPTS = 4096  # whose repetitions are counted


class OnnxGenerator:
    """A callable str -> str on the graph that `export_proxy(generator=True)` wrote.

    Whatever takes a `generate` or a `judge` takes it. Safe to share between threads, which take
    turns. A beginning that a prompt shares with the one before is not read again.

    Args:
        path: The exported folder.
        max_tokens: Tokens of an answer, at most.
        temperature: 0 takes the likeliest token each time; above that tokens are drawn, and the
            n-th answer to a prompt is the same in every process.
        seed: Of what is drawn.
        providers: Where the graph runs; None means CPU.
        threads: Threads inside one operator; None lets ONNX Runtime choose.

    Raises:
        MissingExtraError: onnxruntime or tokenizers is not installed.
        ProxyError: The folder is damaged or holds no generator, or a provider is not available.
        InvalidInputError: A number is out of range.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_tokens: int = 128,
        temperature: float = 0.0,
        seed: int = 0,
        providers: Providers | None = None,
        threads: int | None = None,
    ) -> None:
        tokenizer = require_tokenizer("OnnxGenerator")
        self._max_tokens = require_whole("max_tokens", max_tokens)
        self._temperature = require_number("temperature", temperature)
        if not 0.0 <= self._temperature < float("inf"):
            raise InvalidInputError(f"temperature must be 0 or more, not {temperature!r}")
        self._seed = require_whole("seed", seed, least=0)
        threads = require_k(threads, "threads")
        folder = require_path("path", path)
        self.manifest = Manifest.read(folder)
        if self.manifest.chat is None:
            raise ProxyError(
                f"{folder} scores and cannot generate; export the model again with --generator"
            )
        self._chat: ChatFormat = self.manifest.chat
        self._session = open_session(
            folder / "generator.onnx", providers, threads, ProxyError, spinning=False
        )
        self._tokenizer, self._plain = (read_tokenizer(tokenizer, folder) for _ in range(2))
        # The chat format spells out control tokens; a prompt that does so must not make any.
        self._plain.encode_special_tokens = True
        self._lock = threading.Lock()
        self._asked: dict[int, int] = {}
        self._read: list[int] = []
        self._past = np.zeros((0, *self._chat.past), dtype=np.float32)

    def __call__(self, prompt: str) -> str:
        """Return the model's answer to a prompt, never blank unless it writes spaces alone.

        Raises:
            InvalidInputError: `prompt` is no str, or too long for the model.
            GenerationError: ONNX Runtime fails.
        """
        ids = self.tokens(require_text("prompt", prompt))
        room = self._chat.max_length - len(ids)
        if room < 1:
            raise InvalidInputError(
                f"the prompt takes {len(ids)} tokens and the model reads {self._chat.max_length}; "
                "pass fewer or shorter passages, or use a model with a longer window"
            )
        with self._lock:
            draw = self._draw_of(prompt)
            answer: list[int] = []
            for _ in range(min(self._max_tokens, room)):
                logits = self.read([*ids, *answer])
                token = self._choose(logits, draw, first=not answer)
                if token in self._chat.stops:
                    break
                answer.append(token)
        return str(self._tokenizer.decode(answer)).strip()

    def read(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Return the logits of the token after `ids`, float32 array of shape (vocabulary,).

        A beginning shared with the last `ids` is not read again. Not safe between threads.
        """
        same = sum(takewhile(bool, map(eq, ids, self._read)))
        done = min(same, len(ids) - 1)  # the last token is read in any case, for what follows it
        if len(self._past) < len(ids):
            grown = np.zeros((len(ids) + _CHUNK, *self._chat.past), dtype=np.float32)
            grown[:done] = self._past[:done]
            self._past = grown
        self._read = list(ids[:done])
        while done < len(ids):
            tokens = np.array([ids[done : done + _CHUNK]], dtype=np.int64)
            feed = {"input_ids": tokens, "past": self._past[:done]}
            try:
                logits, new = self._session.run(["logits", "present"], feed)
            except Exception as error:  # ONNX Runtime's exceptions have no common base but this
                raise GenerationError(
                    f"ONNX Runtime failed on {tokens.shape[1]} tokens after {done} ({error}); "
                    "shorten the prompt if memory ran out"
                ) from error
            self._past[done : done + tokens.shape[1]] = new
            done += tokens.shape[1]
        self._read = list(ids)
        return np.asarray(logits, dtype=np.float32)

    def tokens(self, prompt: str) -> list[int]:
        """Return what the model reads for a prompt, chat format included."""
        before, after = (
            self._tokenizer.encode(text, add_special_tokens=False).ids
            for text in (self._chat.before, self._chat.after)
        )
        plain = self._plain.encode(encodable(prompt), add_special_tokens=False).ids
        return [*before, *plain, *after]

    def _draw_of(self, prompt: str) -> np.random.Generator:
        """Return what draws the next answer to a prompt: by how often it was asked, not by when."""
        key = zlib.crc32(encodable(prompt).encode("utf-8"))
        if key not in self._asked and len(self._asked) == _PROMPTS:
            self._asked.pop(next(iter(self._asked)))
        count = self._asked[key] = self._asked.get(key, 0) + 1
        return np.random.default_rng([self._seed, key, count])

    def _choose(
        self, logits: NDArray[np.float32], draw: np.random.Generator, *, first: bool
    ) -> int:
        scores = logits.astype(np.float64)
        if first:  # an answer has one token at least
            scores[list(self._chat.stops)] = -np.inf
        if not self._temperature:
            return int(scores.argmax())
        weights = np.exp((scores - scores.max()) / self._temperature)
        return int(draw.choice(len(weights), p=weights / weights.sum()))


@lru_cache(maxsize=1)
def shared_generator(name: str) -> OnnxGenerator:
    """Return the one greedy generator of a model that is known by name.

    Raises:
        MissingExtraError: onnxruntime or tokenizers is not installed.
        ProxyError: The model is not exported, or without a generator.
    """
    return OnnxGenerator(export_folder(name))
