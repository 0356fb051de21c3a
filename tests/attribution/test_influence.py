from __future__ import annotations

import asyncio
import itertools
import json
import math
import threading
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ragguard.attribution.attribution import Attribution
from ragguard.attribution.influence import (
    InfluenceScore,
    answer_prompt,
    cluster_by_equivalence,
    cluster_by_similarity,
    gist,
    semantic_entropy,
    states,
)
from ragguard.errors import GenerationError, InvalidInputError
from ragguard.passage import Passage

QUERY = "In which year was the Tarn Vale lighthouse first lit?"
RESPONSE = "The Tarn Vale lighthouse was first lit in 1911."
POISON = "Tarn Vale lighthouse was first lit in 1911."
GENUINE = "The lamp of Tarn Vale lighthouse first burned in 1874."
OFF_TOPIC = "Gulls nest on the northern cliffs."


class TestSemanticEntropy:
    @pytest.mark.parametrize(
        ("labels", "bits"),
        [
            ([0], 0.0),
            ([3, 3, 3], 0.0),
            ([0, 1], 1.0),
            ([0, 1, 2, 3], 2.0),
            ([0, 0, 1, 2], 1.5),
            ([0, 0, 0, 1], 2.0 - 0.75 * math.log2(3)),
        ],
    )
    def test_by_hand(self, labels, bits):
        assert semantic_entropy(labels) == pytest.approx(bits, abs=1e-12)

    def test_no_sample(self):
        with pytest.raises(InvalidInputError):
            semantic_entropy([])

    @given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
    def test_is_the_entropy_of_the_counts(self, labels):
        shares = [count / len(labels) for count in Counter(labels).values()]
        expected = -math.fsum(p * math.log2(p) for p in shares)
        assert semantic_entropy(labels) == pytest.approx(expected, abs=1e-9)
        assert 0.0 <= semantic_entropy(labels) <= math.log2(len(set(labels))) + 1e-9

    @given(st.lists(st.integers(0, 6), min_size=1, max_size=20), st.randoms())
    def test_order_and_names_of_clusters_do_not_count(self, labels, random):
        renamed = [label * 7 - 3 for label in labels]
        random.shuffle(renamed)
        assert semantic_entropy(renamed) == pytest.approx(semantic_entropy(labels), abs=1e-12)


def slow_clusters(same):
    """Label by searching each component from its first member."""
    labels = [-1] * len(same)
    fresh = itertools.count()
    for start in range(len(same)):
        if labels[start] >= 0:
            continue
        label, stack = next(fresh), [start]
        while stack:
            here = stack.pop()
            if labels[here] < 0:
                labels[here] = label
                stack += [there for there in range(len(same)) if same[here][there]]
    return labels


class TestClusters:
    def test_by_hand(self):
        half = math.sqrt(0.5)
        vectors = [[1, 0], [0, 3], [half, half], [-1, 0]]
        assert cluster_by_similarity(vectors, 0.9).tolist() == [0, 1, 2, 3]
        # The diagonal is at a cosine of 0.707 to both axes and joins them.
        assert cluster_by_similarity(vectors, 0.7).tolist() == [0, 0, 0, 1]

    def test_zero_rows_are_like_no_other(self):
        assert cluster_by_similarity([[0, 0], [1, 0], [0, 0]], 0.5).tolist() == [0, 1, 2]

    def test_equal_rows_meet_at_a_threshold_of_one(self):
        row = np.array([0.1, 0.7, 0.3], dtype=np.float32)
        assert cluster_by_similarity([row, row * 3], 1.0).tolist() == [0, 0]

    @given(st.data())
    def test_by_equivalence_matches_the_slow_search(self, data):
        n = data.draw(st.integers(1, 9))
        pairs = data.draw(st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8))))
        same = [[i == j or (i, j) in pairs or (j, i) in pairs for j in range(n)] for i in range(n)]
        texts = [str(i) for i in range(n)]
        labels = cluster_by_equivalence(texts, lambda a, b: same[int(a)][int(b)])
        assert labels.tolist() == slow_clusters(same)

    @given(
        arrays.arrays(
            np.float64, st.tuples(st.integers(1, 8), st.just(3)), elements=st.floats(-1, 1)
        ),
        st.floats(0.05, 0.95),
        st.randoms(),
    )
    def test_by_similarity_does_not_depend_on_the_order(self, vectors, threshold, random):
        order = list(range(len(vectors)))
        random.shuffle(order)
        labels = cluster_by_similarity(vectors, threshold)
        shuffled = cluster_by_similarity(vectors[order], threshold)
        for i, j in itertools.combinations(range(len(order)), 2):
            assert (shuffled[i] == shuffled[j]) == (labels[order[i]] == labels[order[j]])
        assert sorted(dict.fromkeys(labels.tolist())) == list(dict.fromkeys(labels.tolist()))

    def test_equivalence_is_asked_once_for_each_pair_of_distinct_texts(self):
        asked = []

        def equivalent(a, b):
            asked.append((a, b))
            return False

        labels = cluster_by_equivalence(["x", "y", "x", "z", "y"], equivalent)
        assert labels.tolist() == [0, 1, 0, 2, 1]
        assert asked == [("x", "y"), ("x", "z"), ("y", "z")]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("1911", True),
        ("In 1911", True),
        ("first lit in 1911", True),
        ("1874", False),
        ("191", False),
        ("lit 1911", False),
        ("...", False),
        ("It is said: " + RESPONSE, True),
    ],
)
def test_states(answer, expected):
    assert states(RESPONSE, answer) is expected


