"""A verdict told again in words, from what the store has of it."""

from __future__ import annotations

from dataclasses import dataclass

from ragguard.audit.verdicts import JudgedPassage, Outcome, VerdictRecord
from ragguard.inline.tokens import tokenize_passage, tokenize_query
from ragguard.prompt_injection import injection_strength
from ragguard.text import sentences

_SENTENCES = 2
_LEAST_SHARE = 0.5  # of the question's content words, or a sentence says nothing about it

_OUTCOMES: dict[Outcome, str] = {
    "dropped": "It was dropped",
    "flagged": "It was kept, since the guard only watches (monitor mode); else it would be dropped",
    "marked": "It was kept, and marked as unusual",
    "undecided": "It was kept without having been judged, or not whole",
}
_HELD = ("quarantine", "unreadable")  # signals of what the filter does not score


@dataclass(frozen=True)
class RetoldPassage:
    """What became of one passage.

    Attributes:
        passage_id: Its id.
        key: Its content key.
        why: What became of it and why, in sentences.
        sentences: Those of its text that count most, as they are written, best first; none where
            the guard did not record texts, or where it is not single sentences that tell.
    """

    passage_id: str
    key: str
    why: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Retold:
    """A verdict in words.

    Attributes:
        found: What the guard found of the set as a whole.
        passages: What became of those that it did not simply keep, in rank order.
    """

    found: str
    passages: tuple[RetoldPassage, ...]


def retold(record: VerdictRecord) -> Retold:
    """Tell a verdict in words."""
    passages = tuple(
        RetoldPassage(one.passage_id, one.key, _why(one), _telling(record, one))
        for one in record.passages
    )
    return Retold(_found(record), passages)


def telling_sentences(query: str, text: str, signal: str) -> tuple[str, ...]:
    """Return the sentences of a text that count most for a signal, best first; two at most.

    For prompt injection those that speak to a language model, else those that hold at least half of
    the question's content words.

    >>> text = "Wool is dear. The pier of Halden was built by Dove. Geese nest there."
    >>> telling_sentences("Who built the pier of Halden?", text, "verbatim_question")
    ('The pier of Halden was built by Dove.',)
    """
    parts = [part for part in sentences(text) if part.strip()]
    if signal == "prompt_injection":
        scored = [(injection_strength(part), part) for part in parts]
        return _best([(score, part) for score, part in scored if score > 0.0])
    content = frozenset(tokenize_query(query).content)
    if not content:
        return ()
    shares = [len(content & tokenize_passage(part).distinct) / len(content) for part in parts]
    told = zip(shares, parts, strict=True)
    return _best([(share, part) for share, part in told if share >= _LEAST_SHARE])


def _best(scored: list[tuple[float, str]]) -> tuple[str, ...]:
    ranked = sorted(scored, key=lambda item: -item[0])  # stable: of equal ones the first
    return tuple(part.strip() for _, part in ranked[:_SENTENCES])


def _found(record: VerdictRecord) -> str:
    share = f"{100 * record.p_value:.3g} % of clean queries look as suspicious, or more so"
    gone = [one for one in record.passages if one.outcome in ("dropped", "flagged")]
    if record.attacked and gone and all(one.signal in _HELD for one in gone):
        told = f"Something of the set is in quarantine; of the rest: {share}."
    elif record.attacked:
        told = f"The set does not look like clean traffic: {share} (p = {record.p_value:.3g})."
    else:
        told = f"The set passes as clean traffic: {share} (p = {record.p_value:.3g})."
    told += f" {record.kept} of {record.size} passages were let through."
    if record.error:
        told += f" Not all could be judged: {record.error}."
    return told


def _why(one: JudgedPassage) -> str:
    told = f"{_OUTCOMES[one.outcome]}: {one.reason}."
    if one.signal in (*_HELD, "none", "allowed"):
        return told
    return (
        f"{told} The main sign is {one.signal}, with a strength of {one.strength:.2f} of 1; all "
        f"signs together make {one.suspicion:.1f} nats of suspicion."
    )


def _telling(record: VerdictRecord, one: JudgedPassage) -> tuple[str, ...]:
    if one.text is None or one.signal in ("none", "gibberish"):
        return ()
    return telling_sentences(record.query or "", one.text, one.signal)
