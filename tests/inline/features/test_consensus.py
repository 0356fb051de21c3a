"""Agreement: several passages that say one thing more than the question, and little else."""

from math import exp

import pytest
import slow_signals
from hypothesis import given, settings
from hypothesis import strategies as st

from ragguard.inline.features import SIGNALS, signal_matrix
from ragguard.inline.features.consensus import names
from ragguard.inline.scoring import suspicions
from ragguard.inline.tokens import tokenize_passage, tokenize_query
from ragguard.text import MAX_CHARS

QUESTION = "Which keeper lit the Marrow lamp?"
# Each holds the four content words; beside them, in this order, 3, 4 and 6 others with "ann".
PLANTED = [
    "It was Ann who lit the Marrow lamp as its keeper at dusk, daily.",
    "The Marrow lamp had one keeper. Every night Ann climbed up and lit it.",
    "A keeper of old lit the lamp by hand. In Marrow people know that this keeper was called Ann.",
]
QUIET = ["Wool was sold on Mondays.", "A mill stood by the ford."]

# Few words, some of them names and some the question's, so that passages agree.
words = st.sampled_from("keeper lit the Marrow lamp Ann Bob 1874 wool sand tide It of".split())
sentences = st.lists(words, min_size=3, max_size=12).map(" ".join)
sets = st.lists(
    st.one_of(
        sentences, st.sampled_from(PLANTED), sentences.map(lambda some: f"{QUESTION} {some}")
    ),
    min_size=1,
    max_size=8,
)


def consensus(passages, k=None, question=QUESTION):
    """Return the signal of the first k passages."""
    read = [tokenize_passage(text) for text in passages]
    matrix = signal_matrix(tokenize_query(question), read, len(read) if k is None else k)
    return matrix[:, SIGNALS.index("consensus")].tolist()


def test_three_texts_that_state_the_same_by_hand():
    # "Every" begins a sentence and so reads as a name; one name is free.
    others = [{"ann", "dusk", "daily"}, {"one", "every", "night", "ann", "climbed"}]
    others += [{"old", "hand", "people", "know", "called", "ann"}]
    values = [exp(-0.06), exp(-0.10 - 0.25), exp(-0.12)]
    for text, beside, value in zip(PLANTED, others, values, strict=True):
        said = tokenize_passage(text).sequence
        asked = tokenize_query(QUESTION).sequence
        assert slow_signals.beside_the_question(asked, said) == beside
        weights = slow_signals.weights_of(asked, [said])
        assert slow_signals.value_of(asked, said, text, weights) == pytest.approx(value)
    third = min(values)
    assert consensus(PLANTED + QUIET) == pytest.approx([third, third, third, 0.0, 0.0])
    assert consensus(PLANTED) == pytest.approx([third] * 3)


def test_two_texts_are_too_few():
    assert not any(consensus(PLANTED[:2] + QUIET))
    # And so are three that have no word in common but those of the question.
    assert not any(consensus([PLANTED[0].replace("Ann", "Bob"), *PLANTED[1:], *QUIET]))


def test_copies_of_a_page_count_once_and_get_what_it_gets():
    copy = f"{PLANTED[0]} Yes."
    assert not any(consensus([*PLANTED[:2], copy, PLANTED[0], *QUIET]))
    seen = consensus([*PLANTED, copy, *QUIET])
    assert seen[3] == pytest.approx(seen[0]) != 0.0


def test_what_the_passages_below_hold_as_well_says_less():
    third = consensus(PLANTED + QUIET)[0]
    for holding in range(5):
        below = ["Ann sold wool."] * holding + ["Sand."] * (4 - holding)
        assert consensus([*PLANTED, *below], 3) == pytest.approx([third * (1 - holding / 4)] * 3)


def test_where_every_page_is_short_and_plain_agreement_says_less():
    plain = "The keeper lit the Marrow lamp."
    third = consensus(PLANTED + QUIET)[0]
    # It holds all of the question and nothing else: value 1; the mill has none.
    assert consensus([*PLANTED, plain, QUIET[1]])[0] == pytest.approx(third - 0.5)
    assert consensus([*PLANTED, QUIET[1], plain], 3)[0] == pytest.approx(third - 0.5)
    assert not any(consensus([*PLANTED, plain]))


