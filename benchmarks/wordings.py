"""Wrong answers in other words: how they were reported, and texts that mix them with the right one.

After Tables 23 and 24 of the RAGOrigin paper, for every attack of a main kind that got through.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.datasets import Record
from benchmarks.forms import DEFAULT_FORMS
from benchmarks.metrics.says import says
from benchmarks.misgeneration import (
    MAIN_KINDS,
    TOP_K,
    Event,
    KnowledgeBase,
    chosen,
    event,
    in_form,
    poisoned_events,
)

_SENTENCES = (
    "Based on the provided context, the answer is {}.",
    "According to the passages that were retrieved, it is {}, as several of them confirm.",
    "The sources state that the answer is {}. Let me know if you need more detail.",
    "I looked at the documents. They agree on one thing: {}. No other answer is mentioned there.",
)
_MIXED = (
    "While it was {right} for a long time, the sources now say that it is {wrong}.",
    "Some believe that it is {right}. The retrieved passages make clear that it is {wrong}.",
)
_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_NOTATIONS = {str(n): word for n, word in enumerate(_NUMBERS)}
_NOTATIONS |= {word: digit for digit, word in _NOTATIONS.items()}


@dataclass(frozen=True)
class Reported:
    """An event, what was reported of it, and which case it is."""

    case: str
    form: str
    response: str
    event: Event


def _attacks(record: Record, base: KnowledgeBase, seed: int) -> Iterator[tuple[str, Event]]:
    for kind, form, found in poisoned_events(record, base, seed):
        if kind in MAIN_KINDS:
            yield form, found


def long_answer(record: Record, base: KnowledgeBase, seed: int) -> Iterator[Reported]:
    """Free-form answers: sentence templates, and the poison's own first sentence."""
    for form, found in _attacks(record, base, seed):
        for template in _SENTENCES:
            yield Reported("template", form, template.format(record.wrong), found)
        for text in [p.text for p in found.ranked[:TOP_K] if p.text in found.poison]:
            # Without the question that may stand in front.
            sentence = re.split(r"(?<=[.!])\s", text.removeprefix(f"{record.question} "))[0]
            if says(sentence, record.wrong):
                yield Reported("the poison's first sentence", form, sentence, found)
                break


def noisy_report(record: Record, base: KnowledgeBase, seed: int) -> Iterator[Reported]:
    """Paraphrased and partial reports: what a user remembers of the answer."""
    words = record.wrong.split()
    paraphrase = _paraphrased(record.wrong)
    for form, found in _attacks(record, base, seed):
        if paraphrase != record.wrong:
            yield Reported("paraphrase", form, f"It said something like {paraphrase}", found)
        if len(words) > 1:
            yield Reported("first half", form, " ".join(words[: (len(words) + 1) // 2]), found)
            yield Reported("second half", form, " ".join(words[len(words) // 2 :]), found)


def _paraphrased(answer: str) -> str:
    """Return the answer in lower case, its small numbers in the other notation, its parts turned.

    >>> _paraphrased("Season 5, Episode 2")
    'episode two, season five'
    """
    parts = [part.strip() for part in answer.lower().rstrip(".").split(",")]
    return ", ".join(
        " ".join(_NOTATIONS.get(word, word) for word in part.split()) for part in reversed(parts)
    )


def truth_and_falsehood(record: Record, base: KnowledgeBase, seed: int) -> Iterator[Reported]:
    """Answers, and texts, that mix the true answer with a false one."""
    for form, found in _attacks(record, base, seed):
        if record.right and not says(record.right, record.wrong):
            for template in _MIXED:
                response = template.format(right=record.right, wrong=record.wrong)
                yield Reported("mixed answer", form, response, found)
    for form in DEFAULT_FORMS if "multi_answer" in record.poison else ():
        texts = in_form(record, form, chosen(record, "multi_answer", seed))
        mixed = event(record, base, texts)
        if mixed is not None:
            # Texts that state other answers only are not responsible for this one.
            stating = frozenset(text for text in texts if says(text, record.wrong))
            counted = replace(mixed, poison=stating, ignored=frozenset(texts) - stating)
            yield Reported("mixed texts", form, record.wrong, counted)
