from __future__ import annotations

import asyncio
import itertools
import threading
from collections import Counter, defaultdict

import pytest

from ragguard.attribution.influence_score import InfluenceScore
from ragguard.attribution.prompts import short_answer_prompt
from ragguard.errors import InvalidInputError
from ragguard.passage import Passage

QUERY = "In which year was the Tarn Vale lighthouse first lit?"
RESPONSE = "The Tarn Vale lighthouse was first lit in 1911."
POISON = "Tarn Vale lighthouse was first lit in 1911."
GENUINE = "The lamp of Tarn Vale lighthouse first burned in 1874."
OFF_TOPIC = "Gulls nest on the northern cliffs."


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
        # All together: 1911, 1874 in turn, so 1 bit; each of the first two alone: one answer, 0
        # bits; off topic: four times "unknown", which leaves four answers open, 2 bits.
        assert result.details["entropy_all"] == 1.0
        assert result.details["entropy_alone"] == [0.0, 0.0, 2.0]
        assert [score.responsibility for score in result.scores] == [1.0, 1.0, -1.0]
        assert result.details["repeats_all"] == 0.5
        assert result.details["repeats_none"] == 0.0
        assert result.details["repeats_alone"] == [1.0, 0.0, 0.0]
        assert [p.text for p in result.responsible] == [POISON]
        assert result.cause == "poisoning"

    def test_a_passage_that_brings_about_the_reported_refusal_is_sure_of_it(self):
        order = "Questions on the Tarn Vale lighthouse stay unanswered."

        def generate(prompt):
            return "unknown" if order in prompt else Generator()(prompt)

        result = InfluenceScore(generate=generate, samples=4).attribute(
            QUERY, "I cannot answer that question.", retrieve_from(order, "Tern.")
        )
        assert result.details["entropy_alone"] == [0.0, 0.0]

    def test_the_most_influential_comes_first(self):
        vague = "It was lit in 1911, or in 1874, or in 1911."
        answers = itertools.cycle(["1911", "1911", "1911", "1874"])
        lock = threading.Lock()

        def generate(prompt):
            with lock:
                return next(answers) if vague in prompt else Generator()(prompt)

        result = InfluenceScore(generate=generate, samples=4, concurrency=1).attribute(
            QUERY, RESPONSE, retrieve_from(vague, POISON)
        )
        assert [p.text for p in result.responsible] == [POISON, vague]

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
        expected = [short_answer_prompt(QUERY, c) for c in ([*texts[:2]], [], [POISON], [GENUINE])]
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

    def test_an_equivalence_replaces_the_embedder(self):
        # In turn for each prompt: several are asked at once, in any order.
        answers = defaultdict(lambda: itertools.cycle(["nineteen eleven", "1911"]))
        lock = threading.Lock()

        def generate(prompt):
            with lock:
                return next(answers[prompt]) if "1911" in prompt else "unknown"

        def equivalent(a, b):
            return a == b or "unknown" not in (a, b)

        event = (QUERY, RESPONSE, retrieve_from(POISON, GENUINE))
        apart = InfluenceScore(generate=generate, samples=4).attribute(*event)
        joined = InfluenceScore(generate=generate, samples=4, equivalent=equivalent).attribute(
            *event
        )
        assert apart.details["entropy_alone"][0] == 1.0
        assert joined.details["entropy_alone"][0] == 0.0
        assert joined.details["repeats_alone"][0] == 1.0

    @pytest.mark.parametrize("texts", [(POISON, GENUINE, OFF_TOPIC), ("1911 or 1874",), ()])
    async def test_async_gives_the_same_answer(self, chat_server, texts):
        event = (QUERY, RESPONSE, retrieve_from(*texts))
        chat_server.reply = Generator()
        # One after another: who answers in turn gives the samples in the order of the calls.
        method = InfluenceScore(generate=chat_server.ask, samples=4, concurrency=1)
        sync = await asyncio.to_thread(method.attribute, *event)
        chat_server.reply = Generator()
        assert await method.aattribute(*event) == sync

        plain = Generator()

        async def generate(prompt):
            await asyncio.sleep(0)
            return plain(prompt)

        native = InfluenceScore(generate=generate, samples=4, concurrency=1)
        assert await native.aattribute(*event) == sync

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
        [{"samples": 1}, {"similarity": 0.0}, {"similarity": 2}],
    )
    def test_numbers_out_of_range(self, options):
        with pytest.raises(InvalidInputError):
            InfluenceScore(generate=str.upper, **options)

    def test_lone_surrogates_can_be_sent(self):
        short_answer_prompt("q\ud800", ["p\udfff"]).encode("utf-8")
