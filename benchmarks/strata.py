"""Events that are not of the usual kind: how the wrong answer was worded, planted and searched.

After the robustness experiments of the RAGOrigin paper (Sections 6.3 and 7, Tables 18 to 25). Each
function takes a target and yields the events of its stratum, with the response that is reported;
those about the wording, and those without poison, are in `benchmarks.answer_wordings`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from benchmarks.answer_wordings import (
    long_answer,
    misreading,
    noisy_report,
    one_word,
    refusal,
    truth_and_falsehood,
)
from benchmarks.attribution_events import Reported, Setting, attacks
from benchmarks.forms import DEFAULT_FORMS
from benchmarks.metrics.says import says
from benchmarks.misgeneration import (
    MAIN_KINDS,
    Event,
    Target,
    answers,
    chosen,
    event,
    in_form,
)

_COUNTS = (5, 10, 25, 50)
_DELETED = 2
_ADDED = 10
_OTHERS = "Brannock, Carrow, Delsey, Edrich, Fenwright and Galloway were named there as well."


def several_attackers(target: Target, setting: Setting) -> Iterator[Reported]:
    """Several attacks at once (Tables 19 to 21)."""
    kinds = [kind for kind in MAIN_KINDS if kind in target.poison]
    first = chosen(target, kinds[0], setting.seed)
    second = chosen(target, kinds[-1], setting.seed + 1)
    if len(kinds) > 1:
        for form in DEFAULT_FORMS:
            texts = [t for kind in kinds for t in chosen(target, kind, setting.seed)]
            found = event(target, setting.base, in_form(target, form, texts))
            if found is not None:
                yield Reported("same answer, all kinds", form, target.wrong, found)
        found = event(
            target,
            setting.base,
            [*in_form(target, "prepend", first), *in_form(target, "plain", second)],
        )
        if found is not None:
            yield Reported("same answer, both forms", "both", target.wrong, found)
    rival = _rival(target, setting.others)
    for form in DEFAULT_FORMS:
        ours = in_form(target, form, [text for text in first if says(text, target.wrong)])
        theirs = in_form(target, form, [_instead(t, target.wrong, rival) for t in second])
        theirs = [text for text in theirs if not says(text, target.wrong)]
        found = event(target, setting.base, [*ours, *theirs])
        if found is not None and theirs:
            found = replace(found, poison=frozenset(ours))
            yield Reported("another answer", form, target.wrong, found)
        poison = in_form(target, form, first)
        elsewhere = [t for o in setting.others[:20] for t in _planted_for(o, form, setting)]
        ranked = setting.base.ranked(target.question, [*poison, *elsewhere])
        found = event(target, setting.base, poison)
        if found is not None:
            yield Reported("other questions", form, target.wrong, replace(found, ranked=ranked))


def _planted_for(target: Target, form: str, setting: Setting) -> list[str]:
    kind = next(kind for kind in MAIN_KINDS if kind in target.poison)
    return in_form(target, form, chosen(target, kind, setting.seed))


def _rival(target: Target, others: Sequence[Target]) -> str:
    """Return another target's wrong answer, of as many words if there is one."""
    size = len(target.wrong.split())
    wrong = [o.wrong for o in others if not says(o.wrong, target.wrong)]
    wrong = [answer for answer in wrong if not says(target.wrong, answer)]
    alike = [answer for answer in wrong if len(answer.split()) == size]
    return random.Random(target.question).choice(alike or wrong or ["something else"])


def _instead(text: str, answer: str, rival: str) -> str:
    return re.sub(re.escape(answer), lambda _: rival, text, flags=re.IGNORECASE)


def many_texts(target: Target, setting: Setting) -> Iterator[Reported]:
    """From 5 to 50 texts of two models (Table 18)."""
    if not {"gpt4", "gemini"} <= target.poison.keys():
        return
    texts = list(
        dict.fromkeys(t for kind in ("gpt4", "gemini") for t in target.poison[kind] if t.strip())
    )
    random.Random(f"{setting.seed} {target.question}").shuffle(texts)
    for form in DEFAULT_FORMS:
        for count in _COUNTS:
            found = event(target, setting.base, in_form(target, form, texts[:count]))
            if found is not None:
                yield Reported(f"{count} texts", form, target.wrong, found)


def padded_texts(target: Target, setting: Setting) -> Iterator[Reported]:
    """Texts that speak of others as well, to pass for genuine pages; not in the paper."""
    for kind in MAIN_KINDS:
        for form in DEFAULT_FORMS if kind in target.poison else ():
            texts = [f"{text} {_OTHERS}" for text in chosen(target, kind, setting.seed)]
            found = event(target, setting.base, in_form(target, form, texts))
            if found is not None:
                yield Reported("six other names", form, target.wrong, found)


def other_retrievers(target: Target, setting: Setting) -> Iterator[Reported]:
    """Other embeddings and another measure (Tables 33 and 34)."""
    for name, base in setting.bases.items():
        for form, found in attacks(target, replace(setting, base=base)):
            yield Reported(name, form, target.wrong, found)


def changed_knowledge(target: Target, setting: Setting) -> Iterator[Reported]:
    """The knowledge base changed between the answer and the report (Tables 22 and 25)."""
    draw = random.Random(f"{setting.seed} {target.question}")
    hits = list(dict.fromkeys(target.hits))
    added = frozenset(draw.sample(hits, min(_ADDED, len(hits))))
    right = frozenset(t for t in setting.base.texts if says(t, target.correct))
    for kind in MAIN_KINDS:
        if kind not in target.poison:
            continue
        for form in DEFAULT_FORMS:
            poison = in_form(target, form, chosen(target, kind, setting.seed))
            gone = frozenset(draw.sample(poison, min(_DELETED, len(poison) - 1)))
            cases = [
                ("10 benign texts came", added, frozenset[str]()),
                ("2 planted texts went", frozenset[str](), gone),
                ("no right answer left", right, right),
            ]
            for case, before, after in cases:
                then = setting.base.ranked(target.question, poison, without=before)
                if answers(then, poison, target.wrong):
                    now = setting.base.ranked(target.question, poison, without=after)
                    left = frozenset(poison) - after
                    yield Reported(
                        case, form, target.wrong, Event(target.question, target.wrong, now, left)
                    )


STRATA: Mapping[str, Callable[[Target, Setting], Iterator[Reported]]] = {
    function.__name__: function
    for function in (
        one_word,
        long_answer,
        noisy_report,
        refusal,
        truth_and_falsehood,
        several_attackers,
        many_texts,
        padded_texts,
        other_retrievers,
        changed_knowledge,
        misreading,
    )
}
"""Every stratum by name."""
