"""The guard inline: what it keeps, what it drops, and what it never does."""

import asyncio
import copy
import logging
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragguard import Guard, Passage, Verdict
from ragguard.audit import MemoryStore, QuarantineEntry
from ragguard.content import content_key
from ragguard.demo.corpus import load_corpus, poison
from ragguard.embedding import HashedEmbedder
from ragguard.errors import CalibrationError, EmbeddingError, InvalidInputError
from ragguard.inline.conformal import Calibration
from ragguard.inline.scoring import SCORER
from ragguard.knowledge.memory import KnowledgeBase

QUESTION = "When was the lighthouse of Marrow Bay built?"
QUIET = [
    "Wool was sold on Mondays by the church.",
    "A mill stood by the ford until the flood.",
    "The tide turns at noon in early spring.",
    "Gulls nest on the northern cliffs.",
    "Sand was carried inland by carts.",
]
POISON = [f"{QUESTION} It was built in 19{year} by the crown." for year in (11, 12, 13)]
ATTACKED = [*POISON, *QUIET[:2]]


def calibration(score, n=99):
    return Calibration(
        scores=np.full(n, float(score)),
        passage_scores=np.full(n, float(score)),
        size=5,
        with_reference=False,
        scorer=SCORER,
        source="test",
    )


ALWAYS, NEVER = calibration(-1000.0), calibration(1000.0)

# Two lies give themselves away; a third speaks of the question so that its company decides.
LIKE_POISON = "Built: lighthouse, Marrow Bay. In 1914 by a mason."
DOUBTED = [*POISON[:2], LIKE_POISON, *QUIET[:2]]
DOUBTING = replace(ALWAYS, scores=np.full(99, 8.0), passage_scores=np.zeros(30))


class Broken:
    name = "broken"

    def __init__(self, answer):
        self.answer = answer

    def embed(self, texts):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer(texts)


@pytest.fixture(scope="module")
def shared():
    with Guard() as guard:
        yield guard


def texts(passages):
    return [passage.text for passage in passages]


# Keeping and dropping


def test_clean_passages_pass(shared):
    verdict = shared.filter(QUESTION, QUIET)
    assert texts(verdict.kept) == QUIET
    assert verdict.dropped == []
    assert not verdict.attacked
    assert verdict.p_value > 0.01
    assert verdict.error is None


def test_poison_goes_and_the_rest_stays(shared):
    verdict = shared.filter(QUESTION, ATTACKED)
    assert verdict.attacked
    assert verdict.p_value <= 0.01
    assert texts(verdict.dropped) == POISON
    assert texts(verdict.kept) == QUIET[:2]
    assert [evidence.flagged for evidence in verdict.evidence] == [True] * 3 + [False] * 2


@pytest.mark.slow
def test_the_demo_attack_is_filtered():
    corpus = load_corpus()
    dropped = planted = lost = 0
    base = KnowledgeBase(corpus.passages)
    with Guard() as guard:
        for question in corpus.questions[:16]:
            bad = poison(question, "statement", count=3)
            clean = base.retrieve(question.text, 7)
            verdict = guard.filter(question.text, [*bad, *clean], k=5)
            ids = {passage.id for passage in verdict.dropped}
            planted += len(bad)
            dropped += len(ids & {passage.id for passage in bad})
            lost += len(ids - {passage.id for passage in bad})
    assert dropped / planted > 0.8
    assert lost / dropped < 0.3


def test_monitor_mode_judges_alike_and_drops_nothing():
    with Guard(mode="monitor") as monitor, Guard() as guard:
        seen, filtered = monitor.filter(QUESTION, ATTACKED), guard.filter(QUESTION, ATTACKED)
    assert seen.mode == "monitor"
    assert filtered.mode == "filter"
    assert texts(seen.kept) == ATTACKED
    assert seen.dropped == []
    assert (seen.attacked, seen.p_value) == (filtered.attacked, filtered.p_value)
    assert [one.marked for one in seen.evidence] == [one.flagged for one in seen.evidence]
    assert [replace(one, marked=False) for one in seen.evidence] == filtered.evidence
    assert any(evidence.flagged for evidence in seen.evidence)


