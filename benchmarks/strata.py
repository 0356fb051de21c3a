"""Events that are not of the usual kind: how the wrong answer was worded, planted and searched.

After the robustness experiments of the RAGOrigin paper (Sections 6.3 and 7, Tables 18 to 25). Each
function takes a record and yields the events of its stratum, with the response that is reported.
What they are called in tables, and their fixed texts, are in `strata.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from benchmarks.datasets import Record
from benchmarks.forms import DEFAULT_FORMS
from benchmarks.metrics.says import says
from benchmarks.misgeneration import (
    MAIN_KINDS,
    TOP_K,
    Event,
    KnowledgeBase,
    answers,
    chosen,
    event,
    in_form,
    main_kinds,
    poisoned_events,
)
from ragguard.stems import tokenize
from ragguard.text import sentences

_KEPT = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_TEXTS = _KEPT["texts"]

WORDS: Mapping[tuple[str, str], str] = {
    (stratum, case): words
    for stratum, cases in _KEPT["words"].items()
    for case, words in cases.items()
}
"""Strata and cases in words, in the order of the table."""

_COUNTS, _DELETED, _ADDED, _REPORTS = (5, 10, 25, 50), 2, 10, 3
_OTHERS = 20  # questions that are attacked as well
_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_NOTATIONS = {str(n): word for n, word in enumerate(_NUMBERS)}
_NOTATIONS |= {word: digit for digit, word in _NOTATIONS.items()}
_NAME = re.compile(r"[A-Z][\w'\u2019-]+(?: (?:(?:of|the|de) )?[A-Z][\w'\u2019-]+)*|\d[\d,.]*\d|\d+")
_ASKS_FOR_NUMBER = re.compile(
    r"(?i)\b(?:when|year|how (?:many|much|old|long|far|tall|high)|what (?:day|date|month|age)"
    r"|number|date|population|percent)"
)


@dataclass(frozen=True)
class Setting:
    """What a stratum may draw on: the dataset's knowledge base, also under other retrievers.

    Attributes:
        others: The dataset's other records.
        seed: Chooses texts where there are more than are planted.
    """

    base: KnowledgeBase
    bases: Mapping[str, KnowledgeBase]
    others: Sequence[Record]
    seed: int

    def drawing(self, record: Record) -> Random:
        """Return what draws for a record."""
        return Random(f"{self.seed} {record.question}")


@dataclass(frozen=True)
class Reported:
    """An event, what was reported of it, and which case of its stratum it is."""

    case: str
    form: str
    response: str
    event: Event


def attacks(record: Record, setting: Setting) -> Iterator[tuple[str, Event]]:
    """Yield (form, event) for every attack of a main kind that got through."""
    for kind, form, found in poisoned_events(record, setting.base, setting.seed):
        if kind in MAIN_KINDS:
            yield form, found


def _planted(
    case: str, form: str, record: Record, setting: Setting, poison: Sequence[str]
) -> Iterator[Reported]:
    """Yield the report of the wrong answer, if these texts lead to it."""
    if (found := event(record, setting.base, poison)) is not None:
        yield Reported(case, form, record.wrong, found)


def one_word(record: Record, setting: Setting) -> Iterator[Reported]:
    """Answers of one word: "yes", "24", "Essex"."""
    words = tokenize(record.wrong)
    if len(words) == 1:
        polar = words[0] in ("yes", "no", "true", "false")
        case = "yes or no" if polar else "number" if words[0][0].isdigit() else "word"
        for form, found in attacks(record, setting):
            yield Reported(case, form, record.wrong, found)


def long_answer(record: Record, setting: Setting) -> Iterator[Reported]:
    """Free-form answers: sentence templates, and the poison's own first sentence."""
    for form, found in attacks(record, setting):
        for template in _TEXTS["sentences"]:
            yield Reported("template", form, template.format(record.wrong), found)
        for text in [p.text for p in found.ranked[:TOP_K] if p.text in found.poison]:
            # Without the question that may stand in front.
            sentence = re.split(r"(?<=[.!])\s", text.removeprefix(f"{record.question} "))[0]
            if says(sentence, record.wrong):
                yield Reported("the poison's first sentence", form, sentence, found)
                break


