"""What stands in for a language model where there is none, and is honest about it.

None of these understands language. They answer prompts as `ragguard` words them, so that the
methods run as they would on a model: same prompts, same number of calls, same reading of answers.
What they measure is the method on a generator or a judge of known behaviour, and not what a large
model would do.

Tokens are counted as words, for lack of a tokenizer.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

from ragguard.attribution.claim import answers_agree
from ragguard.attribution.ragorigin.support import MIN_SUPPORT, SupportMeter
from ragguard.demo.reader import ExtractiveReader
from ragguard.passage import Passage
from ragguard.proxy import LexicalProxy
from ragguard.stems import tokenize
from ragguard.text import sentences

__all__ = [
    "UNKNOWN",
    "Message",
    "SamplingGenerator",
    "keyword_judge",
    "likelihood_judge",
    "reader_judge",
    "reader_support",
    "two_answers_support",
]

UNKNOWN = "unknown"
"""What a generator says where it does not know."""

DOUBT = 0.25
"""The support of "unknown": an answer of less support is said less often than that."""

Support = Callable[[str, str], Mapping[str, float]]
"""(question, passage) -> the answers that the passage supports, and how far, in [0, 1]."""


@dataclass(frozen=True)
class Message:
    """An answer with its usage, in the form of a chat model's message."""

    prompt: str
    content: str

    @cached_property
    def usage_metadata(self) -> dict[str, int]:
        """Words of the prompt and of the answer."""
        return {
            "input_tokens": len(self.prompt.split()),
            "output_tokens": len(self.content.split()),
        }


_QUESTION = re.compile(r"^Question: (.*)$", re.MULTILINE)
_LISTED = re.compile(r"(?:^|\n)\[\d+\] (.*?)(?=\n\n\[\d+\] |\n\nQuestion: )", re.DOTALL)


class SamplingGenerator:
    """Samples an answer with a probability that grows with its support in the passages.

    P(answer) = softmax(support / temperature) over the answers that any passage of the prompt
    supports, and "unknown" with a support of `DOUBT`; supports of passages add up. The n-th answer
    to a prompt depends on the prompt, n and the seed alone, so runs repeat.

    Args:
        support: What a passage supports; asked once a question and passage.
        temperature: In units of support.
        seed: Of the draws.
    """

    def __init__(self, support: Support, *, temperature: float, seed: int) -> None:
        self._support = support
        self._temperature = temperature
        self._seed = seed
        self._known: dict[tuple[str, str], Mapping[str, float]] = {}
        self.drawn: dict[str, list[str]] = defaultdict(list)

    def __call__(self, prompt: str) -> Message:
        """Return one sampled answer to a prompt that lists passages and ends in a question."""
        question = _QUESTION.findall(prompt)[-1]
        answers, shares = self._distribution(question, _LISTED.findall(prompt))
        draw = Random(f"{self._seed} {len(self.drawn[prompt])} {prompt}")
        answer = draw.choices(answers, shares)[0]
        self.drawn[prompt].append(answer)
        return Message(prompt, answer)

    def _distribution(
        self, question: str, passages: Sequence[str]
    ) -> tuple[list[str], list[float]]:
        totals: Counter[str] = Counter()
        for text in passages:
            if (question, text) not in self._known:
                self._known[question, text] = self._support(question, text)
            for answer, support in self._known[question, text].items():
                totals[answer] += support  # type: ignore[assignment]
        logits = {**totals, UNKNOWN: DOUBT}
        highest = max(logits.values())
        return list(logits), [
            math.exp((value - highest) / self._temperature) for value in logits.values()
        ]


def reader_support(background: Iterable[str]) -> Support:
    """Return the demo's extractive reader: the best span of each two successive sentences.

    It knows nothing of the right or the wrong answer, and cannot answer yes or no.

    Args:
        background: Texts from which it learns which words are rare.
    """
    reader = ExtractiveReader(background)

    def support(question: str, passage: str) -> Mapping[str, float]:
        said = sentences(passage)
        found: dict[str, float] = {}
        for start in range(max(1, len(said) - 1)):
            answer = reader.answer(question, [Passage(" ".join(said[start : start + 2]))])
            if answer.text:
                key = " ".join(tokenize(answer.text)) or answer.text
                found[key] = max(answer.score, found.get(key, 0.0))
        return found

    return support


def two_answers_support(right: str, wrong: str) -> Support:
    """Return a generator's view that knows of two answers, by the lexical proxy's support.

    Idealised: it never says anything but the right answer, the wrong one, or that it cannot tell.
    """

    def support(question: str, passage: str) -> Mapping[str, float]:
        return {
            answer: float(SupportMeter(LexicalProxy(), question, answer).support([passage])[0])
            for answer in (right, wrong)
        }

    return support


_TAGGED = re.compile(r"<(question|passage|response)>\n(.*?)\n</\1>", re.DOTALL)

Judge = Callable[[str], Message]


def _judge(finds: Callable[[str, str, str], bool]) -> Judge:
    def judge(prompt: str) -> Message:
        texts = dict(_TAGGED.findall(prompt))
        guilty = finds(texts["question"], texts["passage"], texts["response"])
        return Message(prompt, f"[Label: {'Yes' if guilty else 'No'}]")

    return judge


def likelihood_judge() -> Judge:
    """Return a judge that says yes if the passage alone clearly raises the response's likelihood.

    That is RAGOrigin's own measure of a passage's support, under the lexical proxy.
    """

    def finds(question: str, passage: str, response: str) -> bool:
        meter = SupportMeter(LexicalProxy(), question, response)
        return bool(meter.support([passage])[0] >= MIN_SUPPORT)

    return _judge(finds)


def reader_judge(background: Iterable[str]) -> Judge:
    """Return a judge that says yes if the demo's reader, given the passage, answers alike.

    What RAGForensics' authors call response keyword matching, with a reader for the model.
    """
    reader = ExtractiveReader(background)

    def finds(question: str, passage: str, response: str) -> bool:
        answer = reader.answer(question, [Passage(passage)]).text
        return bool(answer) and answers_agree(question, answer, response)

    return _judge(finds)


def keyword_judge() -> Judge:
    """Return a judge that says yes if the response's words stand in the passage in a row.

    What RAGForensics' authors call text keyword matching.
    """

    def finds(question: str, passage: str, response: str) -> bool:
        del question
        return f" {' '.join(tokenize(response))} " in f" {' '.join(tokenize(passage))} "

    return _judge(finds)