def test_passages_keep_their_ids_scores_metadata_and_identity(shared):
    given = [
        Passage(text, id=f"id {number}", score=1.0 / (1 + number), metadata={"page": number})
        for number, text in enumerate(ATTACKED)
    ]
    verdict = shared.filter(QUESTION, given)
    assert [id(p) for p in verdict.dropped] == [id(p) for p in given[:3]]
    assert [id(p) for p in verdict.kept] == [id(p) for p in given[3:]]
    assert [evidence.passage_id for evidence in verdict.evidence] == [p.id for p in given]


def test_nothing_of_the_callers_is_changed():
    metadata = {"page": [1, 2], "author": {"name": "A"}}
    vectors = HashedEmbedder(32).embed(ATTACKED)
    given = [
        Passage(text, metadata=metadata, embedding=row)
        for text, row in zip(ATTACKED, vectors, strict=True)
    ]
    before, rows, listed = copy.deepcopy(metadata), vectors.copy(), list(given)
    for options in ({}, {"strategy": "clustering"}, {"mode": "monitor"}):
        with Guard(**options) as guard:
            verdict = guard.filter(QUESTION, given)
            verdict.kept.clear()
            verdict.evidence.clear()
            guard.filter(QUESTION, tuple(given), k=2)
    assert given == listed
    assert [id(p) for p in given] == [id(p) for p in listed]
    assert metadata == before
    assert all(passage.metadata is metadata for passage in given)
    assert (vectors == rows).all()


POOL = [*QUIET, *POISON, QUESTION, "", " ", "\ud800"]
sets = st.lists(st.one_of(st.sampled_from(POOL), st.sampled_from(POOL).map(Passage)), max_size=10)


@pytest.mark.slow
@settings(max_examples=150)
@given(sets, st.none() | st.integers(1, 12), st.sampled_from(["filter", "monitor"]))
def test_what_holds_of_every_verdict(passages, k, mode):
    with Guard(mode=mode, on_error="raise") as guard:
        verdict = guard.filter(QUESTION, passages, k=k)
    given = [p if isinstance(p, Passage) else Passage(p) for p in passages]
    flags = [evidence.flagged for evidence in verdict.evidence]
    assert [evidence.passage_id for evidence in verdict.evidence] == [p.id for p in given]
    drops = flags if mode == "filter" else [False] * len(given)
    stay = [passage for passage, drop in zip(given, drops, strict=True) if not drop]
    assert verdict.dropped == [p for p, drop in zip(given, drops, strict=True) if drop]
    assert verdict.kept == (stay if k is None else stay[:k])
    assert verdict.attacked == any(flags)
    assert 0.0 < verdict.p_value <= 1.0
    assert verdict.attacked == (verdict.p_value <= 0.01)
    assert verdict.error is None


@pytest.mark.slow
@settings(max_examples=60)
@given(sets, st.none() | st.integers(1, 12))
def test_sync_and_async_give_the_same_answer(passages, k):
    with Guard() as guard:
        direct = guard.filter(QUESTION, passages, k=k)
        awaited = asyncio.run(guard.afilter(QUESTION, passages, k=k))
    assert awaited == direct


async def test_many_queries_at_once_on_one_loop(shared):
    asked = [(QUESTION, ATTACKED if number % 3 else QUIET) for number in range(30)]
    verdicts = await asyncio.gather(*(shared.afilter(*pair) for pair in asked))
    assert verdicts == [shared.filter(*pair) for pair in asked]


async def test_async_raises_what_sync_raises(shared):
    for arguments in ((5, QUIET), (QUESTION, 5), (QUESTION, [5])):
        with pytest.raises(InvalidInputError):
            await shared.afilter(*arguments)


async def test_async_does_not_block_the_loop():
    entered, release = threading.Event(), threading.Event()

    def wait(texts):
        entered.set()
        assert release.wait(60)
        return HashedEmbedder().embed(texts)

    with Guard(embedder=wait, calibration=DOUBTING, on_error="raise") as guard:
        task = asyncio.create_task(guard.afilter(QUESTION, DOUBTED))
        while not entered.is_set():  # noqa: ASYNC110 - it is set in another thread
            await asyncio.sleep(0)  # the loop turns while the embedder waits
        assert not task.done()
        release.set()
        assert (await task).attacked