def noisy_report(record: Record, setting: Setting) -> Iterator[Reported]:
    """Paraphrased and partial reports: what a user remembers of the answer (Table 23)."""
    words = record.wrong.split()
    paraphrase = _paraphrased(record.wrong)
    for form, found in attacks(record, setting):
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


def refusal(record: Record, setting: Setting) -> Iterator[Reported]:
    """Denial of service: the texts of our own data, elsewhere three that we wrote."""
    texts = list(record.poison.get("refusal", _TEXTS["denials"]))
    for form in DEFAULT_FORMS:
        if form == "plain" and "refusal" not in record.poison:
            continue  # these texts do not speak of the question
        for planted in ([], texts[:1], texts):
            poison = in_form(record, form, planted)
            ranked = setting.base.ranked(record.question, poison)
            if planted and not any(passage.text in poison for passage in ranked[:TOP_K]):
                continue
            found = Event(record.question, record.wrong, ranked, frozenset(poison))
            for response in _TEXTS["refusals"]:
                yield Reported(f"{len(planted)} planted", form, response, found)


def truth_and_falsehood(record: Record, setting: Setting) -> Iterator[Reported]:
    """Answers, and texts, that mix the true answer with a false one (Table 24)."""
    for form, found in attacks(record, setting):
        if record.right and not says(record.right, record.wrong):
            for template in _TEXTS["mixed"]:
                response = template.format(right=record.right, wrong=record.wrong)
                yield Reported("mixed answer", form, response, found)
    for form in DEFAULT_FORMS if "multi_answer" in record.poison else ():
        texts = in_form(record, form, chosen(record, "multi_answer", setting.seed))
        # Texts that state other answers only are not responsible for this one.
        stating = frozenset(text for text in texts if says(text, record.wrong))
        for one in _planted("mixed texts", form, record, setting, texts):
            silent = frozenset(texts) - stating
            yield replace(one, event=replace(one.event, poison=stating, ignored=silent))


def several_attackers(record: Record, setting: Setting) -> Iterator[Reported]:
    """Several attacks at once (Tables 19 to 21)."""
    kinds = main_kinds(record)
    first = chosen(record, kinds[0], setting.seed)
    second = chosen(record, kinds[-1], setting.seed + 1)
    if len(kinds) > 1:
        texts = [text for kind in kinds for text in chosen(record, kind, setting.seed)]
        for form in DEFAULT_FORMS:
            poison = in_form(record, form, texts)
            yield from _planted("same answer, all kinds", form, record, setting, poison)
        poison = [*in_form(record, "prepend", first), *in_form(record, "plain", second)]
        yield from _planted("same answer, both forms", "both", record, setting, poison)
    rival, lie = _rival(record, setting.others), re.compile(re.escape(record.wrong), re.IGNORECASE)
    second = [lie.sub(lambda _: rival, text) for text in second]
    for form in DEFAULT_FORMS:
        ours = in_form(record, form, [text for text in first if says(text, record.wrong)])
        theirs = [t for t in in_form(record, form, second) if not says(t, record.wrong)]
        for one in _planted("another answer", form, record, setting, [*ours, *theirs]):
            if theirs:
                yield replace(one, event=replace(one.event, poison=frozenset(ours)))
        poison = in_form(record, form, first)
        elsewhere = [
            text
            for other in setting.others[:_OTHERS]
            for text in in_form(other, form, chosen(other, main_kinds(other)[0], setting.seed))
        ]
        for one in _planted("other questions", form, record, setting, poison):
            ranked = setting.base.ranked(record.question, [*poison, *elsewhere])
            yield replace(one, event=replace(one.event, ranked=ranked))


def _rival(record: Record, others: Sequence[Record]) -> str:
    """Return another record's wrong answer, of as many words if there is one."""
    wrong = [other.wrong for other in others if not says(other.wrong, record.wrong)]
    wrong = [answer for answer in wrong if not says(record.wrong, answer)]
    alike = [answer for answer in wrong if len(answer.split()) == len(record.wrong.split())]
    return Random(record.question).choice(alike or wrong or ["something else"])


