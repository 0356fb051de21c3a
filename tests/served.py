"""A model behind the OpenAI-compatible chat protocol on this machine, and a client for it.

So a stand-in is asked over HTTP as a language model would be; nothing outside is reached.
"""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

_TIMEOUT_S = 600  # a language model on a busy machine takes its time


@dataclass(frozen=True)
class Client:
    """Asks the model at a URL; its answer is in the form of a chat model's message."""

    url: str

    def __call__(self, prompt: str) -> SimpleNamespace:
        """Return the answer."""
        body = {"model": "stand-in", "messages": [{"role": "user", "content": prompt}]}
        request = urllib.request.Request(
            f"{self.url}/chat/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
                reply = json.load(answer)
        except urllib.error.HTTPError as error:
            error.close()
            raise
        return SimpleNamespace(
            content=reply["choices"][0]["message"]["content"],
            response_metadata={"token_usage": reply["usage"]},
        )


@contextmanager
def served(model: Callable[[str], Any]) -> Iterator[Client]:
    """Yield a client of `model`, which answers at a local address until the block ends.

    Args:
        model: prompt -> message with `content` and `usage_metadata`, or an int: the HTTP status to
            fail with.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body are two writes: with Nagle's algorithm the second waits 40 ms.
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            message = model(json.loads(self.rfile.read(size))["messages"][-1]["content"])
            if isinstance(message, int):
                self._send(message, {"error": {"message": "try later"}})
                return
            usage = message.usage_metadata
            answer = {
                "choices": [{"message": {"role": "assistant", "content": message.content}}],
                "usage": {
                    "prompt_tokens": usage["input_tokens"],
                    "completion_tokens": usage["output_tokens"],
                },
            }
            self._send(200, answer)

        def _send(self, status: int, answer: dict[str, Any]) -> None:
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            del arguments

    class Server(ThreadingHTTPServer):
        request_queue_size = 64
        daemon_threads = False  # what still answers is waited for

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()

    try:
        yield Client(f"http://127.0.0.1:{server.server_port}/v1")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