# k


def test_passages_below_k_move_up_for_those_that_go(shared):
    verdict = shared.filter(QUESTION, [*POISON, *QUIET], k=4)
    assert verdict.attacked
    assert texts(verdict.dropped) == POISON
    assert texts(verdict.kept) == QUIET[:4]


def test_poison_below_k_does_not_move_up(shared):
    verdict = shared.filter(QUESTION, [*POISON[:2], QUIET[0], POISON[2], *QUIET[1:]], k=3)
    assert verdict.attacked
    assert texts(verdict.dropped) == POISON
    assert texts(verdict.kept) == QUIET[:3]


def test_at_most_k_are_kept_of_a_clean_set(shared):
    verdict = shared.filter(QUESTION, QUIET, k=2)
    assert texts(verdict.kept) == QUIET[:2]
    assert verdict.dropped == []
    assert len(verdict.evidence) == 5


@pytest.mark.parametrize("k", [5, 6, 1000])
def test_a_k_beyond_the_set_keeps_all_of_it(shared, k):
    assert texts(shared.filter(QUESTION, QUIET, k=k).kept) == QUIET


@pytest.mark.parametrize("k", [0, -1, 1.0, "3", True, [3]])
def test_k_is_a_positive_int_or_none(shared, k):
    with pytest.raises(InvalidInputError, match="k must be a positive int or None"):
        shared.filter(QUESTION, QUIET, k=k)
    with pytest.raises(InvalidInputError, match="k must be a positive int or None"):
        shared.calibrate([(QUESTION, QUIET)], k=k)


# Duplicates and small sets


def test_copies_of_a_passage_share_its_fate(shared):
    verdict = shared.filter(QUESTION, [POISON[0], QUIET[0], POISON[0], POISON[1], POISON[2]])
    assert texts(verdict.dropped) == [POISON[0], POISON[0], POISON[1], POISON[2]]
    clean = shared.filter(QUESTION, [QUIET[0]] * 5)
    assert texts(clean.kept) == [QUIET[0]] * 5


@pytest.mark.parametrize("passages", [[], (), iter([])])
def test_no_passages(shared, passages):
    verdict = shared.filter(QUESTION, passages)
    assert verdict == Verdict(kept=[], dropped=[], attacked=False, p_value=1.0, evidence=[])


def test_one_passage(shared):
    assert texts(shared.filter(QUESTION, QUIET[:1]).kept) == QUIET[:1]
    with Guard(calibration=ALWAYS, embedder=Broken(RuntimeError("not needed"))) as guard:
        verdict = guard.filter(QUESTION, POISON[:1])
        assert (texts(verdict.dropped), verdict.error) == (POISON[:1], None)


@pytest.mark.parametrize("query", ["", " ", "?", "\ud800", "\x00", "the of a"])
def test_an_empty_question_drops_nothing(shared, query):
    verdict = shared.filter(query, ATTACKED)
    assert texts(verdict.kept) == ATTACKED
    assert verdict.error is None


# Errors


@pytest.mark.parametrize(
    "arguments",
    [
        (None, QUIET),
        (b"bytes", QUIET),
        (5, QUIET),
        (QUESTION, None),
        (QUESTION, "one passage"),
        (QUESTION, b"bytes"),
        (QUESTION, Passage("one")),
        (QUESTION, [None]),
        (QUESTION, [QUIET]),
        (QUESTION, [{"text": "a"}]),
        (QUESTION, 5),
    ],
)
@pytest.mark.parametrize("on_error", ["pass", "raise"])
def test_wrong_types_raise_whatever_on_error_says(arguments, on_error):
    with Guard(on_error=on_error) as guard, pytest.raises(InvalidInputError):
        guard.filter(*arguments)


