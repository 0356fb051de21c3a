"""Attribution over passages that hold nothing, or vectors that mean nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragguard.attribution import InfluenceScore, RAGForensics, RAGOrigin
from ragguard.attribution.ragorigin.responsibility import embedding_similarity
from ragguard.embedding import CachedEmbedder, HashedEmbedder
from ragguard.errors import RagguardError
from ragguard.passage import Passage

QUESTION = "Who designed the Halden bridge?"
LIE = "Orla Venn"
BLANK = ["", " ", "\n\t", "\u3000", "\u2028"]
TEXTS = st.one_of(
    st.sampled_from([*BLANK, "\u200b", "\ud800", "\x00", "!!!", LIE, f"{QUESTION} {LIE}."]),
    st.text(max_size=40),
)
VECTORS = {
    "none": None,
    "zero": np.zeros(512, np.float32),
    "short": np.ones(3),
    "not a number": np.full(512, np.nan, np.float32),
    "huge": np.full(512, 3e38, np.float32),
    "matrix": np.ones((2, 256)),
    "empty": np.empty(0),
    "scalar": np.array(1.0),
}


def over(passages):
    return lambda query, limit: passages[:limit]


@pytest.mark.parametrize("texts", [[""], BLANK, [" "] * 30])
@pytest.mark.parametrize(
    "attributor",
    [
        RAGOrigin(),
        RAGForensics(judge=lambda prompt: "The label is [No]."),
        InfluenceScore(generate=lambda prompt: "I do not know."),
    ],
    ids=["ragorigin", "ragforensics", "influence_score"],
)
def test_blank_passages_are_to_blame_for_nothing(attributor, texts):
    found = attributor.attribute(QUESTION, LIE, over([Passage(text) for text in texts]))
    assert found.responsible == []
    assert found.cause != "poisoning"
    assert [score.embedding_similarity for score in found.scores] == [0.0] * found.scope_size


def test_blank_passages_are_like_no_question():
    passages = [Passage(""), Passage(" ")]
    embedder = CachedEmbedder(HashedEmbedder(8))
    assert embedding_similarity(embedder, QUESTION, passages).tolist() == [0.0, 0.0]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(TEXTS, st.sampled_from(sorted(VECTORS))), max_size=8),
    st.sampled_from([QUESTION, "?", "\u200b", "a" * 300]),
    st.sampled_from([LIE, "yes", "!", "I do not know."]),
)
def test_odd_passages_end_in_an_answer_or_in_an_error_of_ragguard(described, query, response):
    passages = [Passage(text, embedding=VECTORS[name]) for text, name in described]
    try:
        found = RAGOrigin().attribute(query, response, over(passages))
    except RagguardError:
        return
    assert found.scope_size == len(found.scores)
    for score in found.scores:
        assert -1.0 <= score.embedding_similarity <= 1.0
        assert np.isfinite(score.responsibility)