def many_texts(record: Record, setting: Setting) -> Iterator[Reported]:
    """From 5 to 50 texts of two models (Table 18)."""
    if not {"gpt4", "gemini"} <= record.poison.keys():
        return
    written = (text for kind in ("gpt4", "gemini") for text in record.poison[kind])
    texts = list(dict.fromkeys(text for text in written if text.strip()))
    setting.drawing(record).shuffle(texts)
    for form in DEFAULT_FORMS:
        for count in _COUNTS:
            poison = in_form(record, form, texts[:count])
            yield from _planted(f"{count} texts", form, record, setting, poison)


def padded_texts(record: Record, setting: Setting) -> Iterator[Reported]:
    """Texts that speak of others as well, to pass for genuine pages; not in the paper."""
    for kind in main_kinds(record):
        for form in DEFAULT_FORMS:
            texts = [f"{text} {_TEXTS['padding']}" for text in chosen(record, kind, setting.seed)]
            poison = in_form(record, form, texts)
            yield from _planted("six other names", form, record, setting, poison)


def other_retrievers(record: Record, setting: Setting) -> Iterator[Reported]:
    """Other embeddings and another measure (Tables 33 and 34)."""
    for name, base in setting.bases.items():
        for form, found in attacks(record, replace(setting, base=base)):
            yield Reported(name, form, record.wrong, found)


def changed_knowledge(record: Record, setting: Setting) -> Iterator[Reported]:
    """The knowledge base changed between the answer and the report (Tables 22 and 25)."""
    draw, none = setting.drawing(record), frozenset[str]()
    hits = list(dict.fromkeys(record.hits))
    added = frozenset(draw.sample(hits, min(_ADDED, len(hits))))
    right = frozenset(text for text in setting.base.texts if says(text, record.right))
    for kind in main_kinds(record):
        for form in DEFAULT_FORMS:
            poison = in_form(record, form, chosen(record, kind, setting.seed))
            gone = frozenset(draw.sample(poison, min(_DELETED, len(poison) - 1)))
            for case, before, after in (
                ("10 benign texts came", added, none),
                ("2 planted texts went", none, gone),
                ("no right answer left", right, right),
            ):
                then = setting.base.ranked(record.question, poison, without=before)
                if answers(then, poison, record.wrong):
                    now = setting.base.ranked(record.question, poison, without=after)
                    left = Event(record.question, record.wrong, now, frozenset(poison) - after)
                    yield Reported(case, form, record.wrong, left)


def misreading(record: Record, setting: Setting) -> Iterator[Reported]:
    """Up to three names or numbers of the passages that were read, none of them the right answer.

    Nothing is planted, and nobody is to blame. Names are taken from within sentences, and are no
    words of the question or the answer; numbers where the question asks for one.
    """
    ranked = setting.base.ranked(record.question, ())
    known = {*tokenize(record.question), *tokenize(record.right)}
    numeric = bool(_ASKS_FOR_NUMBER.search(record.question))
    found = {
        match.group()
        for passage in ranked[:TOP_K]
        for sentence in sentences(passage.text)
        for match in _NAME.finditer(sentence)
        if sentence[: match.start()].strip()
        and known.isdisjoint(tokenize(match.group()))
        and match.group()[0].isdigit() is numeric
    }
    for name in setting.drawing(record).sample(sorted(found), min(_REPORTS, len(found))):
        event = Event(record.question, name, ranked, frozenset())
        yield Reported("a name or number that was read", "none", name, event)


STRATA: Mapping[str, Callable[[Record, Setting], Iterator[Reported]]] = {
    function.__name__: function
    for function in (
        *(one_word, long_answer, noisy_report, refusal, truth_and_falsehood, several_attackers),
        *(many_texts, padded_texts, other_retrievers, changed_knowledge, misreading),
    )
}
"""Every stratum by name."""