FAILURES = {
    "raises": RuntimeError("no such model"),
    "is refused": ConnectionError("refused"),
    "NaN": lambda texts: np.full((len(texts), 3), np.nan),
    "infinity": lambda texts: np.full((len(texts), 3), np.inf),
    "too few": lambda texts: np.ones((len(texts) - 1, 3)),
    "flat": lambda texts: np.ones(len(texts)),
    "no columns": lambda texts: np.ones((len(texts), 0)),
    "ragged": lambda texts: [[1.0] * (1 + number) for number in range(len(texts))],
    "words": lambda texts: texts,
    "nothing": lambda texts: None,
}


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("as_callable", [False, True])
@pytest.mark.parametrize("on_error", ["pass", "hold"])
def test_what_words_alone_flag_goes_though_the_embedder_fails(
    answer, as_callable, on_error, caplog
):
    embedder = Broken(answer).embed if as_callable else Broken(answer)
    store = MemoryStore()
    options = {"embedder": embedder, "calibration": DOUBTING, "store": store}
    with Guard(**options, on_error=on_error) as guard:
        with caplog.at_level(logging.WARNING, "ragguard"):
            verdict = guard.filter(QUESTION, DOUBTED)
        assert guard.filter(QUESTION, DOUBTED[:1]).error is None  # one needs no embedding
    held = on_error == "hold"
    assert texts(verdict.dropped) == [*POISON[:2], *[LIKE_POISON] * held]
    assert texts(verdict.kept) == [*[LIKE_POISON] * (not held), *QUIET[:2]]
    assert verdict.attacked
    assert verdict.error.startswith("EmbeddingError: ")
    assert [evidence.flagged for evidence in verdict.evidence] == [True, True, held, False, False]
    assert [evidence.decided for evidence in verdict.evidence] == [True, True, False, True, True]
    assert "not judged" in verdict.evidence[2].reason
    assert (
        f"1 of 5 passages were not judged whole and {'are held' if held else 'pass'}" in caplog.text
    )
    assert store.counts()["errors"] == 1
    assert store.counts()["queries"] == 2


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("as_callable", [False, True])
def test_a_failing_embedder_raises_where_asked_to(answer, as_callable):
    embedder = Broken(answer).embed if as_callable else Broken(answer)
    with Guard(embedder=embedder, calibration=DOUBTING, on_error="raise") as guard:
        with pytest.raises(EmbeddingError):
            guard.filter(QUESTION, DOUBTED)
        with pytest.raises(EmbeddingError):
            asyncio.run(guard.afilter(QUESTION, DOUBTED))


def test_a_failing_embedder_does_not_matter_to_clean_traffic():
    with Guard(embedder=Broken(RuntimeError("broken")), on_error="raise") as guard:
        assert texts(guard.filter(QUESTION, QUIET).kept) == QUIET


def test_a_failing_embedder_does_not_matter_to_an_attack_that_gives_itself_away():
    with Guard(embedder=Broken(RuntimeError("broken")), on_error="raise") as guard:
        verdict = guard.filter(QUESTION, ATTACKED)
    assert verdict.attacked
    assert texts(verdict.dropped) == POISON


def test_k_holds_when_judging_fails():
    with Guard(embedder=Broken(RuntimeError("broken")), calibration=DOUBTING) as guard:
        verdict = guard.filter(QUESTION, DOUBTED, k=2)
    assert verdict.error
    assert texts(verdict.kept) == [LIKE_POISON, QUIET[0]]


@pytest.mark.parametrize(
    "bad",
    [
        np.array([np.nan, 1.0]),
        np.array([np.inf, 1.0]),
        np.ones(3),
        [1.0, float("nan")],
    ],
    ids=str,
)
@pytest.mark.parametrize("at", [0, 4])
def test_a_bad_carried_vector_costs_no_other_passage_its_decision(bad, at):
    given = [Passage(text, embedding=np.array([1.0, 0.5])) for text in DOUBTED]
    given[at] = replace(given[at], embedding=bad)
    with Guard(calibration=DOUBTING, on_error="raise") as guard:
        bare, verdict = guard.filter(QUESTION, DOUBTED), guard.filter(QUESTION, given)
        (batched,) = guard.filter_batch([(QUESTION, given)])
    assert texts(verdict.kept) == texts(batched.kept) == texts(bare.kept)
    assert all(found.decided for found in verdict.evidence)


