from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.demo.corpus import load_corpus
from ragguard.errors import InvalidInputError
from ragguard.proxy.prompt import PromptEncoder, PromptFormat
from ragguard.proxy.training.corpus import Corpus, Reading, read_corpora
from ragguard.proxy.training.examples import Example, ExampleSource, cloze, fresh, said_twice
from ragguard.proxy.training.loop import learning_rate
from ragguard.proxy.training.packing import NO_PROMPT, pack

PASSAGES = tuple(passage.text for passage in load_corpus().passages)
READING = Reading("It was Ada Byron who found the moss.", "Who found it?", ("Ada Byron",))


class TestCorpus:
    def test_reads_both_kinds_and_leaves_blank_ones_out(self, tmp_path):
        path = tmp_path / "corpus.jsonl"
        path.write_text(
            '{"id": 1, "text": "A passage."}\n\n{"text": "  "}\n'
            '{"context": "c", "question": "q?", "answers": ["a", " "]}\n'
            '{"context": "c", "question": "q?", "answers": []}\n',
            encoding="utf-8",
        )
        corpus = read_corpora([path, path])
        assert corpus.passages == ("A passage.",) * 2
        assert corpus.readings == (Reading("c", "q?", ("a",)),) * 2
        assert [(s["name"], s["records"]) for s in corpus.sources] == [("corpus.jsonl", 2)] * 2
        assert re.fullmatch("[0-9a-f]{64}", corpus.sources[0]["sha256"])

    @pytest.mark.parametrize(
        "line",
        ['"text"', "{}", '{"text": 3}', '{"context": "c", "question": "q", "answers": [3]}'],
    )
    def test_a_bad_line_is_named(self, line, tmp_path):
        path = tmp_path / "corpus.jsonl"
        path.write_text('{"text": "fine"}\n' + line, encoding="utf-8")
        with pytest.raises(InvalidInputError, match=r"corpus\.jsonl:2: expected an object"):
            read_corpora([path])

    def test_every_25th_record_is_kept_back(self):
        kept, held = Corpus((), tuple(map(str, range(60)))).split()
        assert held.passages == ("0", "25", "50")
        assert set(kept.passages) | set(held.passages) == set(map(str, range(60)))
        assert len(kept.passages) == 57
        with pytest.raises(InvalidInputError, match="at least 50"):
            Corpus((), ("a",) * 49).split()


class TestFresh:
    @given(st.integers(0, 10**6), st.sampled_from(["1874", "3,914.5", "7", "Ada", "Ada de Byron"]))
    def test_has_the_form_of_what_it_replaces(self, seed, like):
        made = fresh(like, Random(seed))
        if like[0].isdigit():
            assert re.sub(r"\d", "0", made) == re.sub(r"\d", "0", like)
            assert made[0] != "0"
        else:
            assert len(made.split()) == len(like.split())
            assert made.istitle()


class TestCloze:
    @given(st.integers(0, 10**6))
    def test_the_answer_is_in_the_context_and_not_in_the_question(self, seed):
        rng = Random(seed)
        passage = rng.choice(PASSAGES)
        example = cloze(passage, rng)
        if example is not None:
            assert example.answer in example.context
            assert example.answer not in example.question
            assert example.answer not in passage
            assert example.question.endswith("?")

    def test_a_sentence_with_one_name(self):
        example = cloze("The moss was found by Ines Varga.", Random(0))
        assert example is not None
        assert example.context == f"The moss was found by {example.answer}."
        assert "Ines" not in example.question

    @pytest.mark.parametrize(
        "text",
        ["", "  ", "nothing here has a name.", "Capital only first.", "see 1 2 3 4 5 6 7 8 9"],
    )
    def test_none_where_nothing_new_can_be_asked(self, text):
        assert cloze(text, Random(0)) is None


class TestSaidTwice:
    @given(st.integers(0, 10**6), st.integers(8, 40))
    def test_the_answer_goes_on_where_the_question_ends(self, seed, count):
        words = [f"w{number}" for number in range(count)]
        example = said_twice(words, Random(seed))
        context = example.context.split()
        assert sorted(context[:count]) == sorted(words)
        asked = f"{example.question} {example.answer}"
        assert f" {asked} " in f" {' '.join(context[:count])} "
        assert len(example.question.split()) == 3
        again = context[count:]
        assert len(again) >= 4
        assert f" {' '.join(again)} " in f" {' '.join(context[:count])} "


