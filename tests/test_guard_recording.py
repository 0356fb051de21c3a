"""What the guard records of its queries, from which thread, and what it calibrates from that."""

import builtins
import gc
import io
import os
import sqlite3
import threading
from functools import cache

import numpy as np
import pytest

from ragguard import Guard, Passage
from ragguard.audit import MemoryStore
from ragguard.demo.corpus import load_corpus, poison
from ragguard.errors import CalibrationError, InvalidInputError
from ragguard.inline.scoring import SCORER
from ragguard.inline.tokens import tokenize_query
from ragguard.knowledge.memory import KnowledgeBase

QUESTION = "When was the lighthouse of Marrow Bay built?"
QUIET = [
    "Wool was sold on Mondays by the church.",
    "A mill stood by the ford until the flood.",
    "The tide turns at noon in early spring.",
    "Gulls nest on the northern cliffs.",
]
POISON = [f"{QUESTION} It was built in 19{year} by the crown." for year in (11, 12, 13)]


class Watched:
    """A store that notes which thread calls which of its methods."""

    def __init__(self):
        self._inner = MemoryStore()
        self.calls = []

    def __getattr__(self, name):
        method = getattr(self._inner, name)

        def noted(*arguments, **options):
            self.calls.append((name, threading.get_ident()))
            return method(*arguments, **options)

        return noted


def records(guard):
    guard._parts.counter.flush()
    return guard.store.scores()


CORPUS = load_corpus()


@cache
def retrieved(question):
    """Return the 15 passages of the corpus that are nearest."""
    return base().retrieve(question, 15)


@cache
def base():
    return KnowledgeBase(CORPUS.passages)


def traffic():
    return [(question.text, retrieved(question.text)[:8]) for question in CORPUS.questions]


@pytest.mark.parametrize("mode", ["filter", "monitor"])
def test_every_query_is_recorded_without_its_texts(mode):
    with Guard(mode=mode) as guard:
        clean = guard.filter(QUESTION, QUIET)
        attacked = guard.filter(QUESTION, [*POISON, *QUIET])
        over_fetched = guard.filter(QUESTION, [*POISON, *QUIET], k=3)
        first, second, third = records(guard)
    for record, verdict, judged in (
        (first, clean, 4),
        (second, attacked, 7),
        (third, over_fetched, 3),
    ):
        suspicions = [evidence.suspicion for evidence in verdict.evidence[:judged]]
        assert list(record.suspicions) == suspicions
        assert record.score == max(suspicions)
        assert record.attacked == verdict.attacked
        assert record.scorer == SCORER
    assert [r.attacked for r in (first, second, third)] == [False, True, True]
    assert [r.with_reference for r in (first, second, third)] == [False, False, True]
    assert first.question == second.question
    known = {SCORER, second.question}
    assert {value for value in vars(second).values() if isinstance(value, str)} == known


def test_questions_of_the_same_words_are_recorded_as_one():
    asked = [
        "Who built the old pier?",
        "old pier, WHO BUILT IT",
        "The pi\u200ber: old; built by?",
        "Who painted the old pier?",
        "\ud800",
        "?",
    ]
    with Guard() as guard:
        for question in asked:
            guard.filter(question, QUIET)
        kept = [record.question for record in records(guard)]
    assert [kept.index(question) for question in kept] == [0, 0, 0, 3, 4, 4]
    assert all(len(question) == 16 and int(question, 16) for question in kept)


def test_what_was_not_scored_is_not_recorded(monkeypatch):
    def broken(*arguments):
        raise RuntimeError("no")

    with Guard() as guard, Guard.ragdefender() as baseline:
        guard.filter(QUESTION, [])
        with monkeypatch.context() as patch:
            patch.setattr("ragguard.inline.evidence.signals_in_time", broken)
            assert guard.filter(QUESTION, [*POISON, *QUIET]).error is not None
        assert records(guard) == []
        baseline.filter(QUESTION, [*POISON, *QUIET])
        assert records(baseline) == []


def test_quarantined_passages_are_not_scored():
    from ragguard.audit import QuarantineEntry
    from ragguard.content import content_key

    store = MemoryStore()
    store.add_quarantine([QuarantineEntry(content_key(t), t, t, "bad") for t in POISON])
    with Guard(store=store) as guard:
        guard.filter(QUESTION, [*POISON, *QUIET])
        (record,) = records(guard)
    assert len(record.suspicions) == len(QUIET)
    assert not record.attacked


