"""Benign text enhancement: a right answer that is retrieved for its question, and preferred.

Source: Zhang et al., "Traceback of Poisoning Attacks to Retrieval-Augmented Generation" (WWW 2025),
section 8.3. Where a wrong answer is not due to poison, a text that states the right one is put in,
with the question itself as its proxy for the retriever, and the generator's prompt says that a
marked text goes before others.

The paper's mark is one fixed word, which an attacker could write as well. Here the mark and a
signature on every stored text come from a secret, so that no passage can pose as enhancement.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import uuid
from collections.abc import Sequence
from typing import Any

from ragguard.attribution.claim import contains_phrase
from ragguard.attribution.text_model import as_text_model
from ragguard.errors import GenerationError, InvalidInputError
from ragguard.passage import Passage, as_passages
from ragguard.repair.removable import Removable
from ragguard.text import encodable, tokens

_TEXT, _SIGNATURE = "ragguard_text", "ragguard_signature"
_SHORTEST_SECRET = 16
_NAMESPACE = uuid.UUID("8b3d6a52-5e0c-4c7e-9f3f-1d0a4f6a9d11")


class Enhancer:
    """Writes texts that state right answers, and hands them to the generator.

    A proxy is the question word for word, for which the inline filter would drop it. So take the
    enhancements out of what was retrieved first, filter the rest, and join them in the prompt.

    Args:
        model: Writes the texts; anything that `as_text_model` takes. It need not be the generator.
        secret: At least 16 characters that nobody who can write to the knowledge base knows; the
            same in every process.

    Raises:
        InvalidInputError: `model` is no model, or `secret` is too short.
    """

    def __init__(self, model: Any, *, secret: str) -> None:
        if not isinstance(secret, str) or len(secret) < _SHORTEST_SECRET:
            raise InvalidInputError(
                f"secret must be a str of at least {_SHORTEST_SECRET} characters; make one with "
                "secrets.token_hex() and keep it with your other credentials"
            )
        self._model = as_text_model(model)
        self._secret = secret.encode()
        self._mark = f"checked-{self._signed('mark')[:12]}"

    def write(self, query: str, answer: str) -> Passage:
        """Return the proxy of a text that states `answer`: the query, with the text in metadata.

        Raises:
            InvalidInputError: The query or the answer is blank.
            GenerationError: The model did not answer, or its text does not hold the answer.
        """
        prompt = _writing_prompt(query, answer)
        return self._proxy(query, answer, self._model.generate(prompt))

    async def awrite(self, query: str, answer: str) -> Passage:
        """Return what `write` returns, and raise its errors, without blocking the event loop."""
        prompt = _writing_prompt(query, answer)
        return self._proxy(query, answer, await self._model.agenerate(prompt))

    def add(self, base: Removable, query: str, answer: str) -> Passage:
        """Write a text, put its proxy in, in place of one of the same query, and return it."""
        proxy = self.write(query, answer)
        base.add([proxy])
        return proxy

    async def aadd(self, base: Removable, query: str, answer: str) -> Passage:
        """Do what `add` does, and raise its errors, without blocking the event loop."""
        proxy = await self.awrite(query, answer)
        await asyncio.to_thread(base.add, [proxy])
        return proxy

    def take_out(self, passages: Sequence[str | Passage]) -> tuple[list[Passage], list[Passage]]:
        """Return (enhancements, the rest), both in rank order.

        Enhancements have the id and score of the proxy that was retrieved, and the text that states
        the answer; a proxy needs a valid signature.
        """
        enhancements: list[Passage] = []
        rest: list[Passage] = []
        for passage in as_passages(passages):
            text = passage.metadata.get(_TEXT)
            signature = passage.metadata.get(_SIGNATURE)
            if (
                isinstance(text, str)
                and isinstance(signature, str)
                and signature.isascii()
                and hmac.compare_digest(signature, self._signed("text", passage.text, text))
            ):
                enhancements.append(Passage(text, id=passage.id, score=passage.score))
            else:
                rest.append(passage)
        return enhancements, rest

    def prompt(
        self, query: str, enhancements: Sequence[str | Passage], passages: Sequence[str | Passage]
    ) -> str:
        """Return the generator's prompt: three cases, as in the paper, in our own words."""
        marked = [f"<{self._mark}>{p.text}</{self._mark}>" for p in as_passages(enhancements)]
        # A space: without one, what stood around a mark could form the next.
        plain = [p.text.replace(self._mark, " ") for p in as_passages(passages)]
        listed = "\n\n".join(
            f"[{number}] {text}" for number, text in enumerate([*marked, *plain], start=1)
        )
        return encodable(
            "Answer the question in one short sentence from the sources below.\n"
            "First set aside every source that has nothing to do with the question. Then:\n"
            f"- If one of the remaining sources stands between <{self._mark}> tags, it has been "
            "checked by the operators: answer from it, and leave out what contradicts it.\n"
            "- If several do, and they contradict each other, the one with the lowest number "
            "holds.\n"
            "- If none does, weigh the remaining sources against each other.\n"
            "If they do not answer the question, say that you do not know. Never mention the "
            f"tags.\n\nSources:\n{listed}\n\nQuestion: {query}\nAnswer:"
        )

    def _proxy(self, query: str, answer: str, written: str) -> Passage:
        text = " ".join(written.split())
        if not contains_phrase(tokens(text), tokens(answer)):
            raise GenerationError(
                f"the model's text does not hold the answer {answer!r}; give the answer in the "
                "words that a sentence would use, or try another model"
            )
        return Passage(
            query,
            # A UUID, because some vector stores take no other names.
            id=str(uuid.uuid5(_NAMESPACE, encodable(query))),
            metadata={_TEXT: text, _SIGNATURE: self._signed("text", query, text)},
        )

    def _signed(self, *parts: str) -> str:
        message = b"\0".join(hashlib.sha256(encodable(part).encode()).digest() for part in parts)
        return hmac.new(self._secret, message, hashlib.sha256).hexdigest()


def _writing_prompt(query: str, answer: str) -> str:
    for name, text in (("query", query), ("answer", answer)):
        if not isinstance(text, str) or not tokens(text):
            raise InvalidInputError(f"{name} must be a str with words in it, not {text!r}")
    return encodable(
        "Write one statement of at most thirty words for an encyclopedia that tells the answer to "
        "the question below. Use the answer in exactly these words, do not open with yes or no, "
        "and reply with the statement alone.\n\n"
        f"Question: {query}\nAnswer: {answer}\nStatement:"
    )
