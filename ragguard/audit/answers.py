"""How an answer that was given is recognised when somebody reports it: by hashes under a key."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from ragguard.audit.records import Answer
from ragguard.passage import Passage, text_digest


def answer_of(query: str, response: str, passages: Sequence[Passage], key: bytes) -> Answer:
    """Return the hashes of an answer, under a key of 32 bytes."""
    texts = [" ".join(text.casefold().split()) for text in (query, response)]
    # The length says where the question ends.
    given = f"{len(texts[0])}\n{texts[0]}{texts[1]}".encode("utf-8", "surrogatepass")
    # The very texts: where a question mark stands is a mark of an attack, and no part of a key.
    seen = {text_digest(passage.text) for passage in passages}
    return Answer(
        blake2b(given, digest_size=16, key=key).hexdigest(),
        frozenset(blake2b(one, digest_size=8, key=key).hexdigest() for one in seen),
    )
