"""Misgeneration events: a wrong answer that was reported, and the knowledge base behind it.

The knowledge base of an event is every hit of every question of its dataset, plus the poison
planted for this one question, ranked by one embedder. An event counts if at least two of its
poison passages come among the first K and state the wrong answer; that answer is what is reported.

Measures are those of the RAGOrigin paper (Section 6.1.4), over the texts of the scope. Poison that
the scope did not reach cannot be found: it counts as false negative, and enters DACC as an error.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from statistics import mean

import numpy as np

from benchmarks.datasets import OWN, Record, load_folder, skerrin
from benchmarks.forms import DEFAULT_FORMS, FORMS
from benchmarks.metrics.matching import says
from benchmarks.report.table import Row, Rows, summed
from ragguard.attribution import Attribution
from ragguard.attribution.ragorigin import MAX_SCOPE
from ragguard.embedding import HashedEmbedder
from ragguard.passage import Passage

MAIN_KINDS = ("poisonedrag", "gpt4", "gemini", "statement")
"""Kinds whose every text argues for the wrong answer; the summary is over these."""

TOP_K = 5
PLANTED = 5


@dataclass(frozen=True)
class Event:
    """A wrong answer that is reported."""

    question: str
    wrong: str
    ranked: tuple[Passage, ...]  # the passages behind it, best first
    poison: frozenset[str]  # the planted texts, which are responsible

    def retrieve(self, _: str, limit: int) -> Sequence[Passage]:
        """Return the `limit` best passages; the query is the event's."""
        return self.ranked[:limit]


class KnowledgeBase:
    """Texts that any question can be ranked against, embedded once by the built-in embedder."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = tuple(texts)
        self._embed = HashedEmbedder().embed
        self._rows = self._embed(texts)

    def ranked(self, question: str, poison: Sequence[str] = ()) -> tuple[Passage, ...]:
        """Return the best passages for `question`; of equally similar ones, poison comes last."""
        texts = (*self.texts, *poison)
        rows = np.concatenate([self._rows, self._embed(poison)]) if poison else self._rows
        best = np.argsort(-(rows @ self._embed([question])[0]), kind="stable")[:MAX_SCOPE]
        return tuple(Passage(texts[i]) for i in best.tolist())

    def event(self, record: Record, poison: Sequence[str] = ()) -> Event:
        """Return the event in which the record's wrong answer is reported."""
        ranked = self.ranked(record.question, poison)
        return Event(record.question, record.wrong, ranked, frozenset(poison))

    def poisoned_events(self, record: Record, seed: int) -> Iterator[tuple[str, str, Event]]:
        """Yield (kind, form, event) for every attack on a question that got through."""
        for kind, form in product(record.poison, DEFAULT_FORMS):
            event = self.event(record, in_form(record, form, chosen(record, kind, seed)))
            if answers(event.ranked, event.poison, record.wrong):
                yield kind, form, event

    def single_events(self, record: Record, seed: int) -> Iterator[tuple[str, Event]]:
        """Yield (form, event) for one text of each main kind that states the answer and is read."""
        kinds = [kind for kind in MAIN_KINDS if kind in record.poison]
        for kind, form in product(kinds, DEFAULT_FORMS):
            stating = [text for text in chosen(record, kind, seed) if says(text, record.wrong)]
            event = self.event(record, in_form(record, form, stating[:1]))
            if any(passage.text in event.poison for passage in event.ranked[:TOP_K]):
                yield form, event


def outcome(event: Event, attribution: Attribution) -> dict[str, int]:
    """Return counts of the texts in scope, and of planted ones that the search did not reach."""
    pairs = [(one.passage.text in event.poison, one.responsible) for one in attribution.scores]
    return {
        "found": pairs.count((True, True)),
        "missed": pairs.count((True, False)),
        "wronged": pairs.count((False, True)),
        "spared": pairs.count((False, False)),
        "out_of_scope": len(event.poison) - sum(poison for poison, _ in pairs),
    }


