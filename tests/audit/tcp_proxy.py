"""A TCP proxy that fails on command, as networks, fail-overs and stopped servers do."""

from __future__ import annotations

import contextlib
import socket
import threading

_CHUNK = 1 << 16


class Proxy:
    """Carries bytes between clients on 127.0.0.1 and a server, until it is told to fail.

    Attributes:
        port: Where clients connect.
    """

    port: int

    def __init__(self, host: str, port: int) -> None:
        """Listen, and carry everything to and from `host`:`port`."""
        self._server = (host, port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._lock = threading.Lock()
        self._open: list[_Carried] = []
        self._refusing = False
        self._flowing = threading.Event()
        self._flowing.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def forget(self) -> None:
        """Swallow the bytes of all present connections, for good; new ones work."""
        with self._lock:
            for carried in self._open:
                carried.forgotten = True

    def hang(self) -> None:
        """Carry nothing until `recover`; new connections are accepted, but hear nothing."""
        self._flowing.clear()

    def cut(self) -> None:
        """Close all connections, and every new one until `recover`."""
        self._refusing = True
        with self._lock:
            carried, self._open = self._open, []
        for one in carried:
            one.close()

    def recover(self) -> None:
        """Carry again what was held up, and accept new connections."""
        self._refusing = False
        self._flowing.set()

    def close(self) -> None:
        """Stop for good."""
        self._listening.close()
        self.cut()
        self._flowing.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self._refusing:
                    client.close()
                    continue
                carried = _Carried(client, socket.create_connection(self._server))
                with self._lock:
                    self._open.append(carried)
                for source, sink in carried.ways():
                    threading.Thread(
                        target=self._carry, args=(carried, source, sink), daemon=True
                    ).start()

    def _carry(self, carried: _Carried, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK):
                self._flowing.wait()
                if not carried.forgotten:
                    sink.sendall(data)
        if not carried.forgotten:
            carried.close()


class _Carried:
    """One client's connection and the one to the server in its stead."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self._client, self._server = client, server
        self.forgotten = False

    def ways(self) -> tuple[tuple[socket.socket, socket.socket], ...]:
        return (self._client, self._server), (self._server, self._client)

    def close(self) -> None:
        for end in (self._client, self._server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
