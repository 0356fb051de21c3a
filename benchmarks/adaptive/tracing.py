"""What remains against an attack that got past the guard: attribution and the quarantine loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.adaptive.oracle import Ranking
from benchmarks.metrics.says import says
from ragguard import Passage
from ragguard.attribution import RAGOrigin

_REACH = 200


@dataclass
class TraceRow:
    """Counts over reported events: the false answer, given after poison reached the generator.

    The knowledge base of an event is what two retrievers returned for its question, and the
    poison. The response that is reported is the false answer itself.

    Attributes:
        events: Reported responses.
        poison: Planted texts among the first k that state the false answer.
        blamed: Those of them that attribution held responsible.
        traced: Events in which every one of them was.
        benign_blamed: Events in which anything benign was.
        over: Events of which no poison that states the answer is among the first k once what was
            blamed is in quarantine.
    """

    attack: str
    embedder: str
    planted: int
    k: int
    events: int = 0
    poison: int = 0
    blamed: int = 0
    traced: int = 0
    benign_blamed: int = 0
    over: int = 0


def add_trace(
    row: TraceRow, origin: RAGOrigin, ranking: Ranking, planted: Sequence[str], wrong: str
) -> None:
    """Report the false answer and count what attribution makes of it."""
    ranked = ranking.ranked(planted, _REACH)
    poison = {text for text in planted if says(text, wrong)}
    shown = [passage for passage in ranked[: row.k] if passage.text in poison]
    if not shown:
        return

    def retrieve(query: str, limit: int) -> Sequence[Passage]:
        del query
        return ranked[:limit]

    found = origin.attribute(ranking.record.question, wrong, retrieve)
    blamed = {passage.text for passage in found.responsible}
    left = [passage for passage in ranked if passage.text not in blamed]
    row.events += 1
    row.poison += len(shown)
    row.blamed += sum(passage.text in blamed for passage in shown)
    row.traced += all(passage.text in blamed for passage in shown)
    row.benign_blamed += not blamed <= set(planted)
    row.over += not any(passage.text in poison for passage in left[: row.k])