def test_carried_vectors_are_used_and_texts_embedded_once():
    batches = []

    def record(texts):
        batches.append(texts)
        return HashedEmbedder().embed(texts)

    rows = HashedEmbedder().embed(DOUBTED)
    given = [Passage(t, embedding=row) for t, row in zip(DOUBTED, rows, strict=True)]
    with Guard(embedder=record, calibration=DOUBTING) as guard:
        carried = guard.filter(QUESTION, given)
        assert batches == []
        computed = guard.filter(QUESTION, DOUBTED)
        assert batches == [DOUBTED]
        again = guard.filter(QUESTION, [*DOUBTED[1:], "Something new."])
        assert batches == [DOUBTED, ["Something new."]]
    assert carried.evidence == computed.evidence
    assert again.error is None


# Options


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "kmeans"},
        {"strategy": None},
        {"mode": "off"},
        {"on_error": "ignore"},
        {"on_error": []},
        {"alpha": 0.0},
        {"alpha": 1.0},
        {"alpha": -0.1},
        {"alpha": float("nan")},
        {"alpha": True},
        {"alpha": "0.01"},
        {"alpha": None},
        {"embedder": "all-MiniLM-L6-v2"},
        {"embedder": 5},
        {"embedder": HashedEmbedder},
        {"calibration": 5},
        {"calibration": {"scores": []}},
    ],
    ids=str,
)
def test_an_option_out_of_range_is_refused(options):
    with pytest.raises(InvalidInputError):
        Guard(**options)


@pytest.mark.parametrize("strategy", ["auto", "clustering", "concentration"])
def test_every_strategy_filters(strategy):
    with Guard(strategy=strategy, on_error="raise") as guard:
        assert set(POISON) & set(texts(guard.filter(QUESTION, ATTACKED).dropped))


def test_guards_take_no_positional_arguments():
    with pytest.raises(TypeError):
        Guard(HashedEmbedder())


def test_the_baseline_drops_from_clean_sets_as_well():
    with Guard.ragdefender() as baseline:
        verdict = baseline.filter(QUESTION, QUIET)
    assert verdict.attacked
    assert verdict.p_value == 0.0
    assert len(verdict.dropped) > 0


# Calibration


def traffic(count, seed):
    """Return clean queries over the demo's knowledge base, exchangeable with one another."""
    corpus = load_corpus()
    random = np.random.default_rng(seed)
    asked = random.choice(len(corpus.questions), size=count)
    out = []
    for place, number in enumerate(asked):
        # Each query meets its own sample of the knowledge base, so no two are alike.
        chosen = random.choice(len(corpus.passages), size=60, replace=False)
        words = set(corpus.questions[number].text.lower().split())
        ranked = sorted(
            (corpus.passages[index] for index in chosen),
            key=lambda passage: -len(words & set(passage.text.lower().split())),
        )
        out.append((f"{corpus.questions[number].text} {1000 + place}", ranked[:5]))
    return out


@pytest.mark.slow
def test_calibrated_on_its_own_traffic_a_guard_touches_at_most_alpha_of_it():
    alpha, n, held_back = 0.1, 400, 600
    queries = traffic(n + held_back, seed=7)
    with Guard(alpha=alpha) as guard:
        adopted = guard.calibrate(queries[:n])
        assert (adopted.queries, adopted.size, adopted.with_reference) == (n, 5, False)
        fired = sum(guard.filter(*pair).attacked for pair in queries[n:])
    # The share that fires is at most Beta-distributed around alpha (n + 1 calibration ranks),
    # and binomial given that.
    variance = alpha * (1 - alpha) * (1 / (n + 2) + 1 / held_back)
    assert fired / held_back <= alpha + 3 * variance**0.5


@pytest.mark.slow
def test_a_calibration_is_adopted_saved_and_read_again(tmp_path):
    queries = traffic(120, seed=3)
    with Guard() as guard:
        with pytest.raises(CalibrationError, match="call calibrate first"):
            guard.save_calibration(tmp_path / "none.json")
        before = [guard.filter(*pair).p_value for pair in queries]
        adopted = guard.calibrate(queries, force=True)
        after = [guard.filter(*pair) for pair in queries]
        guard.save_calibration(tmp_path / "clean.json")
    assert before != [verdict.p_value for verdict in after]
    with Guard(calibration=tmp_path / "clean.json") as guard:
        assert [guard.filter(*pair) for pair in queries] == after
        guard.save_calibration(tmp_path / "again.json")
    with Guard(calibration=adopted) as guard:
        assert [guard.filter(*pair) for pair in queries] == after
    assert (tmp_path / "clean.json").read_text() == (tmp_path / "again.json").read_text()


