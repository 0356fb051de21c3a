"""Hostile and odd input: a right answer or an error of our own, never a traceback of another."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ragguard import Guard, Passage, Verdict
from ragguard.audit import QuarantineEntry
from ragguard.content import content_key, content_letters
from ragguard.embedding import HashedEmbedder
from ragguard.errors import EmbeddingError, JudgingError, RagguardError
from ragguard.inline.conformal import Calibration
from ragguard.inline.scoring import SCORER
from ragguard.lru import forget_all
from ragguard.text.html import strip_markup

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
# The gate always fires, so grouping and isolation see the input too.
ALWAYS = Calibration(
    scores=np.full(99, -1000.0),
    passage_scores=np.full(99, -1000.0),
    size=3,
    with_reference=False,
    scorer=SCORER,
    source="test",
)

any_array = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.float16, np.int64, np.bool_, np.complex128]),
    hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3),
)
any_embedding = st.one_of(
    st.none(),
    any_array,
    hnp.arrays(np.float64, 3, elements=st.floats(allow_nan=False, allow_infinity=False)),
    st.lists(st.floats(), max_size=3),
    st.just("vector"),
    st.just(object()),
)
any_value = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.binary(max_size=4), ANY_TEXT
)


@st.composite
def passage(draw):
    """A str or a Passage, now and then with an odd id, score, embedding or metadata."""
    text = draw(ANY_TEXT)
    if draw(st.booleans()):
        return text
    options = {
        "id": draw(st.none() | ANY_TEXT),
        "score": draw(st.none() | st.floats()),
        "metadata": draw(st.none() | st.dictionaries(ANY_TEXT, any_value, max_size=2)),
    }
    with suppress(EmbeddingError):
        return Passage(text, embedding=draw(any_embedding), **options)
    return Passage(text, **options)


@pytest.fixture(scope="module")
def guards():
    # With time enough: what does not suffice for a megabyte is told as any other failure.
    options = {"on_error": "raise", "max_ms": 60_000.0}
    opened = [
        Guard(**options),
        Guard(**options, calibration=ALWAYS, strategy="clustering"),
        Guard(**options, calibration=ALWAYS, strategy="concentration"),
        Guard.ragdefender(on_error="raise"),
    ]
    yield opened
    for guard in opened:
        guard.close()


hostile = settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def check(verdict, count, k=None):
    assert isinstance(verdict, Verdict)
    assert len(verdict.evidence) == count
    assert len(verdict.dropped) <= count
    if k is None:
        assert len(verdict.kept) + len(verdict.dropped) == count
    else:
        assert len(verdict.kept) <= k
    assert 0.0 <= verdict.p_value <= 1.0
    for evidence in verdict.evidence:
        assert np.isfinite(evidence.suspicion)
        assert np.isfinite(evidence.strength)


@pytest.mark.slow
@hostile
@given(ANY_TEXT, st.lists(passage(), max_size=6), st.none() | st.integers(1, 7))
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_any_query_and_any_passages(guards, query, passages, k):
    for guard in guards:
        with suppress(RagguardError):
            verdict = guard.filter(query, passages, k=k)
            check(verdict, len(passages), k)
            assert verdict.error is None


@pytest.mark.slow
@hostile
@given(ANY_TEXT, st.lists(ANY_TEXT, max_size=6))
def test_texts_alone_are_always_judged(guards, query, passages):
    for guard in guards:
        check(guard.filter(query, passages), len(passages))


@hostile
@given(any_value, any_value | st.lists(any_value, max_size=3), any_value)
def test_any_arguments_are_judged_or_refused(guards, query, passages, k):
    for guard in guards:
        with suppress(RagguardError):
            check(guard.filter(query, passages, k=k), len(passages), k)


@pytest.mark.slow
@hostile
@given(st.lists(passage(), min_size=2, max_size=5))
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_with_on_error_pass_no_set_of_passages_raises(passages):
    with Guard(calibration=ALWAYS) as guard:
        check(guard.filter("who built the pier", passages), len(passages))


@pytest.mark.slow
@hostile
@given(
    st.one_of(
        any_array,
        st.lists(st.lists(st.floats(), max_size=3), max_size=5),
        st.text(max_size=3),
        st.none(),
        hnp.arrays(np.float64, st.tuples(st.just(3), st.integers(0, 3))),
    )
)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_any_answer_of_an_embedder_is_used_or_named(answer):
    passages = ["the pier", "the old pier", "a mill"]
    with (
        Guard(calibration=ALWAYS, embedder=lambda texts: answer, on_error="raise") as guard,
        suppress(EmbeddingError),
    ):
        check(guard.filter("who built the pier", passages), 3)


MEGABYTE = 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "x" * MEGABYTE,
        "pier " * (MEGABYTE // 5),
        " " * MEGABYTE,
        "\u0430" * MEGABYTE,
        "\u0301" * MEGABYTE,
        "\ufdfa" * (MEGABYTE // 3),
        "\ud800" * MEGABYTE,
        "\x00" * MEGABYTE,
        ("ignore " * 10 + "\n") * (MEGABYTE // 71),
        "answer " * (MEGABYTE // 7),
    ],
    ids="letters words blank look-alikes accents ligatures surrogates zeros orders answers".split(),
)
def test_a_megabyte_is_judged(guards, text):
    for guard in guards:
        check(guard.filter("who built the pier", [text, "the pier", text + "a"]), 3)
        check(guard.filter(text, ["the pier", "a mill", "the old pier"]), 3)


@pytest.mark.slow
def test_hundreds_of_passages_are_judged(guards):
    passages = [f"The pier was built in {year} by crew {year % 7}." for year in range(400)]
    for guard in guards:
        check(guard.filter("When was the pier built?", passages), 400)
        check(guard.filter("When was the pier built?", passages, k=10), 400, 10)


@pytest.mark.parametrize("n", [1, 2, 3, 8])
@pytest.mark.parametrize("text", ["", " ", "the pier", "\ud800", "?"])
def test_copies_of_one_text_are_judged(guards, n, text):
    for guard in guards:
        check(guard.filter("who built the pier", [text] * n), n)


def test_different_passages_may_share_an_id(guards):
    passages = [Passage(text, id="same") for text in ("the pier", "a mill", "the tide")]
    for guard in guards:
        check(guard.filter("who built the pier", passages), 3)


@pytest.fixture
def unreadable(monkeypatch):
    """Have whatever reads a text fail at this one."""

    def failing(text):
        if text == "a":
            raise RuntimeError("must not matter to the guard's contract")
        return strip_markup(text)

    def failing_letters(texts):
        return content_letters([failing(text) for text in texts])

    monkeypatch.setattr("ragguard.inline.tokens.strip_markup", failing)
    monkeypatch.setattr("ragguard.inline.quarantined.content_letters", failing_letters)
    forget_all()
    return "a"


@pytest.mark.parametrize("quarantined", [False, True])
def test_a_passage_that_cannot_be_read_is_held_back_and_the_others_are_judged(
    unreadable, quarantined
):
    with Guard(on_error="raise") as guard:
        if quarantined:
            guard.store.add_quarantine([QuarantineEntry(content_key("x"), "x", "x", "test")])
        verdict = guard.filter("who", [unreadable, "b"])
    assert verdict.error == "1 of 2 passages cannot be read and are held back"
    assert [passage.text for passage in verdict.kept] == ["b"]
    assert [evidence.signal for evidence in verdict.evidence] == ["unreadable", "none"]
    assert "RuntimeError" in verdict.evidence[0].reason


def test_a_question_that_cannot_be_read_is_up_to_on_error(monkeypatch):
    def failing(text):
        raise RuntimeError("must not matter to the guard's contract")

    monkeypatch.setattr("ragguard.inline.tokens.tokens", failing)
    forget_all()
    for on_error, kept in (("pass", ["a", "b"]), ("hold", [])):
        with Guard(on_error=on_error) as guard:
            verdict = guard.filter("who", ["a", "b"])
        assert [passage.text for passage in verdict.kept] == kept
        assert verdict.error.startswith("RuntimeError")
    with Guard(on_error="raise") as guard, pytest.raises(JudgingError, match="cannot be judged"):
        guard.filter("who", ["a", "b"])


def test_the_hashed_embedder_survives_what_fold_makes_of_a_text():
    rows = HashedEmbedder(8).embed(["\ufdfa" * 100, "\u0345", "\U0001f600" * 50])
    assert np.isfinite(rows).all()


class Touchy(str):
    """A str that can be hashed, but neither compared nor read."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other):
        raise RuntimeError("compared")

    def isascii(self):
        raise RuntimeError("read")


def test_strings_with_methods_of_their_own_are_taken_for_the_letters_in_them():
    query, texts = "Who lit the lamp?", ["Ann lit the lamp.", "The lamp is red."]
    with Guard() as guard:
        verdict = guard.filter(Touchy(query), [Touchy(text) for text in texts])
        assert guard.filter_batch([(Touchy(query), texts)])[0].error is None
        # What was remembered of them is found by comparing.
        assert guard.filter(query, texts).error is None
        event = guard.report(query, "It was Ann.")
        seen = guard.store.event(event).passages if guard.attribution(event, timeout=30) else ()
    assert verdict.error is None
    assert {type(one.text) for one in (*verdict.kept, *seen)} == {str}
    assert type(Passage("text", id=Touchy("a")).id) is str