def test_a_page_that_names_much_else_is_less_suspicious_than_the_others_or_not_at_all():
    named = "In 1874 Ann, Bob, Eve, Tom and Kim, each a keeper, lit the Marrow lamp."
    seen = consensus([*PLANTED, named, *QUIET])
    assert 0.0 < seen[3] < seen[0]
    many = f"{named} Ada, Ben, Cal, Dan, Eli, Fay, Gil, Hal and Ian saw it."
    assert consensus([*PLANTED, many, *QUIET])[3] == 0.0


def test_without_capitals_nothing_is_told():
    assert not any(consensus([text.lower() for text in PLANTED] + QUIET))
    assert not any(consensus([text.upper() + " UND NOCH EIN PAAR WORTE" for text in PLANTED]))


def test_of_a_short_question_every_page_holds_all():
    short = "Is Marrow cold in winter?"
    texts = [
        "Marrow is cold in winter, says Ann.",
        "Nobody but Ann finds the town of Marrow cold in winter.",
        "As Ann wrote from there, winter was cold at Marrow that year.",
    ]
    third = min(exp(-0.02 * 2), exp(-0.02 * 4 - 0.25), exp(-0.02 * 3))
    assert consensus(texts, question=short)[0] == pytest.approx((3 / 4) ** 3 * third)
    # An eighth of what two words say is nothing.
    assert not any(consensus(texts, question="Is Marrow cold?"))


def test_it_alone_can_make_a_set_suspicious():
    read = [tokenize_passage(text) for text in PLANTED + QUIET]
    matrix = signal_matrix(tokenize_query(QUESTION), read, len(read))
    spoken = suspicions(matrix)
    matrix[:, SIGNALS.index("consensus")] = 0.0
    assert (spoken[:3] > suspicions(matrix)[:3]).all()
    assert (spoken[3:] == suspicions(matrix)[3:]).all()


@pytest.mark.slow
@settings(max_examples=300)
@given(sets, st.data())
def test_it_equals_its_slow_reference(texts, data):
    k = data.draw(st.integers(1, len(texts)))
    assert consensus(texts, k) == pytest.approx(
        slow_signals.consensus(QUESTION, texts, k), abs=1e-12
    )


@given(sets, st.randoms(use_true_random=False), st.data())
def test_it_does_not_depend_on_the_order_of_judged_passages(texts, random, data):
    k = data.draw(st.integers(1, len(texts)))
    order = list(range(k))
    random.shuffle(order)
    before, after = consensus(texts, k), consensus([*(texts[at] for at in order), *texts[k:]], k)
    assert after == [before[at] for at in order]


@given(sets)
def test_it_is_a_share_and_none_of_fewer_than_three(texts):
    seen = consensus(texts)
    assert all(0.0 <= value <= 1.0 for value in seen)
    if len(texts) < 3:
        assert not any(seen)


def test_names_by_hand():
    assert names("In 1874 McLeod met \u00c9lodie at 4th Street, says bob.") == {
        *("1874", "mcleod", "elodie", "4th", "street")
    }
    assert names("in 1874 bob met eve") is None
    assert names("") is None
    # A script without capitals: a Latin name beside it says that the text has capitals.
    assert names("\u5317\u4eac Ann \u6771\u4eac") == {"\u5317\u4eac", "ann", "\u6771\u4eac"}
    assert names("\u5317\u4eac") is None


def test_names_are_read_in_the_part_of_a_text_that_is_read():
    assert names("Ann " + "wool " * MAX_CHARS + "Bob") == {"ann"}


@given(st.text(max_size=40))
def test_names_of_any_text_are_its_words(text):
    found = names(text)
    assert found is None or found <= set(tokenize_passage(text).sequence) | set(
        slow_signals.names_of(text)
    )
    assert found == (None if (slow := slow_signals.names_of(text)) is None else set(slow))
