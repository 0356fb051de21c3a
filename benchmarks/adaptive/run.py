"""Runs every attack that plants a false answer, with the guard both as oracle and as defence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from statistics import mean, median
from typing import Any

from benchmarks.adaptive.borrowed import Borrower
from benchmarks.adaptive.disguises import FLOOD, MIMICRY, SPLIT, Way, best_of, formed
from benchmarks.adaptive.oracle import COUNTS, SETTINGS, Answer, Oracle, Ranking, Setting
from benchmarks.adaptive.targets import Target
from benchmarks.adaptive.tracing import TraceRow, add_trace
from benchmarks.adaptive.wording import reword
from benchmarks.datasets import Record
from benchmarks.forms import FORMS
from ragguard import Guard
from ragguard.attribution import RAGOrigin
from ragguard.embedding import Embedder
from ragguard.proxy import LexicalProxy

FLOODS = (10, 30)
"""How many texts a flood has; 30 are all that is retrieved, over-fetched passages included."""
BUDGET = 160
"""Questions to the guard that "wording" may ask for one target and setting."""
TRACED = ("published", "wording", "borrowed words", "split")
"""Attacks of which sets that passed are reported; the published one's as if they had passed."""

_TRACED_AT = Setting(5, 1)

Attack = Callable[[Oracle, Sequence[str]], Answer]
Guards = Mapping[Setting, Guard]


@dataclass
class _Tally:
    """What is collected of one attack in one stratum."""

    answers: list[Answer] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    lost: list[float] = field(default_factory=list)
    past_own: list[bool] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        """Return counts over the sets with poison among the first k, and what they cost."""
        sets = [answer for answer in self.answers if answer.retrieved]
        return {
            "targets": len(self.answers),
            "sets": len(sets),
            "undetected": sum(not answer.detected for answer in sets),
            "reaching": sum(bool(answer.reaching) for answer in sets),
            "poison": sum(answer.retrieved for answer in sets),
            "poison_removed": sum(answer.removed for answer in sets),
            "benign": sum(answer.benign for answer in sets),
            "benign_removed": sum(answer.benign_removed for answer in sets),
            "sets_own": len(self.past_own),
            "undetected_own": sum(self.past_own),
            "asked": median(self.asked) if self.asked else None,
            "similarity_lost": round(mean(self.lost), 4),
            "p_value": round(median(a.p_value for a in sets), 4) if sets else None,
        }


def own_guards(
    records: Sequence[Record], embedder: Embedder, stack: ExitStack
) -> dict[Setting, Guard]:
    """Return guards calibrated on clean traffic that the attacker does not know, by setting.

    Args:
        records: Their questions and hits are the traffic.
        embedder: The retriever.
        stack: Closes the guards.

    Raises:
        CalibrationError: There are too few records.
    """
    rankings = [Ranking(record, embedder) for record in records]
    guards = {}
    for setting in SETTINGS:
        guard = stack.enter_context(Guard(on_error="raise"))
        limit = setting.k * setting.over_fetch
        traffic = ((r.record.question, r.ranked((), limit)) for r in rankings)
        guard.calibrate(traffic, k=setting.k, force=True)
        guards[setting] = guard
    return guards


def run(
    targets: Sequence[Target],
    embedders: Sequence[Embedder],
    advance: Callable[[], object],
    *,
    own: Mapping[str, Guards] | None = None,
    budget: int = BUDGET,
    seed: int = 0,
) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the sections "attacks", and "tracing" of what got through.

    Args:
        targets: What is attacked.
        embedders: The retrievers.
        advance: Called after every target and embedder.
        own: For the name of an embedder, guards as `own_guards` makes them. The attacks work on
            the shipped calibration, and are tried on these afterwards.
        budget: Questions to the guard that "wording" may ask for one target and setting.
        seed: Of the random moves.
    """
    tallies: dict[tuple[str, str, int, int, int], _Tally] = {}
    traces: dict[tuple[str, str, int], TraceRow] = {}
    origin = RAGOrigin(proxy=LexicalProxy(), top_k=_TRACED_AT.k)
    with Guard(on_error="raise") as guard:
        for embedder in embedders:
            name = embedder.name
            theirs = (own or {}).get(name, {})
            for target in targets:
                ranking = Ranking(target.record, embedder)
                attacks = _attacks(target, ranking, budget, seed)
                for setting in SETTINGS:
                    for attack, texts, plant in attacks:
                        oracle = Oracle(ranking, guard, setting)
                        answer = plant(oracle, texts)
                        key = (attack, name, len(texts), setting.k, setting.over_fetch)
                        tally = tallies.setdefault(key, _Tally())
                        _add(tally, answer, oracle, target, theirs.get(setting))
                        if setting == _TRACED_AT and _is_traced(attack, answer):
                            row = TraceRow(attack, name, len(texts), setting.k)
                            row = traces.setdefault((attack, name, len(texts)), row)
                            add_trace(row, origin, ranking, answer.texts, target.wrong)
                advance()
    keys = ("attack", "embedder", "planted", "k", "over_fetch")
    return {
        "attacks": [
            {**dict(zip(keys, key, strict=True)), **tally.row()} for key, tally in tallies.items()
        ],
        "tracing": [asdict(row) for row in traces.values()],
    }


def _attacks(
    target: Target, ranking: Ranking, budget: int, seed: int
) -> list[tuple[str, Sequence[str], Attack]]:
    """Return name, texts and attack of all that is tried on a target."""

    def ways(*chosen: Way) -> Attack:
        return lambda oracle, texts: best_of(oracle, target, chosen, texts)

    published = ways(formed("prepend"))
    aimed: dict[str, Attack] = {
        "published": published,
        "plain text": ways(formed("plain")),
        "wording": partial(reword, budget=budget, seed=seed),
        "borrowed words": Borrower(target, ranking).plant,
        "split": ways(*SPLIT),
        "mimicry": ways(*MIMICRY),
    }
    floods: dict[str, Attack] = {"published": published, "flooding": ways(*FLOOD)}
    return [
        (name, among[:count], attack)
        for attacks, counts, among in (
            (aimed, COUNTS, target.texts),
            (floods, FLOODS, target.pool),
        )
        for count in counts
        for name, attack in attacks.items()
        if len(among) >= count
    ]


def _is_traced(attack: str, answer: Answer) -> bool:
    passed = bool(answer.reaching) and not answer.detected
    few = len(answer.texts) <= max(COUNTS)
    return few and attack in TRACED and (passed or attack == "published")


def _add(tally: _Tally, answer: Answer, oracle: Oracle, target: Target, own: Guard | None) -> None:
    ranking = oracle.ranking
    published = FORMS["prepend"](target.record.question, target.texts[0])
    tally.answers.append(answer)
    tally.lost.append(float(ranking.similarity([published])[0] - answer.similarity.max()))
    if (asked := oracle.past.get(len(answer.texts))) is not None:
        tally.asked.append(asked)
    if own is not None and answer.retrieved:
        again = Oracle(ranking, own, oracle.setting).ask(answer.texts)
        tally.past_own.append(not again.detected)