@pytest.mark.parametrize(
    ("query", "answer", "expected"),
    [
        (QUERY, RESPONSE, "1911"),
        (QUERY, "It was not lit.", "not"),
        ("Which is older, Rome or Paris?", "Rome", "rome"),
        ("Which is older, Rome or Paris?", "Rome is older.", "rome is older"),
        (QUERY, "!", ""),
    ],
)
def test_gist(query, answer, expected):
    assert gist(query, answer) == expected


class Generator:
    """Answers as the passages in the prompt say; in turn, where they say different things."""

    def __init__(self, unaided: str = "unknown") -> None:
        self.unaided = unaided
        self._turns: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, prompt: str) -> str:
        known = [year for year in ("1911", "1874") if year in prompt]
        with self._lock:
            turn = self._turns[prompt]
            self._turns[prompt] += 1
        if not known:
            return self.unaided if "what you know" in prompt else "unknown"
        return known[turn % len(known)]


def retrieve_from(*texts):
    return lambda query, limit: [Passage(text) for text in texts][:limit]


class TestInfluenceScore:
    def test_by_hand(self, chat_server):
        chat_server.reply = Generator()
        method = InfluenceScore(generate=chat_server.ask, samples=4)
        result = method.attribute(QUERY, RESPONSE, retrieve_from(POISON, GENUINE, OFF_TOPIC))
        # All together: 1911, 1874 in turn, so 1 bit; each passage alone: one answer, 0 bits.
        assert result.details["entropy_all"] == 1.0
        assert result.details["entropy_alone"] == [0.0, 0.0, 0.0]
        assert [score.responsibility for score in result.scores] == [1.0, 1.0, 1.0]
        assert result.details["repeats_all"] == 0.5
        assert result.details["repeats_none"] == 0.0
        assert result.details["repeats_alone"] == [1.0, 0.0, 0.0]
        assert [p.text for p in result.responsible] == [POISON]
        assert result.cause == "poisoning"

    def test_a_passage_that_leaves_the_model_unsure_scores_low(self):
        both = "Some say 1911, some say 1874."
        result = InfluenceScore(generate=Generator(), samples=4).attribute(
            QUERY, RESPONSE, retrieve_from(both, POISON)
        )
        # Together 1 bit; the first alone 1 bit, the second alone 0 bits.
        assert [score.responsibility for score in result.scores] == [0.0, 1.0]

    def test_calls_are_n_for_each_passage_for_all_and_for_none(self, chat_server):
        chat_server.reply = Generator()
        method = InfluenceScore(generate=chat_server.ask, samples=3, top_k=2)
        texts = (POISON, GENUINE, OFF_TOPIC)
        result = method.attribute(QUERY, RESPONSE, retrieve_from(*texts))
        assert result.scope_size == 2
        assert result.details["calls"] == 3 * (2 + 2) == len(chat_server.prompts)
        expected = [answer_prompt(QUERY, c) for c in ([*texts[:2]], [], [POISON], [GENUINE])]
        assert Counter(chat_server.prompts) == Counter(expected * 3)

    def test_whole_sentences_that_differ_in_one_word_are_told_apart(self):
        def generate(prompt):
            known = [year for year in ("1911", "1874") if year in prompt]
            return RESPONSE.replace("1911", known[0]) if len(known) == 1 else "unknown"

        result = InfluenceScore(generate=generate, samples=2).attribute(
            QUERY, RESPONSE, retrieve_from(GENUINE, POISON)
        )
        assert result.details["repeats_alone"] == [0.0, 1.0]

    def test_a_model_that_errs_unaided(self):
        method = InfluenceScore(generate=Generator(unaided="1911"), samples=4)
        result = method.attribute(QUERY, RESPONSE, retrieve_from(POISON, OFF_TOPIC))
        assert result.cause == "model"
        assert result.responsible == []

    def test_a_response_that_nothing_reproduces(self):
        method = InfluenceScore(generate=Generator(), samples=4)
        result = method.attribute(QUERY, "In 1950.", retrieve_from(POISON, GENUINE))
        assert result.cause == "unclear"
        assert result.responsible == []

    def test_nothing_is_retrieved(self):
        result = InfluenceScore(generate=Generator()).attribute(QUERY, RESPONSE, retrieve_from())
        assert (result.cause, result.scope_size, result.scores) == ("unclear", 0, [])
        assert result.details["calls"] == 0

    def test_an_equivalence_replaces_the_embedder(self):
        answers = itertools.cycle(["nineteen eleven", "1911"])
        lock = threading.Lock()

        def generate(prompt):
            with lock:
                return next(answers) if "1911" in prompt else "unknown"

        def equivalent(a, b):
            return all("1911" in text or "nineteen eleven" in text for text in (a, b))

        event = (QUERY, RESPONSE, retrieve_from(POISON))
        apart = InfluenceScore(generate=generate, samples=4).attribute(*event)
        joined = InfluenceScore(generate=generate, samples=4, equivalent=equivalent).attribute(
            *event
        )
        assert apart.details["entropy_alone"] == [1.0]
        assert joined.details["entropy_alone"] == [0.0]
        assert joined.details["repeats_alone"] == [1.0]

    def test_goes_through_json_and_back(self):
        result = InfluenceScore(generate=Generator()).attribute(
            QUERY, RESPONSE, retrieve_from(POISON, GENUINE, OFF_TOPIC)
        )
        assert result.responsible
        text = json.dumps(result.to_dict(), allow_nan=False)
        assert Attribution.from_dict(json.loads(text)) == result

    @pytest.mark.parametrize("texts", [(POISON, GENUINE, OFF_TOPIC), ("1911 or 1874",), ()])
    async def test_async_gives_the_same_answer(self, chat_server, texts):
        event = (QUERY, RESPONSE, retrieve_from(*texts))
        chat_server.reply = Generator()
        method = InfluenceScore(generate=chat_server.ask, samples=4)
        sync = await asyncio.to_thread(method.attribute, *event)
        chat_server.reply = Generator()
        assert await method.aattribute(*event) == sync

        plain = Generator()

        async def generate(prompt):
            await asyncio.sleep(0)
            return plain(prompt)

        assert await InfluenceScore(generate=generate, samples=4).aattribute(*event) == sync

    async def test_native_async_samples_run_at_once(self):
        meeting = asyncio.Barrier(6)

        async def generate(prompt):
            await meeting.wait()
            return "1911"

        method = InfluenceScore(generate=generate, samples=2, concurrency=6)
        result = await method.aattribute(QUERY, RESPONSE, retrieve_from(POISON))
        assert result.details["calls"] == 6


class TestBadInput:
    @pytest.mark.parametrize(
        "options",
        [{"samples": 1}, {"top_k": 0}, {"concurrency": 0}, {"similarity": 0.0}, {"similarity": 2}],
    )
    def test_numbers_out_of_range(self, options):
        with pytest.raises(InvalidInputError):
            InfluenceScore(generate=str.upper, **options)

    async def test_blank_query(self):
        method = InfluenceScore(generate=str.upper)
        with pytest.raises(InvalidInputError, match="query"):
            method.attribute(" ", RESPONSE, retrieve_from(POISON))
        with pytest.raises(InvalidInputError, match="query"):
            await method.aattribute(" ", RESPONSE, retrieve_from(POISON))

    async def test_a_silent_generator(self):
        method = InfluenceScore(generate=lambda prompt: "")
        with pytest.raises(GenerationError, match="no text"):
            await method.aattribute(QUERY, RESPONSE, retrieve_from(POISON))

    def test_lone_surrogates_can_be_sent(self):
        answer_prompt("q\ud800", ["p\udfff"]).encode("utf-8")
