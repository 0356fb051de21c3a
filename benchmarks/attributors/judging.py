"""RAGForensics with stand-ins for its judge, where there is no language model.

None of these understands language. They answer prompts as `ragguard` words them, so that the method
runs as it would on a model: same prompts, same number of calls, same reading of answers. What they
measure is the method on a judge of known behaviour. Tokens are counted as words, for lack of a
tokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from benchmarks.plugins import About, AttributorPlugin, Setting
from ragguard.attribution import RAGForensics
from ragguard.attribution.claim import answers_agree
from ragguard.attribution.ragorigin.support import MIN_SUPPORT, SupportMeter
from ragguard.demo.reader import ExtractiveReader
from ragguard.passage import Passage
from ragguard.proxy import LexicalProxy
from ragguard.stems import tokenize


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


def judged_by(
    title: str, paper: str, venue: str, judge: Callable[[Setting], Any]
) -> AttributorPlugin:
    """Return RAGForensics with a stand-in for its judge."""
    return AttributorPlugin(
        About(title, paper, venue, "one wrong answer", "nothing", "templated"),
        lambda setting: RAGForensics(judge=judge(setting), top_k=setting.k),
    )


_TAGGED = re.compile(r"<(question|passage|response)>\n(.*?)\n</\1>", re.DOTALL)

Judge = Callable[[str], Message]


def judge_that(finds: Callable[[str, str, str], bool]) -> Judge:
    """Return a judge that says yes where `finds(question, passage, response)` is true."""

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

    return judge_that(finds)


def reader_judge(background: Iterable[str]) -> Judge:
    """Return a judge that says yes if the demo's reader, given the passage, answers alike.

    What RAGForensics' authors call response keyword matching, with a reader for the model.
    """
    reader = ExtractiveReader(background)

    def finds(question: str, passage: str, response: str) -> bool:
        answer = reader.answer(question, [Passage(passage)]).text
        return bool(answer) and answers_agree(question, answer, response)

    return judge_that(finds)


def keyword_judge() -> Judge:
    """Return a judge that says yes if the response's words stand in the passage in a row.

    What RAGForensics' authors call text keyword matching.
    """

    def finds(question: str, passage: str, response: str) -> bool:
        del question
        return f" {' '.join(tokenize(response))} " in f" {' '.join(tokenize(passage))} "

    return judge_that(finds)
