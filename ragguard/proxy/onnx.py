"""Proxy on an exported causal language model: ONNX Runtime, tokenizers and numpy only."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.arguments import require_k, require_not_blank, require_path, require_texts
from ragguard.embedding.onnx import (
    Providers,
    length_buckets,
    open_session,
    padded,
    require_tokenizer,
)
from ragguard.errors import InvalidInputError, ProxyError
from ragguard.proxy.base import Scores
from ragguard.proxy.manifest import Manifest, PromptFormat, read_tokenizer
from ragguard.text import encodable

# The scored positions of a batch meet the whole vocabulary inside the graph: 2^26 float32 logits
# are 256 MiB.
_MAX_LOGITS = 2**26

# On a CPU what a layer hands to the next should stay in its cache (a tenth faster for a model of 20
# million parameters); a GPU is only busy with large batches.
_CPU_BATCH_TOKENS = 512
_BATCH_TOKENS = 8192
_ON_CPU = ("CPUExecutionProvider", "OpenVINOExecutionProvider")


class OnnxProxy:
    """Scores contexts with the graph that `ragguard.export.export_proxy` wrote.

    One forward pass over "context, query, response" yields semantic correlation and generation
    influence both. Safe to share between threads.

    Args:
        path: The exported folder.
        providers: Where the graph runs; None means CPU.
        threads: Threads inside one operator; None lets ONNX Runtime choose.
        max_length: Tokens a prompt has at most, the context is cut to fit; None means the
            model's own maximum.
        batch_tokens: Tokens of a forward pass, padding included, unless one prompt alone has more;
            None means 512 on a CPU and 8192 elsewhere.

    Raises:
        MissingExtraError: onnxruntime or tokenizers is not installed.
        ProxyError: The folder is damaged, the graph cannot be loaded, or a provider that was asked
            for is not available.
        InvalidInputError: `path` is no path, or a number is of another type or out of range.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        providers: Providers | None = None,
        threads: int | None = None,
        max_length: int | None = None,
        batch_tokens: int | None = None,
    ) -> None:
        tokenizer_class = require_tokenizer("OnnxProxy")
        threads = require_k(threads, "threads")
        max_length = require_k(max_length, "max_length")
        batch_tokens = require_k(batch_tokens, "batch_tokens")
        folder = require_path("path", path)
        self.manifest = Manifest.read(folder)
        self.gain_power = self.manifest.gain_power  # see `ragguard.proxy.base.gain_power`
        limit = self.manifest.max_length
        if max_length is not None and max_length > limit:
            raise InvalidInputError(
                f"max_length must be from 1 to {limit}, the length this model was exported for"
            )
        self._session = open_session(
            folder / "model.onnx", providers, threads, ProxyError, spinning=False
        )
        tokenizer = read_tokenizer(tokenizer_class, folder)
        self._encoder = PromptEncoder(
            tokenizer, self.manifest.prompt, max_length or limit, longest=limit
        )
        on_cpu = self.providers[0] in _ON_CPU
        self._batch_tokens = batch_tokens or (_CPU_BATCH_TOKENS if on_cpu else _BATCH_TOKENS)

    def on(self, session: Any) -> OnnxProxy:
        """Return this proxy on something else that runs as ONNX Runtime's session does."""
        other = copy.copy(self)
        other._session = session
        return other

    @property
    def providers(self) -> list[str]:
        """The execution providers in use, best first."""
        return list(self._session.get_providers())

    def score(self, contexts: Sequence[str], query: str, response: str) -> Scores:
        """Return semantic correlation and generation influence of n contexts, nats per token.

        Raises:
            InvalidInputError: A text is not a str, or query or response is blank.
            ProxyError: Query and response alone exceed the model's length, or the graph fails.
        """
        of_query, of_response = self.token_log_probabilities(contexts, query, response)
        return Scores(of_query.mean(axis=1), of_response.mean(axis=1))

    def token_log_probabilities(
        self, contexts: Sequence[str], query: str, response: str
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the log-probability of each token of the query and of the response, in nats.

        float64 arrays of shape (n, tokens of the query) and (n, tokens of the response). Raises
        what `score` raises.
        """
        contexts = require_texts("contexts", contexts)
        distinct = list(dict.fromkeys(contexts))
        prompts = self._encoder.encode(distinct, query, response)
        scored = np.concatenate([prompts.query, prompts.response])
        out = np.empty((len(prompts.rows), len(scored)))
        most = max(1, _MAX_LOGITS // (len(scored) * self.manifest.vocabulary_size))
        lengths = [len(row) for row in prompts.rows]
        for batch in length_buckets(lengths, most, lambda _: self._batch_tokens):
            out[batch] = self._forward([prompts.rows[index] for index in batch], scored)
        if not np.isfinite(out).all():
            raise ProxyError(
                f"the {self.manifest.precision} graph answered NaN or infinity; export the model "
                "in fp32"
            )
        position = {text: index for index, text in enumerate(distinct)}
        out = out[[position[text] for text in contexts]]
        return out[:, : len(prompts.query)], out[:, len(prompts.query) :]

    def _forward(
        self, rows: Sequence[NDArray[np.int64]], scored: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        tokens, mask = padded(rows)
        positions = mask.sum(axis=1, keepdims=True) + scored
        feed = {"input_ids": tokens, "attention_mask": mask, "positions": positions}
        try:
            (log_probabilities,) = self._session.run(["log_probabilities"], feed)
        except Exception as error:  # ONNX Runtime's exceptions have no common base but this
            raise ProxyError(
                f"the model failed on a batch of {tokens.shape} tokens ({error}); lower "
                "batch_tokens if memory ran out"
            ) from error
        return np.asarray(log_probabilities, dtype=np.float32)


@dataclass(frozen=True)
class Prompts:
    """One token sequence a context; all end in the same tokens of question and answer."""

    rows: list[NDArray[np.int64]]  # n arrays of shape (length,), each at most the model's maximum
    query: NDArray[np.int64]  # where the query's tokens are, counted from a row's end (negative)
    response: NDArray[np.int64]  # where the response's tokens are, likewise


class PromptEncoder:
    """Turns contexts, query and response into tokens. Safe to share between threads.

    Uses a private copy of the tokenizer, a `tokenizers.Tokenizer`. A row has `max_length` tokens at
    most, which could be raised to `longest`, what the model reads; None: to no more.
    """

    def __init__(
        self, tokenizer: Any, prompt: PromptFormat, max_length: int, *, longest: int | None = None
    ) -> None:
        self._tokenizer = type(tokenizer).from_str(tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        # A passage that spells out a control token must not become one.
        self._tokenizer.encode_special_tokens = True
        self._prompt = prompt
        self._max_length = max_length
        self._longest = max_length if longest is None else longest
        # What the tokenizer puts before every text: a begin-of-sequence token, or none.
        whole = self._tokenizer.encode(prompt.passage)
        begin = [*whole.special_tokens_mask, 0].index(0)
        self._head = [*whole.ids[:begin], *self._ids(prompt.passage)]

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def encode(self, contexts: Sequence[str], query: str, response: str) -> Prompts:
        """Return the prompts. A context that is too long keeps its beginning and its end.

        Raises:
            InvalidInputError: A text is not a str, or query or response is blank.
            ProxyError: Query and response leave no room for a context.
        """
        contexts = require_texts("contexts", contexts)
        require_not_blank(query=query, response=response)
        text, query_span, response_span = self._prompt.tail(encodable(query), encodable(response))
        tail = self._tokenizer.encode(text, add_special_tokens=False)
        room = self._max_length - len(self._head) - len(tail.ids)
        if room < 1:
            advice = (
                "for such a response use a proxy exported with a longer window, or LexicalProxy"
            )
            if self._max_length - room < self._longest:
                advice = f"raise max_length, this model reads {self._longest}"
            raise ProxyError(
                f"query and response take {len(tail.ids)} tokens and leave no room for a context "
                f"in the proxy's {self._max_length}; {advice}"
            )
        return Prompts(
            rows=[
                np.array([*self._head, *self._context(text, room), *tail.ids], dtype=np.int64)
                for text in contexts
            ],
            query=_inside(tail.offsets, query_span),
            response=_inside(tail.offsets, response_span),
        )

    def _context(self, text: str, room: int) -> list[int]:
        # What is between is dropped anyhow: no tokenizer has tokens of 32 characters on average.
        reach = 32 * room
        if len(text) > 2 * reach:
            text = f"{text[:reach]} {text[-reach:]}"
        ids = self._ids(encodable(text))
        if len(ids) <= room:
            return ids
        last = room // 2
        return ids[: room - last] + ids[len(ids) - last :]


def _inside(offsets: Sequence[tuple[int, int]], span: tuple[int, int]) -> NDArray[np.int64]:
    """Return where the tokens that overlap `span` are, counted from the end."""
    chosen = [
        index - len(offsets)
        for index, (start, end) in enumerate(offsets)
        if start < end and start < span[1] and end > span[0]
    ]
    if not chosen:
        raise InvalidInputError(
            "the query or the response has no token in the proxy's vocabulary; pass a text with "
            "letters or digits"
        )
    return np.array(chosen, dtype=np.int64)