def row(events: Rows) -> Row:
    """Return the measures of attacks: DACC is a mean over events, the others over all texts.

    "fnr" counts all planted texts, "fnr_stating" those that state the wrong answer word for word:
    for some the model that was to write them refused or told the truth. "open" counts the events in
    which nothing planted is blamed, "open_first" and "open_in_three" those of them in which a
    planted text is the most responsible passage of the scope, or among the first three.
    """
    n, causes = summed(events), Counter(event["cause"] for event in events)
    recall = n["found"] / n["poison"]
    return {
        "events": len(events),
        "dacc": rounded(mean(event["accuracy"] for event in events)),
        "fpr": rounded(n["wronged"] / max(1, n["wronged"] + n["spared"])),
        "fnr": rounded(1.0 - recall),
        "fnr_stating": rounded(1.0 - n["found_stating"] / n["stating"]),
        "precision": rounded(n["found"] / max(1, n["found"] + n["wronged"])),
        "recall": rounded(recall),
        "missed_by_scope": rounded(n["out_of_scope"] / n["poison"]),
        "scope": rounded(n["scope"] / len(events)),
        **{name: n[name] for name in ("open", "open_first", "open_in_three")},
        "causes": {cause: causes[cause] for cause in ("poisoning", "model", "unclear")},
    }


def blamed(events: Rows) -> Row:
    """Return how many events there are, and the share in which anything is blamed."""
    return {"events": len(events), "blamed": rounded(summed(events)["blamed"] / len(events))}


class Outcomes:
    """What was found in events, stratum by stratum."""

    def __init__(self) -> None:
        self._events: defaultdict[tuple[tuple[str, str], ...], Rows] = defaultdict(list)

    def add(self, event: Event, found: Attribution, **stratum: str) -> None:
        """Add what was found in one event to the row of these columns."""
        n = outcome(event, found)
        stating = {text for text in event.poison if says(text, event.wrong)}
        shown = [passage.text in event.poison for passage in found.ranked]
        counts = {
            **n,
            "accuracy": (n["found"] + n["spared"]) / max(1, sum(n.values())),
            "poison": len(event.poison),
            "stating": len(stating),
            "found_stating": sum(s.responsible and s.passage.text in stating for s in found.scores),
            "blamed": bool(found.responsible),
            "scope": found.scope_size,
            "open": not n["found"],
            "open_first": not n["found"] and any(shown[:1]),
            "open_in_three": not n["found"] and any(shown[:3]),
            "cause": found.cause,
        }
        self._events[tuple(stratum.items())].append(counts)

    def rows(self, values: Callable[[Rows], Row] = row) -> Rows:
        """Return a row for each stratum: its columns, and what is made of its events."""
        return [{**dict(key), **values(events)} for key, events in self._events.items()]


def rounded(value: float) -> float:
    """Return the value with the four decimals that a result keeps."""
    return round(float(value), 4)


def selected(
    folder: Path | None, limit: int | None, half: int = 1
) -> Iterator[tuple[str, Sequence[Record], KnowledgeBase]]:
    """Yield (name, records, knowledge base) of a half of each dataset, and of the whole own one."""
    for data in [] if folder is None else load_folder(folder):
        if data.kinds:
            texts = dict.fromkeys(text for record in data.records for text in record.hits)
            yield data.name, data.records[half::2][:limit], KnowledgeBase(list(texts))
    own = skerrin().records
    yield OWN, own[:limit], KnowledgeBase(own[0].hits)


def chosen(record: Record, kind: str, seed: int, count: int = PLANTED) -> list[str]:
    """Return the texts that are planted: all, or `count` drawn by the seed where there are more."""
    usable = list(dict.fromkeys(text for text in record.poison[kind] if text.strip()))
    if len(usable) <= count:
        return usable
    return Random(f"{seed} {kind} {record.question}").sample(usable, count)


def in_form(record: Record, form: str, texts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(FORMS[form](record.question, text) for text in texts))


def answers(ranked: Sequence[Passage], poison: Collection[str], wrong: str) -> bool:
    """Return True if at least two of the poison passages are read and state the wrong answer."""
    read = [passage.text for passage in ranked[:TOP_K]]
    return sum(text in poison and says(text, wrong) for text in read) >= 2
