"""Plug-ins that follow a paper: hand-computed cases of what each of them looks for."""

from random import Random

import numpy as np
import pytest

from benchmarks.attributors.self_rag import supports
from benchmarks.datasets import Dataset, Record
from benchmarks.defences import gmtp, ragsieve
from benchmarks.embedders import built_in, minilm_folder
from benchmarks.plugins import Case, Setting, find
from benchmarks.retrieval import RetrievedSet

QUESTION = "who built the pier at Halden"


def retrieved(texts):
    rows = built_in().embed(list(texts))
    nothing = np.zeros(len(texts), dtype=bool)
    return RetrievedSet(QUESTION, tuple(texts), rows, nothing, nothing)


def kept(defence, texts, k=5, clean=()):
    records = [Record(QUESTION, tuple(hits), frozenset(), {}) for hits in (*clean, texts)]
    data = Dataset("own", tuple(records[:-1]), split=False)
    judge, record = find("defences", defence).make(Setting(data, built_in(), k, 0)), records[-1]
    return judge(Case(record, retrieved(texts), k, None)).kept


# RAGSieve: of twenty passages five stand first

BELOW = [f"Herring is sold on day {number}." for number in range(15)]


def test_a_word_that_all_first_passages_share_and_none_below_is_the_strongest_evidence():
    first = ["Lark pier", "Lark town", "Lark gull", "Lark rope", "Lark tide"]
    found = ragsieve.scores(QUESTION, (*first, *BELOW), 5)
    # p = 1 / C(20, 5), which the scale makes 1; scripts tie, with p = 1 / 2 of at least 1 / 32
    assert found == pytest.approx([1.0 + 0.2] * 5)
    assert kept("ragsieve", [*first, *BELOW]) == (5, 6, 7, 8, 9)


def test_words_of_the_question_and_words_that_stand_everywhere_are_no_evidence():
    asked = ["pier built Halden", "the pier", "Halden pier", "built pier", "pier"]
    assert ragsieve.scores(QUESTION, (*asked, *BELOW), 5) == pytest.approx([0.2] * 5)
    alike = [f"Herring is sold on Monday {number}." for number in range(5)]
    assert kept("ragsieve", [*alike, *BELOW])[:2] == (5, 6)  # "Monday" stands in the first five
    alike = [f"Herring is sold on day {number}." for number in range(20, 25)]
    assert kept("ragsieve", [*alike, *BELOW]) == (0, 1, 2, 3, 4)


def test_letters_of_another_script_are_ranked_among_those_below():
    odd = ["p\u0456er \u0430nd", "gull", "rope", "tide", "town"]
    found = ragsieve.scores(QUESTION, (*odd, *BELOW), 5)
    assert found[0] == pytest.approx(1.0)  # above all fifteen: p = 1 / 32
    assert found[1:] == pytest.approx([0.2] * 4)


def test_without_passages_below_nothing_is_judged():
    assert kept("ragsieve", ["Lark", "Lark", "Lark"]) == (0, 1, 2)


# GMTP

FLUENT = (
    "The pier at Halden was built by Ann. Ann built the pier of wood, and Halden paid for the pier."
)
STUFFED = "pierbuiltqz haldenxv piervq builtzzy whohaldenq. Ann made it, and the town paid for it."


def test_key_words_that_nobody_expects_are_surprising():
    assert gmtp.surprise(QUESTION, STUFFED) > gmtp.surprise(QUESTION, FLUENT) + 5.0
    # Unlikely words that retrieval does not rest on are not looked at.
    behind = f"{FLUENT} Zqxv jjkw vvbq."
    assert gmtp.surprise(QUESTION, behind) == pytest.approx(
        gmtp.surprise(QUESTION, FLUENT), abs=0.5
    )
    assert gmtp.surprise(QUESTION, "") == 0.0


def test_what_rests_on_unlikely_words_is_dropped():
    clean = [[FLUENT, f"Herring is sold at the pier on day {n}."] for n in range(8)]
    assert kept("gmtp", [FLUENT, STUFFED], clean=clean) == (0,)


# Perplexity and norm: their limits are those of clean passages


def test_gibberish_is_perplexing_and_what_repeats_the_question_is_too_near():
    clean = [[FLUENT, f"Herring is sold at the market on day {n}."] for n in range(8)]
    gibberish = "xqzvw jjkxq vvqzx kxwqj zzqkx"
    for defence in ("perplexity_90", "perplexity_100"):
        assert kept(defence, ["Gulls eat the fish on the wall.", gibberish], clean=clean) == (0,)
    texts = ["Gulls eat the fish on the wall.", f"{QUESTION} {QUESTION}"]
    assert kept("embedding_norm", texts, clean=clean) == (0,)


# Self-RAG

TOLD = "The pier at Halden was built by Ann Lark. It is long."


def test_a_passage_supports_an_answer_that_one_of_its_sentences_gives():
    assert supports(QUESTION, TOLD, "Ann Lark")
    assert not supports(QUESTION, TOLD, "Bo Rix")
    assert not supports(QUESTION, "Ann Lark sells herring on Fridays.", "Ann Lark")
    assert not supports(QUESTION, "The pier at Halden is long. Ann Lark sells rope.", "Ann Lark")


# PoisonedRAG, white box


@pytest.mark.slow
def test_tokens_along_the_gradient_draw_a_text_nearer_to_the_question():
    pytest.importorskip("torch", reason="needs torch")
    if minilm_folder() is None:
        pytest.skip("needs all-MiniLM-L6-v2")
    from sentence_transformers import SentenceTransformer

    question = "later what was the name of the bell hung in the tower of the town on the island"
    text = (
        "In the history of harbours, unusual names are often given to bells. The records of the"
        " council show that the second one was called Old Margit after a mayor, and it still rings."
    )
    record = Record(question, (), frozenset(), {"poisonedrag": (text,)})
    attack = find("attacks", "poisonedrag_hotflip")
    (planted,) = attack.plant(record, 1, Random(0))
    assert planted.endswith(text)
    model = SentenceTransformer(str(minilm_folder()), device="cpu", local_files_only=True)
    asked, before, after = model.encode(
        [question, f"{question} {text}", planted], normalize_embeddings=True
    )
    assert asked @ after > asked @ before + 0.01
