"""Evidence in words that an operator understands, one entry a passage.

What was measured is the normalized passage (`ragguard.inline.normalize`): with the question's word
in place of a misspelt or disguised one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from ragguard.inline.decision import Scored
from ragguard.inline.features import SIGNALS
from ragguard.inline.scoring import contributions
from ragguard.passage import Passage
from ragguard.verdict import Evidence

CLEAN = "nothing speaks against it"
_UNUSUAL = "it is unusual for clean traffic, though no sign of its own stands out"

_EVIDENT = 0.5  # nats: a signal that adds less is not named as a reason
_REASONS = 2  # at most this many are named

_IN_WORDS = {
    "verbatim_question": "it repeats the question, or nine tenths of it in a row",
    "verbatim_at_boundary": (
        "it begins or ends with the question, or nine tenths of it in a row, or asks it in passing"
    ),
    "boundary_overlap": "it begins or ends with much of the question, and repeats its key words",
    "window_density": "it has most of the question in one short stretch, and repeats the words",
    "inserted_words": "it has words of the question where it would read better without them",
    "keyword_bigrams": "it puts key words side by side that other words part in the question",
    "keywords_at_boundary": "it begins or ends with the question's key words in a row",
    "manner": "it is written as texts are that were made to answer one question",
    "gibberish": "part of it reads as if no person wrote it",
    "prompt_injection": "it addresses the language model, not a reader",
    "quarantine": "it is in quarantine",
    "allowed": "a person has allowed it, or its source",
    "near_copy": "it is nearly the same as a quarantined text: it has {:.0%} of {}",
    "piece": "it is nearly the same as a part of a quarantined text: {:.0%} of it comes from {}",
    "pair_frequency": "it forms the most similar pairs of the set (pair frequency {:.2f})",
}


def describe(signal: str, strength: float, key: str = "") -> str:
    """Return one sentence part for a signal of the given strength, or a copy of a text's key."""
    return _IN_WORDS[signal].format(strength, key)


def named(signals: Mapping[str, float], added: Mapping[str, float]) -> list[str]:
    """Return the signals to name as reasons, at most two, the main one first.

    A question at the passage's boundary comes first: anybody sees it there, and passages that share
    it share their main reason. `added` says what each signal, by name, adds to suspicion, in nats.
    """
    telling = [name for name in signals if added[name] >= _EVIDENT]
    telling.sort(key=lambda name: -added[name])  # stable: of equal ones the first
    if signals["verbatim_at_boundary"]:
        others = [
            name for name in telling if name not in ("verbatim_at_boundary", "verbatim_question")
        ]
        telling = ["verbatim_at_boundary", *others]
    return telling[:_REASONS]


def explained(
    passages: Sequence[Passage], scored: Scored, flagged: Sequence[bool]
) -> list[Evidence]:
    """Put the arrays into words; passages below the judged ones have no signals of their own."""
    added = contributions(scored.signals, scored.expected).tolist()
    rows, suspicion = scored.signals.tolist(), scored.suspicion.tolist()
    evidence = []
    for position, passage in enumerate(passages):
        if position >= len(rows):
            evidence.append(unsuspected(passage))
            continue
        signals = dict(zip(SIGNALS, rows[position], strict=True))
        telling = named(signals, dict(zip(SIGNALS, added[position], strict=True)))
        reasons = [describe(name, signals[name]) for name in telling]
        undone = scored.undone.get(position)
        if undone is not None:
            reasons.append(undone)
        evidence.append(
            Evidence(
                passage_id=passage.id,
                signal=telling[0] if telling else "none",
                strength=signals[telling[0]] if telling else 0.0,
                reason="; ".join(reasons) or CLEAN,
                signals=signals,
                suspicion=suspicion[position],
                flagged=flagged[position],
                decided=undone is None or flagged[position],
            )
        )
    return evidence


def unsuspected(passage: Passage) -> Evidence:
    """Return the evidence of a passage that was not judged, as it was not to be shown."""
    return Evidence(passage.id, "none", 0.0, CLEAN, {}, 0.0, flagged=False)


def with_marks(explain: Callable[[], list[Evidence]], marked: Collection[int]) -> list[Evidence]:
    """Put the evidence into words, with the passages at the places `marked` marked."""
    evidence = explain()
    for place in marked:
        one = evidence[place]
        reason = _UNUSUAL if one.reason == CLEAN else one.reason
        evidence[place] = replace(one, marked=True, reason=reason)
    return evidence


def explained_by_pairs(
    passages: Sequence[Passage], scores: Sequence[float], flagged: Sequence[bool]
) -> list[Evidence]:
    """Put RAGDefender's pair-frequency scores into words."""
    return [
        Evidence(
            passage_id=passage.id,
            signal="pair_frequency" if flag else "none",
            strength=score if flag else 0.0,
            reason=describe("pair_frequency", score) if flag else CLEAN,
            signals={"pair_frequency": score},
            suspicion=score,
            flagged=flag,
        )
        for passage, score, flag in zip(passages, scores, flagged, strict=True)
    ]