def test_filter_calls_no_store():
    store = Watched()
    with Guard(store=store) as guard:
        guard.filter(QUESTION, [*POISON, *QUIET])  # the calls of the constructor lie before
        store.calls.clear()
        for passages in (QUIET, [*POISON, *QUIET], []):
            guard.filter(QUESTION, passages)
        guard.filter_batch([(QUESTION, QUIET), (QUESTION, POISON)])
        me = threading.get_ident()
        assert [name for name, thread in store.calls if thread == me] == []
        guard._parts.counter.flush()
    assert ("add_scores", me) in store.calls


def test_filter_opens_no_file_and_writes_no_database(tmp_path, monkeypatch):
    me = threading.get_ident()
    with Guard(store=tmp_path / "audit.db") as guard:
        guard.filter(QUESTION, [*POISON, *QUIET])  # whatever is loaded once
        guard._parts.counter.close()  # from here on nothing but `filter` runs

        def refuse(name, original):
            def opened(*arguments, **options):
                if threading.get_ident() == me:
                    raise AssertionError(f"{name}{arguments} inside filter")
                return original(*arguments, **options)

            return opened

        with monkeypatch.context() as patched:
            for module, name in (
                (builtins, "open"),
                (io, "open"),
                (os, "open"),
                (sqlite3, "connect"),
            ):
                patched.setattr(module, name, refuse(name, getattr(module, name)))
            patched.setattr(guard.store, "add_scores", refuse("add_scores", None))
            patched.setattr(guard.store, "add_counts", refuse("add_counts", None))
            verdicts = [guard.filter(QUESTION, QUIET), guard.filter(QUESTION, [*POISON, *QUIET])]
    assert [verdict.attacked for verdict in verdicts] == [False, True]
    assert [verdict.error for verdict in verdicts] == [None, None]


@pytest.mark.slow
def test_what_a_guard_counted_that_nobody_closed_is_still_written():
    written = threading.Event()

    class Store(MemoryStore):
        def add_counts(self, counts):
            super().add_counts(counts)
            written.set()

    store = Store()
    gc.disable()
    try:
        Guard(store=store).filter(QUESTION, QUIET)
        assert written.wait(60)
    finally:
        gc.enable()
    assert store.counts() == {"queries": 1, "passages": 4}


@pytest.mark.slow
def test_calibrating_from_the_store_is_calibrating_on_the_traffic(tmp_path):
    given = traffic()
    with Guard(store=tmp_path / "audit.db", mode="monitor", alpha=0.05) as guard:
        for query, passages in given:
            guard.filter(query, passages, k=5)
        recorded = guard.calibrate_from_store(force=True)
        again = guard.filter(*given[0], k=5)
    with Guard(alpha=0.05) as other:
        direct = other.calibrate(given, k=5, force=True)
        expected = other.filter(*given[0], k=5)
    assert recorded.scores.tolist() == direct.scores.tolist()
    assert recorded.passage_scores.tolist() == direct.passage_scores.tolist()
    assert (recorded.size, recorded.with_reference) == (direct.size, direct.with_reference)
    assert f"{len(given)} queries recorded" in recorded.source
    assert (again.p_value, again.attacked) == (expected.p_value, expected.attacked)


def test_another_process_calibrates_from_what_this_one_recorded(tmp_path):
    path = tmp_path / "audit.db"
    with Guard(store=path) as guard:
        for query, passages in traffic()[:30]:
            guard.filter(query, passages)
    with Guard(store=path, alpha=0.1) as other:
        assert other.calibrate_from_store(force=True).queries == 30
        other.save_calibration(tmp_path / "c.json")
        assert other.calibrate_from_store(newest=20, force=True).queries == 20
    Guard(calibration=tmp_path / "c.json", alpha=0.1).close()


def quiet_queries(number):
    """Return questions about what the passages do not speak of."""
    rng = np.random.default_rng(0)
    nouns = "piston velvet orchid modem yoghurt tuba pension algebra cactus zeppelin".split()
    texts = [passage.text for passage in load_corpus().passages]
    return [
        (f"Why does a {one} need {n} {other}s?", rng.choice(texts, 15, replace=False).tolist())
        for n in range(number)
        for one, other in [rng.choice(nouns, 2, replace=False)]
    ]


