"""Evidence in words that an operator understands, one entry a passage.

They say what was measured, on the passage as a reader would take it (`ragguard.inline.normalize`):
with the question's word where another one, or another spelling, stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragguard.inline.decision import Scored
from ragguard.inline.features import SIGNALS
from ragguard.inline.scoring import contributions
from ragguard.passage import Passage
from ragguard.verdict import Evidence

__all__ = ["CLEAN", "describe", "explained", "explained_by_pairs", "named"]

CLEAN = "nothing speaks against it"

_EVIDENT = 0.5  # nats: a signal that adds less is not named as a reason
_REASONS = 2  # at most this many are named

_IN_WORDS = {
    "echo_whole": "the question, or nine tenths of it in a row, stands in it, as it would be read",
    "echo_edge": (
        "it begins or ends with the question, or nine tenths of it in a row, as it would be read"
    ),
    "restatement": "it says more than half of the question in a row, and its key words once more",
    "heading": "it begins or ends with much of the question, and says its key words once more",
    "dense": "one short stretch of it holds most of the question, and it says the words once more",
    "disorder": "one short stretch of it holds most of the question's words, out of order",
    "strewn": "words of the question stand in it where it would read better without them",
    "key_pairs": "it sets key words side by side that the question parts by other words",
    "key_row": "it lists the question's key words in a row, as no sentence does",
    "key_edge": "it begins or ends with the question's key words in a row",
    "company_restatement": "it is one of several that say much of the question and then more of it",
    "company_heading": "it is one of several that begin or end with much of the question",
    "company_dense": "it is one of several that hold the question's words in one short stretch",
    "company_disorder": "it is one of several that hold the question's words out of order",
    "company_strewn": "it is one of several with the question's words strewn in",
    "company_key_row": "it is one of several that list the question's key words in a row",
    "agreement": "it is one of several that agree on an answer and say little else",
    "soup": "a stretch of it does not read as if a person wrote it",
    "address": "it speaks to the language model rather than to a reader",
    "quarantine": "it is in quarantine",
    "pair_frequency": "it forms the most similar pairs of the set (pair frequency {:.2f})",
}


def describe(signal: str, strength: float) -> str:
    """Return one sentence part for a signal of the given strength."""
    return _IN_WORDS[signal].format(strength)


def named(signals: Mapping[str, float], added: Mapping[str, float]) -> list[str]:
    """Return the signals to name as reasons, at most two, the main one first.

    A question at the passage's edge comes first: anybody sees it there, and passages that share it
    share their main reason, whichever detector weighs more for each of them.

    Args:
        signals: Every signal by name, in [0, 1].
        added: What each adds to the suspicion, in nats.
    """
    telling = [name for name in signals if added[name] >= _EVIDENT]
    telling.sort(key=lambda name: -added[name])  # stable: of equal ones the first
    if signals["echo_edge"]:
        others = [name for name in telling if name not in ("echo_edge", "echo_whole")]
        telling = ["echo_edge", *others]
    return telling[:_REASONS]


def explained(
    passages: Sequence[Passage], scored: Scored, flagged: Sequence[bool]
) -> list[Evidence]:
    """Put the arrays into words; passages below the judged ones have no signals of their own."""
    added = contributions(scored.signals).tolist()
    rows, suspicion = scored.signals.tolist(), scored.suspicion.tolist()
    evidence = []
    for position, passage in enumerate(passages):
        if position >= len(rows):
            evidence.append(Evidence(passage.id, "none", 0.0, CLEAN, {}, 0.0, flagged=False))
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
