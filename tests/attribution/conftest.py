"""A chat model behind a server on this machine, of which a test decides what it says."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from tests.served import Client, served


class ChatServer:
    """Is asked through `ask`; `reply(prompt)` decides what it says.

    That is the answer's text, or an int: the HTTP status to fail with.
    """

    def __init__(self) -> None:
        self.reply: Callable[[str], str | int] = lambda prompt: prompt
        self.prompts: list[str] = []
        self.peak = 0
        self.client: Client
        self._active = 0
        self._lock = threading.Lock()

    def ask(self, prompt: str) -> str:
        return self.client(prompt).content

    def __call__(self, prompt: str) -> SimpleNamespace | int:
        with self._lock:
            self.prompts.append(prompt)
            self._active += 1
            self.peak = max(self.peak, self._active)
        try:
            answer = self.reply(prompt)
        finally:
            with self._lock:
                self._active -= 1
        if isinstance(answer, int):
            return answer
        usage = {"input_tokens": 0, "output_tokens": 0}
        return SimpleNamespace(content=answer, usage_metadata=usage)


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    server = ChatServer()
    with served(server) as server.client:
        yield server