def test_the_calibration_traffic_itself_has_uniform_p_values():
    queries = traffic(99, seed=5)
    with Guard() as guard:
        guard.calibrate(queries, force=True)
        p_values = sorted(guard.filter(*pair).p_value for pair in queries)
    # Each query counts itself: the i-th of n distinct scores has p = (i + 1) / (n + 1).
    assert p_values[0] >= 2 / 100
    assert p_values[-1] == 1.0


def test_calibrating_on_over_fetched_traffic():
    queries = [(query, passages) for query, passages in traffic(100, seed=2)]
    with Guard() as guard:
        adopted = guard.calibrate(queries, k=3, force=True)
        assert (adopted.size, adopted.with_reference) == (3, True)
        assert guard.filter(*queries[0], k=3).p_value <= 1.0


@pytest.mark.slow
def test_queries_without_passages_do_not_count(shared):
    queries = [*traffic(99, seed=1), ("nothing found", [])]
    with Guard() as guard:
        assert guard.calibrate(iter(queries)).queries == 99


@pytest.mark.parametrize(
    "bad",
    [
        None,
        5,
        "text",
        [5],
        ["text"],
        [("query",)],
        [("query", QUIET, 1)],
        [(5, QUIET)],
        [(None, QUIET)],
        [(["query"], QUIET)],
        [("query", "passage")],
        [("query", [5])],
        [("query", None)],
    ],
    ids=str,
)
def test_traffic_of_another_form_is_refused_and_the_guard_goes_on(bad):
    with Guard() as guard:
        before = guard.filter(QUESTION, ATTACKED)
        with pytest.raises(InvalidInputError, match="traffic"):
            guard.calibrate(bad)
        assert guard.filter(QUESTION, ATTACKED) == before


@pytest.mark.parametrize("few", [[], [(QUESTION, [])], [(QUESTION, QUIET)] * 98])
def test_too_little_traffic_is_refused_and_the_guard_goes_on(few):
    with Guard() as guard:
        before = guard.filter(QUESTION, ATTACKED)
        with pytest.raises(CalibrationError):
            guard.calibrate(few)
        assert guard.filter(QUESTION, ATTACKED) == before


# Quarantine


def test_quarantined_passages_go_in_any_disguise_of_space_and_case(shared):
    with Guard() as guard:
        guard.store.add_quarantine([QuarantineEntry(content_key(QUIET[1]), "x", QUIET[1], "test")])
        verdict = guard.filter(QUESTION, [QUIET[0], f"  {QUIET[1].upper()}\n", QUIET[2]])
        assert texts(verdict.kept) == [QUIET[0], QUIET[2]]
        assert verdict.attacked
        assert verdict.p_value > 0.01
        assert verdict.evidence[1].signal == "quarantine"
        guard.store.set_quarantine_status(content_key(QUIET[1]), "released")
        assert texts(guard.filter(QUESTION, QUIET).kept) == QUIET


def test_what_one_guard_quarantines_another_on_the_same_file_drops_at_once(tmp_path):
    path = tmp_path / "audit.db"
    with Guard(store=path) as one, Guard(store=f"sqlite:///{path}") as other:
        for number, text in enumerate(QUIET):
            assert texts(other.filter(QUESTION, [text]).kept) == [text]
            entry = QuarantineEntry(content_key(text), str(number), text, "test")
            one.store.add_quarantine([entry])
            assert texts(other.filter(QUESTION, [text]).dropped) == [text]
        one.store.set_quarantine_status(content_key(QUIET[0]), "released")
        assert texts(other.filter(QUESTION, QUIET).kept) == QUIET[:1]
    with Guard(store=path) as later:
        assert texts(later.filter(QUESTION, QUIET).kept) == QUIET[:1]


def test_quarantine_counts_against_k_and_others_move_up():
    with Guard() as guard:
        guard.store.add_quarantine([QuarantineEntry(content_key(QUIET[0]), "x", QUIET[0], "test")])
        assert texts(guard.filter(QUESTION, QUIET, k=3).kept) == QUIET[1:4]