@cache
def odd_queries():
    """Return questions that are sentences of benign passages, and what is retrieved for them.

    None only names a page: those have a line of their own. Nothing is planted. The highest scores
    come first: whoever has a copy of the guard can choose.
    """
    sentences = [passage.text.split(". ")[0] for passage in CORPUS.passages]
    asked = [sentence for sentence in sentences if not tokenize_query(sentence).names]
    odd = [(sentence, retrieved(sentence)) for sentence in asked]
    with Guard(mode="monitor") as guard:
        verdicts = guard.filter_batch(odd, k=5)
    scores = [max(one.suspicion for one in verdict.evidence[:5]) for verdict in verdicts]
    return [odd[i] for i in np.argsort(scores)[::-1]]


def recall(guard):
    """Return the share of planted texts with the question in front that are dropped."""
    dropped = []
    for question in CORPUS.questions:
        (planted,) = poison(question, "article", count=1)
        passages = [planted, *retrieved(question.text)[:14]]
        dropped.append(planted in guard.filter(question.text, passages, k=5).dropped)
    return sum(dropped) / len(dropped)


@pytest.mark.slow
@pytest.mark.parametrize("number", [4, 16, 80])  # 1.2, 5 and 20 %
def test_who_only_asks_does_not_teach_the_guard(number):
    with Guard() as guard:
        guard.filter_batch([*quiet_queries(320), *odd_queries()[:number]], k=5)
        with pytest.raises(CalibrationError, match=r"looks attacked|would rise"):
            guard.calibrate_from_store()
        assert recall(guard) >= 0.9
        guard.calibrate_from_store(clean_looking=True)
        assert recall(guard) >= 0.9
        guard.calibrate_from_store(force=True)
        assert recall(guard) < 0.9


@pytest.mark.slow
def test_asking_the_same_again_weighs_nothing():
    odd, *_ = odd_queries()
    question, passages = odd
    words = question.rstrip(".").split()
    again = [(" ".join([*words[n:], "the", *words[:n]]), passages) for n in range(len(words))]
    with Guard() as guard:
        guard.filter_batch([*quiet_queries(300), *[odd] * 50, *again * 10], k=5)
        adopted = guard.calibrate_from_store()
    assert adopted.queries == 301
    assert f"left out: {50 + 10 * len(again) - 1} repeated questions" in adopted.source


@pytest.mark.slow
def test_a_record_that_is_half_attacked_is_refused_in_plain_words():
    attacked = [
        (one.text, [*poison(one, "statement", count=1), *retrieved(one.text)[:14]])
        for one in CORPUS.questions
    ]
    with Guard() as guard:
        guard.filter_batch([*quiet_queries(64), *attacked], k=5)
        with pytest.raises(
            CalibrationError, match=r"50% of this record looks attacked.*fires on 64 of 128 queries"
        ):
            guard.calibrate_from_store()
        adopted = guard.calibrate_from_store(clean_looking=True)
    assert "the gate in force fires on 64 of them and counts as just below" in adopted.source


def test_too_little_was_recorded():
    with Guard() as guard:
        with pytest.raises(CalibrationError, match="monitor"):
            guard.calibrate_from_store()
        guard.filter(QUESTION, QUIET)
        with pytest.raises(CalibrationError, match="at least 99 calibration queries, there are 1"):
            guard.calibrate_from_store()
        for newest in (0, -1, 2.5, True, "3"):
            with pytest.raises(InvalidInputError, match="newest"):
                guard.calibrate_from_store(newest=newest)


@pytest.mark.slow
def test_one_warning_when_the_traffic_drifts(caplog):
    with Guard() as guard:
        for _ in range(1200):
            guard.filter(QUESTION, [POISON[0], *QUIET])
        guard._parts.counter.flush()
        guard._parts.counter.flush()
    drifts = [record for record in caplog.records if "the gate fired on" in record.message]
    assert len(drifts) == 1
    assert "500 of the last 500" in drifts[0].message


@pytest.mark.slow
def test_traffic_as_calibrated_warns_of_nothing(caplog):
    rng = np.random.default_rng(0)
    words = [f"word{n}" for n in range(400)]

    def query():
        return " ".join(rng.choice(words, 6)), [
            Passage(" ".join(rng.choice(words, 30))) for _ in range(3)
        ]

    with Guard(alpha=0.05) as guard:
        guard.calibrate([query() for _ in range(300)], force=True)
        for _ in range(600):
            guard.filter(*query())
        guard._parts.counter.flush()
    assert "the gate fired on" not in caplog.text


def test_poison_of_the_demo_is_recorded_as_attacked():
    corpus = load_corpus()
    with Guard() as guard:
        for question in corpus.questions[:10]:
            guard.filter(question.text, poison(question, "statement", count=3))
        found = records(guard)
    assert len(found) == 10
    assert all(record.attacked for record in found)
