"""Any model behind the OpenAI-compatible protocol: `reader = "endpoint URL MODEL"` in a suite.

`RAGGUARD_READER_KEY` in the environment is sent as the bearer token.
"""

import json
import os
import urllib.request

from benchmarks.plugins import About, ReaderPlugin
from benchmarks.readers.base import Answer, Prompt, in_words
from ragguard.errors import GenerationError, InvalidInputError

_TOKENS = 32
_TIMEOUT = 120.0  # seconds


class _Endpoint:
    def __init__(self, url: str = "", model: str = "") -> None:
        if not url.startswith(("http://", "https://")) or not model:
            raise InvalidInputError('name it in full: "endpoint https://HOST/v1 MODEL"')
        self.name = f"{model}, temperature 0, {_TOKENS} tokens"
        self._url, self._model = url.rstrip("/"), model

    def words(self, prompt: Prompt) -> str:
        return in_words(prompt)

    def answer(self, prompt: Prompt) -> Answer:
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": self.words(prompt)}],
            "temperature": 0,
            "max_tokens": _TOKENS,
        }
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get("RAGGUARD_READER_KEY"):
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(
            f"{self._url}/chat/completions", json.dumps(body).encode(), headers
        )
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
                reply = json.load(response)
            text = str(reply["choices"][0]["message"]["content"])
        except (OSError, ValueError, LookupError) as error:
            raise GenerationError(
                f"{self._url} did not answer ({error}); see that it is up, and run again"
            ) from error
        usage = reply.get("usage") or {}
        return Answer(
            text.strip(), usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        )


READER = ReaderPlugin(
    About("endpoint", "OpenAI-compatible chat completions", "", "none", "language model"), _Endpoint
)
