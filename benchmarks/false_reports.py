"""What false reports do to honest pages, and honest ones to planted texts, under policy "auto".

Whoever reports chooses question and response. They aim at a page with what it says itself, or
report the right answer of a real question. "blamed" counts what attribution holds responsible: all
of it went into quarantine before there were policies. "quarantined" is what goes there without a
person now, with no limit in the way; "within limits" with the default limit of one reporter.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, cycle, pairwise, product
from pathlib import Path
from random import Random

from benchmarks.command import Half, Limit, Measured, OwnData, Seed, command, tracked
from benchmarks.datasets import OWN, Record, load_folder, skerrin
from benchmarks.metrics.outcomes import Counts
from benchmarks.misgeneration import MAIN_KINDS, TOP_K, KnowledgeBase, selected
from benchmarks.report.table import Row, Rows, Table, as_is
from ragguard.attribution import Attribution, RAGOrigin
from ragguard.audit import Event, MemoryStore
from ragguard.background import Policy
from ragguard.background.attribute_event import EventAttributor
from ragguard.calibrator import calibrated_on
from ragguard.content import content_key
from ragguard.demo.corpus import load_corpus
from ragguard.embedding import HashedEmbedder
from ragguard.inline.marks import asks
from ragguard.inline.pipeline import ConformalFilter
from ragguard.inline.tokens import tokenize_query
from ragguard.passage import Passage
from ragguard.stems import tokenize
from ragguard.text import sentences
from ragguard.trust import Trust

_POOLED = ("nq", "hotpotqa", "msmarco")
_PAGES = 200
_ROUNDS, _REPORTERS, _COLLUDING = 1000, 100, 10
_FREE = Policy("auto", top_k=TOP_K, per_reporter=10**6, per_hour=10**6)
_SOURCE = {"source": "statutes"}


def aimed(page: str, draw: Random) -> list[tuple[str, str]]:
    """Return questions and responses that trace to a page.

    Its questions and what follows; its beginning, a sentence or some words, and what follows; and
    of three sentences the halves, as they are and made into questions.
    """
    parts = [part for part in sentences(page) if tokenize(part)]
    words = page.split()
    found = [(asked, told) for asked, told in pairwise(parts) if "?" in asked[-3:]]
    openings = [*parts[:1], *[" ".join(words[:size]) for size in (5, 8, 12)]]
    found += product(openings, parts[1:4])
    for part in draw.sample(parts, min(3, len(parts))):
        told = part.split()
        begun, rest = " ".join(told[: len(told) // 2]), " ".join(told[len(told) // 2 :])
        found += [(begun, rest), (f"What {begun}?", rest), (f"Is {part.rstrip('.')}?", part)]
    return [(asked, told) for asked, told in found if tokenize(asked) and tokenize(told)]


class Desk:
    """Takes reports about a knowledge base, all of it protected if so asked; attributes at once.

    `judge` says who shows marks of an attack; without it the shipped calibration does.
    """

    def __init__(
        self,
        policy: Policy = _FREE,
        *,
        protected: bool = False,
        judge: ConformalFilter | None = None,
    ) -> None:
        self.store = MemoryStore()
        self._metadata = _SOURCE if protected else {}
        self._ranked: Sequence[Passage] = ()
        self._events = EventAttributor(
            self.store,
            lambda _, limit: self._ranked[:limit],
            attributor=RAGOrigin(top_k=TOP_K),
            policy=policy,
            trust=Trust(protected=[*_SOURCE.values()]) if protected else None,
            gate=None if judge is None else lambda: judge,
        )
        self._number = count()

    def report(
        self, query: str, response: str, ranked: Sequence[Passage], reporter: str = "mallory"
    ) -> Attribution:
        """Attribute a report over a ranking, act on it, and return the attribution."""
        self._ranked = [replace(one, metadata=self._metadata) for one in ranked]
        event = Event(f"{next(self._number)}", query, response, reporter=reporter)
        found = self._events.attribute(event)
        self._events.quarantine(event, found)
        return found

    def holds(self, text: str) -> bool:
        """Return whether a text is in quarantine."""
        return content_key(text) in self.store.quarantine_keys()


def _pages(base: KnowledgeBase, draw: Random) -> list[str]:
    long = [text for text in base.texts if len(tokenize(text)) >= 20]
    return draw.sample(long, min(_PAGES, len(long)))


def one_reporter(name: str, base: KnowledgeBase, draw: Random) -> Row:
    """Aim at random pages, each by itself; then take all of them in one name, and protected."""
    pages, blamed, taken, reports = _pages(base, draw), set[str](), [], 0
    for page in tracked(pages, f"aimed at pages ({name})"):
        for query, response in aimed(page, draw):
            desk = Desk()
            found = desk.report(query, response, base.ranked(query))
            reports += 1
            blamed.update(one.text for one in found.accused if one.text == page)
            if desk.holds(page):
                taken.append((page, query, response))
                break
    limited, shielded = Desk(Policy("auto", per_hour=10**6)), Desk(protected=True)
    for _, query, response in taken:
        for desk in (limited, shielded):
            desk.report(query, response, base.ranked(query))
    return {
        "data": name,
        "pages": len(pages),
        "reports": reports,
        "blamed": len(blamed),
        "quarantined": len(taken),
        "within_limits": sum(limited.holds(page) for page, _, _ in taken),
        "protected_quarantined": len(shielded.store.quarantine_keys()),
    }


def colluding(
    name: str, records: Sequence[Record], base: KnowledgeBase, draw: Random
) -> Iterator[Row]:
    """Let a tenth of the reporters aim at pages together; the others report wrong answers.

    Those who collude know the guard, and begin with the pages that have its mark of an attack.
    """
    pages = _pages(base, draw)
    plans = [(page, *report) for page in pages for report in aimed(page, draw)]
    draw.shuffle(plans)
    plans.sort(key=lambda plan: not asks(tokenize_query(plan[1]), plan[0]))
    lies = [(query, response) for _, query, response in plans]
    for quorum in (1, 2):
        desk = Desk(Policy("auto", quorum=quorum, per_hour=10**6))
        # Those who collude report the same, one after the other, until there is a quorum.
        plot, honest = cycle([lie for lie in lies for _ in range(quorum)]), cycle(records)
        for number in range(_ROUNDS):
            reporter = number % _REPORTERS
            if reporter < _COLLUDING:
                query, response = next(plot)
                desk.report(query, response, base.ranked(query), f"{reporter}")
            else:
                told = base.event(next(honest))
                desk.report(told.question, told.wrong, told.ranked, f"{reporter}")
        held = sum(map(desk.holds, pages))
        others = len(desk.store.quarantine_keys()) - held
        row = {"data": name, "quorum": quorum, "rounds": _ROUNDS, "pages": len(pages)}
        yield {**row, "quarantined": held, "others_quarantined": others}


def right_answers(
    name: str,
    records: Sequence[Record],
    base: KnowledgeBase,
    golden: Mapping[str, frozenset[str]],
    judge: ConformalFilter | None = None,
) -> Row:
    tally: Counter[str] = Counter()
    for record in records:
        if not record.right:
            continue
        desk, ranked = Desk(judge=judge), base.ranked(record.question)
        found = desk.report(record.question, record.right, ranked)
        held = {one.text for one in found.accused if desk.holds(one.text)}
        tally.update(
            events=1,
            blamed=bool(found.accused),
            disputed=found.cause == "disputed",
            pages_blamed=len(found.accused),
            pages_quarantined=len(held),
            golden_quarantined=not held.isdisjoint(golden.get(record.question, ())),
        )
    calibration = "shipped" if judge is None else "of its own traffic"
    return {"dataset": name, "calibration": calibration, **tally}


def planted(name: str, records: Sequence[Record], base: KnowledgeBase, seed: int) -> Rows:
    """Report the planted answer once, and look for the planted texts that were blamed."""
    names = ("events", "quarantined", "proposed", "disputed", "texts_blamed")
    rows = Counts(*names, "texts_quarantined", "benign_quarantined")
    for record in records:
        several = (one for one in base.poisoned_events(record, seed) if one[0] in MAIN_KINDS)
        events = [("up to 5", form, event) for _, form, event in several]
        events += [("1", form, event) for form, event in base.single_events(record, seed)]
        for texts, form, event in events:
            desk = Desk()
            found = desk.report(event.question, event.wrong, event.ranked, "ann")
            if blamed := [one.text for one in found.accused if one.text in event.poison]:
                held = sum(map(desk.holds, blamed))
                counts = {"events": 1, "quarantined": held > 0, "proposed": not held}
                counts |= {"disputed": found.cause == "disputed", "texts_blamed": len(blamed)}
                benign = len(desk.store.quarantine_keys()) - held
                counts |= {"texts_quarantined": held, "benign_quarantined": benign}
                rows.add({"dataset": name, "texts": texts, "form": form}, counts)
    return rows.rows()


def run(folder: Path | None, limit: int | None, seed: int, half: int) -> dict[str, Rows]:
    draw = Random(seed)
    read = [] if folder is None else load_folder(folder)
    golden = {one.question: one.golden for data in (*read, skerrin()) for one in data.records}
    found: dict[str, Rows] = {"planted": [], "right_answers": []}
    pools: dict[str, tuple[list[Record], dict[str, None]]] = {}
    for name, records, base in selected(folder, limit, half):
        found["planted"] += planted(name, records, base, seed)
        if name in (*_POOLED, OWN):
            found["right_answers"].append(right_answers(name, records, base, golden))
            asked, texts = pools.setdefault("own" if name == OWN else "public", ([], {}))
            asked += records
            texts |= dict.fromkeys(base.texts)
        if name == OWN:
            queries = [(one.text, one.paraphrase) for one in load_corpus().questions]
            traffic = [(text, base.ranked(text)[:TOP_K]) for both in queries for text in both]
            judge = ConformalFilter(HashedEmbedder(), calibration=calibrated_on(traffic, TOP_K))
            found["right_answers"].append(right_answers(name, records, base, golden, judge))
    bases = [(name, asked, KnowledgeBase(list(texts))) for name, (asked, texts) in pools.items()]
    found["one_reporter"] = [one_reporter(name, base, draw) for name, _, base in bases]
    found["colluding"] = [row for pool in bases for row in colluding(*pool, draw)]
    return found


def tables(sections: Mapping[str, Rows]) -> Iterator[Table]:
    for name, rows in sections.items():
        yield as_is(name, rows)


@command(tables)
def main(data: OwnData = None, limit: Limit = None, seed: Seed = 0, half: Half = 1) -> Measured:
    logging.getLogger("ragguard").setLevel(logging.CRITICAL)  # limits are reached here
    return run(data, limit, seed, half), ()