# Threads and forks


def test_threads_share_a_guard_and_get_the_same_verdicts():
    corpus = load_corpus()
    asked = [
        (q.text, [*poison(q, "statement", count=2), *corpus.passages[7 * i : 7 * i + 4]])
        for i, q in enumerate(corpus.questions[:20])
    ]
    with Guard(on_error="raise") as alone:
        expected = [alone.filter(*pair) for pair in asked]
    assert sum(verdict.attacked for verdict in expected) > 5
    store = MemoryStore()
    with Guard(on_error="raise", store=store) as guard, ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert list(pool.map(lambda pair: guard.filter(*pair), asked)) == expected
    assert store.counts()["queries"] == 60
    assert store.counts()["attacked"] == 3 * sum(verdict.attacked for verdict in expected)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_guard_works_on_both_sides_of_a_fork(tmp_path, kind):
    store = MemoryStore() if kind == "memory" else str(tmp_path / "audit.db")
    with Guard(store=store, on_error="raise") as guard:
        expected = guard.filter(QUESTION, ATTACKED)
        children = []
        for _ in range(3):
            child = os.fork()
            if child == 0:
                signal.alarm(60)  # a deadlock ends the child, and the test fails
                try:
                    same = guard.filter(QUESTION, ATTACKED) == expected
                    clean = texts(guard.filter(QUESTION, QUIET).kept) == QUIET
                    guard.close()
                    os._exit(0 if same and clean else 1)
                except BaseException:
                    os._exit(2)
            children.append(child)
            assert guard.filter(QUESTION, ATTACKED) == expected
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
        counted = 4 if kind == "memory" else 4 + 3 * 2
    if kind == "sqlite":
        with Guard(store=store) as guard:
            assert guard.store.counts()["queries"] == counted
    else:
        assert store.counts()["queries"] == counted


def test_quarantine_holds_while_judging_fails():
    class Broken:
        def gate(self, query, passages, k, budget):
            raise RuntimeError("broken")

    with Guard() as guard:
        guard.store.add_quarantine([QuarantineEntry(content_key("planted"), "p", "planted", "bad")])
        guard._parts.calibrator.filter = Broken()
        verdict = guard.filter("q", ["kept", "planted"])
    assert [passage.text for passage in verdict.kept] == ["kept"]
    assert verdict.evidence[1].signal == "quarantine"
    assert "broken" in verdict.error


def test_the_baseline_has_nothing_to_calibrate():
    with Guard.ragdefender() as guard, pytest.raises(CalibrationError, match="no gate"):
        guard.calibrate([("q", ["a", "b"])] * 200)


@pytest.mark.parametrize("timeout", ["5", float("nan")])
def test_a_timeout_is_a_number(timeout):
    with Guard() as guard, pytest.raises(InvalidInputError, match="timeout must be seconds"):
        guard.attribution("event", timeout=timeout)


def test_a_timeout_may_be_longer_than_any_clock_and_of_another_library():
    with Guard() as guard:
        event = guard.report("Who lit it?", "Ann.", passages=["Ann lit it."])
        guard.attribution(event, timeout=10**400)
        guard.attribution(event, timeout=np.float32(5))


def test_to_wait_for_no_number_of_seconds_is_refused():
    with Guard() as guard, pytest.raises(InvalidInputError, match="wait must be"):
        guard.report("q", "a", wait=float("nan"))


def test_k_may_be_an_integer_of_numpy():
    with Guard() as guard:
        assert len(guard.filter("q", ["a", "b", "c"], k=np.int64(2)).kept) == 2
        assert len(guard.filter_batch([("q", ["a", "b"])], k=np.int8(1))[0].kept) == 1


def test_a_listener_that_must_be_awaited_is_refused():
    async def hear(verdict):
        """Awaited by nobody."""

    class Hearer:
        async def __call__(self, verdict):
            """Awaited by nobody."""

    for listener in (hear, Hearer()):
        with pytest.raises(InvalidInputError, match="on_verdict must be no coroutine function"):
            Guard(on_verdict=listener)
