"""A chat completion server on this machine, and a plain client for it."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class ChatServer:
    """Speaks the OpenAI-compatible chat protocol; `reply` decides what it says.

    `reply(prompt)` returns the answer's text, or an int: the HTTP status to fail with.
    """

    def __init__(self) -> None:
        self.reply: Callable[[str], str | int] = lambda prompt: prompt
        self.prompts: list[str] = []
        self.peak = 0
        self._active = 0
        self._lock = threading.Lock()
        chat = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                prompt = json.loads(self.rfile.read(size))["messages"][-1]["content"]
                status, body = chat._respond(prompt)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 64
            daemon_threads = False

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/chat/completions"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def _respond(self, prompt: str) -> tuple[int, bytes]:
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
            return answer, b'{"error": {"message": "try later"}}'
        message = {"role": "assistant", "content": answer}
        return 200, json.dumps({"choices": [{"index": 0, "message": message}]}).encode()

    def ask(self, prompt: str) -> str:
        body = {"model": "any", "messages": [{"role": "user", "content": prompt}]}
        request = urllib.request.Request(
            self.url, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)["choices"][0]["message"]["content"]
        except urllib.error.HTTPError as error:
            error.close()
            raise

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    server = ChatServer()
    yield server
    server.close()