class TestExampleSource:
    def test_is_decided_by_the_random_numbers(self):
        source = ExampleSource(Corpus((READING,), PASSAGES))
        drawn = [[source.draw(rng) for _ in range(30)] for rng in (Random(1), Random(1))]
        assert drawn[0] == drawn[1]
        assert len(set(drawn[0])) > 20

    def test_most_contexts_hold_the_answer_and_some_do_not(self):
        source = ExampleSource(Corpus((), PASSAGES))
        rng = Random(0)
        examples = [source.draw(rng) for _ in range(600)]
        share = np.mean([example.answer in example.context for example in examples])
        # Nine in ten are of texts, and a tenth of these is meant to have an unrelated text alone;
        # one in four of them stands in a sentence.
        assert 0.6 < share < 0.76

    def test_exercises_grow_fewer(self):
        source = ExampleSource(Corpus((READING,), PASSAGES))

        def lists(progress):
            rng = Random(0)
            drawn = [source.draw(rng, progress).question for _ in range(400)]
            return np.mean([question.startswith("What is ") for question in drawn])

        # Seven in ten exercises are lists: 0.42 of all at first, 0.07 at last.
        assert lists(0.0) == pytest.approx(0.42, abs=0.06)
        assert lists(1.0) == pytest.approx(0.07, abs=0.04)

    def test_some_answers_stand_in_a_sentence(self):
        source = ExampleSource(Corpus((READING,), ()))
        rng = Random(0)
        answers = {source.draw(rng).answer for _ in range(400)}
        assert {"Ada Byron", "It is Ada Byron.", "The answer is Ada Byron."} <= answers

    def test_names_of_records_are_replaced_in_context_and_answer(self):
        source = ExampleSource(Corpus((READING,), ()))
        rng = Random(0)
        examples = [source.draw(rng) for _ in range(300)]
        answers = {e.answer for e in examples if e.question == READING.question}
        assert "Ada Byron" in answers
        assert len(answers) > 20
        swapped = [e for e in examples if e.context.startswith(f"It was {e.answer} who")]
        assert len({e.answer for e in swapped}) > 10

    def test_a_corpus_without_names_still_teaches_copying(self):
        source = ExampleSource(Corpus((), ("\u82d4\u306f\u5c4b\u6839\u306b\u751f\u3048\u308b",)))
        rng = Random(0)
        assert any(e.answer in e.context for e in (source.draw(rng) for _ in range(5)))


class TestPack:
    @pytest.fixture
    def encoder(self, tokenizer_with_begin):
        return PromptEncoder(tokenizer_with_begin, PromptFormat(), 96)

    def test_every_prompt_is_the_one_that_will_be_scored(self, encoder, tokenizer_with_begin):
        source = ExampleSource(Corpus((), ("The moss of Pell was found by Ines Varga.",)))
        drawn: list[Example] = []

        def draw(rng):
            drawn.append(source.draw(rng))
            return drawn[-1]

        batch = pack(draw, encoder, 3, 96, Random(0))
        number = 0
        for row in range(3):
            for prompt in range(batch.prompts[row].max() + 1):
                here = batch.prompts[row] == prompt
                example = drawn[number]
                expected = encoder.encode([example.context], example.question, example.answer)
                while len(expected.rows[0]) > 96 or not np.array_equal(
                    batch.tokens[row, here], expected.rows[0]
                ):
                    number += 1  # an example that did not fit is not used in the next row either
                    example = drawn[number]
                    expected = encoder.encode([example.context], example.question, example.answer)
                length = here.sum()
                assert batch.positions[row, here].tolist() == list(range(length))
                for mask, at in (
                    (batch.query, expected.query),
                    (batch.response, expected.response),
                ):
                    assert np.flatnonzero(mask[row, here]).tolist() == (length + at).tolist()
                number += 1
        padding = batch.prompts == NO_PROMPT
        assert not (batch.query | batch.response)[padding].any()
        assert not (batch.query & batch.response).any()

    def test_a_share_of_the_other_tokens_is_to_be_predicted_too(self, encoder):
        source = ExampleSource(Corpus((), PASSAGES))
        batches = [pack(source.draw, encoder, 40, 96, Random(1), share) for share in (0, 0.25, 1)]
        none, some, every = (batch.context for batch in batches)
        assert np.array_equal(batches[0].tokens, batches[2].tokens)
        scored = batches[2].query | batches[2].response
        assert not none.any()
        assert np.array_equal(every, (batches[2].positions > 0) & ~scored)
        assert some.sum() == pytest.approx(0.25 * every.sum(), rel=0.15)
        assert not (some & ~every).any()

    def test_a_prompt_longer_than_a_row_is_passed_over(self, encoder):
        drawn = iter([Example("moss " * 40, "Who?", "Ines"), *[Example("Pell", "Who?", "I")] * 9])
        batch = pack(lambda rng: next(drawn), encoder, 1, 64, Random(0))
        alone = encoder.encode(["Pell"], "Who?", "I").rows[0]
        assert batch.tokens[0, : len(alone)].tolist() == alone.tolist()

    def test_an_example_longer_than_a_row_is_passed_over(self, encoder):
        endless = Example("c", "why " * 200, "a")
        rng = Random(0)
        batch = pack(
            lambda r: endless if r.random() < 0.5 else Example("Pell", "Who?", "Ines"),
            encoder, 2, 96, rng,
        )  # fmt: skip
        assert batch.response.any(axis=1).all()


def test_learning_rate_rises_and_falls_within_its_bounds():
    rates = [learning_rate(step, 200, 2.0) for step in range(200)]
    assert rates[29] == 2.0
    assert rates[:30] == sorted(rates[:30])
    assert rates[30:] == sorted(rates[30:], reverse=True)
    assert 0.04 < rates[-1] < 0.041
