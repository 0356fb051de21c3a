"""The secrets that the trail is chained with; they come from the environment, never from the store.

`RAGGUARD_TRAIL_KEY` holds them, or `RAGGUARD_TRAIL_KEY_FILE` names the file that does: one a line,
the newest last. The newest one signs; the others verify what was signed before it came.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ragguard.errors import InvalidInputError, StoreError

KEY = "RAGGUARD_TRAIL_KEY"
KEY_FILE = "RAGGUARD_TRAIL_KEY_FILE"
UNSIGNED = ""
"""The id of no key: what it signs, anybody can."""

_SHORTEST = 32  # characters; of hexadecimal ones 128 bits


class Keys:
    """Secrets by their ids, the oldest first; before all of them comes that of no key.

    Raises:
        InvalidInputError: One is too short.
    """

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        for secret in secrets:
            if len(secret) < _SHORTEST:
                raise InvalidInputError(
                    f"a key of the trail has {len(secret)} characters, and needs {_SHORTEST} at "
                    "least; make one with: openssl rand -hex 32"
                )
        encoded = [secret.encode("utf-8", "surrogateescape") for secret in secrets]
        self._secrets = {UNSIGNED: b""} | {_id_of(secret): secret for secret in encoded}
        self._ranks = {name: rank for rank, name in enumerate(self._secrets)}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Keys:
        """Read them anew: a key that was added to the file is used from then on.

        Raises:
            InvalidInputError: A key is too short, or both variables are set.
            StoreError: The file cannot be read, or is empty.
        """
        given, path = environment.get(KEY, ""), environment.get(KEY_FILE, "")
        if given and path:
            raise InvalidInputError(f"{KEY} and {KEY_FILE} are both set; unset one of them")
        if not path:
            return cls(given.split())
        try:
            secrets = Path(path).read_text(encoding="utf-8", errors="surrogateescape").split()
        except OSError as error:
            raise StoreError(
                f"the trail's key cannot be read from {path}: {error.strerror}; make the file of "
                f"{KEY_FILE} readable for this process"
            ) from error
        if not secrets:
            raise StoreError(f"{path}, the file of {KEY_FILE}, is empty; put the trail's key there")
        return cls(secrets)

    @property
    def newest(self) -> str:
        """The id of the key that signs."""
        return next(reversed(self._secrets))

    def rank(self, name: str | None) -> int | None:
        """Return 0 for no key, 1 for the oldest, 2 for the next; None for one that is not here."""
        return None if name is None else self._ranks.get(name)

    def sign(self, name: str, message: bytes) -> str:
        """Return the 64 hex digits of an HMAC-SHA256 with a key that is here."""
        return hmac.digest(self._secrets[name], message, "sha256").hex()


def _id_of(secret: bytes) -> str:
    return hmac.digest(secret, b"the id of a key of ragguard's trail", "sha256").hex()[:8]
