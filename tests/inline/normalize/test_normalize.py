"""What a passage means by its words: by hand, by a slow reference, and on any text at all."""

import pytest
import slow_normalize
from hypothesis import example, given, settings
from hypothesis import strategies as st
from slow_signals import asking_of, asks_much

from ragguard.inline.normalize import normalized
from ragguard.inline.normalize.alignment import dice_similar
from ragguard.inline.tokens import tokenize_passage, tokenize_query
from ragguard.text import MOST_CHARS

QUERY = tokenize_query("Who built the lighthouse of Skerrin harbour?")
ASKED = "who built the lighthouse of skerrin harbour"


def read(text, query=QUERY):
    """What a passage is read as by the question above."""
    passage = tokenize_passage(text)
    (meant,) = normalized(query, [passage])
    assert meant.distinct == frozenset(meant.sequence)
    return " ".join(meant.sequence)


# Other gaps


@pytest.mark.parametrize(
    "written",
    [
        "Whobuiltthelighthouseof Skerrinharbour",
        "WhoBuiltTheLighthouseOfSkerrinHarbour?",
        "w h o  b u i l t  t h e  l i g h t h o u s e  o f  s k e r r i n  h a r b o u r",
        "w-h-o b-u-i-l-t t-h-e l-i-g-h-t-h-o-u-s-e o-f s-k-e-r-r-i-n h-a-r-b-o-u-r",
        "w.h.o.b.u.i.l.t.t.h.e.l.i.g.h.t.h.o.u.s.e.o.f.s.k.e.r.r.i.n.h.a.r.b.o.u.r",
        "Who built the light-house of Sker\u00b7rin har bour",
        "Who\u3164built\u3164the\u3164lighthouse\u3164of\u3164Skerrin\u3164harbour",
        "&#87;&#104;&#111; built the lighthouse of Skerrin harb<b>our</b>",
    ],
)
def test_a_question_with_other_gaps_is_read_as_the_question(written):
    assert read(f"{written}. Ann did.") == f"{ASKED} ann did"
    assert read(f"Ann did. {written}") == f"ann did {ASKED}"


def test_what_stands_in_one_word_with_the_question_stays_beside_it():
    text = "AnnsaysWhobuilt the lighthouseof SkerrinharbourIdo not know"
    assert read(text) == f"annsays {ASKED} ido not know"


def test_a_short_question_is_not_looked_for_between_letters():
    # Eleven letters, and two words.
    assert read("isitopenyet", tokenize_query("is it open yet")) == "isitopenyet"
    assert read("lighthouseharbour", tokenize_query("lighthouse harbour")) == "lighthouseharbour"
    assert read("wasitopenyet", tokenize_query("was it open yet")) == "was it open yet"


def test_a_question_in_its_own_words_is_left_alone():
    passage = tokenize_passage(f"Ann says: {ASKED}. {ASKED.replace(' ', '')}")
    assert normalized(QUERY, [passage])[0] is passage


# Signs for letters


def test_signs_are_read_as_letters_where_the_question_appears_so():
    text = "Wh0 bu!l+ the l!gh+hou$e of $kerr|n h@rbour? Ann, for $5."
    assert read(text).startswith("who built the lighthouse of skerr")
    assert read("Wh0 bui1t the 1ighth0use 0f $kerrin h@rbour? Ann.") == f"{ASKED} ann"


@pytest.mark.parametrize(
    "text",
    [
        "Ann took $500 for it, ann@skerrin.example",
        "It was built by A$AP",
        "ann@x.example built it!",
    ],
)
def test_signs_are_signs_where_no_more_of_the_question_appears(text):
    passage = tokenize_passage(text)
    assert normalized(QUERY, [passage])[0] is passage


def test_signs_do_not_hide_a_question_that_stands_there():
    text = " ".join(f"{word}$" for word in ASKED.split()) + " h@rbour" * 9
    assert read(text).startswith(ASKED)


def test_of_a_very_long_text_with_signs_both_ends_are_read():
    query = tokenize_query("was the harbour wool")
    text = "w@s the h@rbour wool " + "x " * MOST_CHARS + "the end"
    assert read(text, query).startswith("was the harbour wool x x")


# A word between every two


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("who x built y the z lighthouse a of b skerrin c harbour d", f"{ASKED} x y z a b c d"),
        ("1 who 2 built 3 the 4 lighthouse 5 of 6 skerrin 7 harbour ann", None),
        (
            "so ann who x built y the z lighthouse a of b skerrin c harbour",
            f"so ann x y z a b c {ASKED}",
        ),
        ("who built x the lighthouse y of z skerrin harbour ann", f"{ASKED} x y z ann"),
        ("so ann who built x the lighthouse of skerrin y harbour", f"so ann x y {ASKED}"),
        # "the" may be the question's or stand between: it is whichever lets the question be read.
        (
            "who built the the x lighthouse of skerrin harbour ann",
            f"{ASKED} the x ann",
        ),
        ("w who x built y the z lighthouse a of b skerrin c harbour d", f"{ASKED} w x y z a b c d"),
    ],
)
def test_a_question_with_a_word_behind_each_is_read_as_the_question(text, meant):
    assert read(text) == (meant or f"1 {ASKED} 2 3 4 5 6 7 ann")


@pytest.mark.parametrize(
    "written",
    [
        "[00:01] Who built\n[00:02] the lighthouse\n[00:03] of Skerrin harbour?\n[00:04]",
        "1 Who built the lighthouse 00:00:03,000 --> 00:00:07,000 of Skerrin harbour?",
        "3:16 Who built 3:17 the lighthouse of 3:18 Skerrin harbour?",
    ],
)
def test_numbers_between_the_words_of_the_question_stand_behind_it(written):
    assert f" {ASKED} " in f" {read(f'{written} Ann did.')}"
    assert f" {ASKED}" in read(f"Ann did, as we know. {written}")


def test_numbers_stay_where_the_question_does_not_stand_between_them():
    text = "who built of skerrin harbour 12 00 the lighthouse ann in 1874"
    assert read(text) == text
    numbered = tokenize_query("who won race 7 in 1874")
    said = "00 01 who won race 7 00 02 in 1874 ann"
    assert read(said, numbered) == "00 01 who won race 7 in 1874 00 02 ann"


@pytest.mark.parametrize("between", ["y", "y y y", "y " * 10])
def test_words_between_are_looked_for_in_the_middle(between):
    begun = "ann did not say who built"
    text = f"{begun} {between} the lighthouse of skerrin harbour by the sea so"
    assert read(text) == f"ann did not say {ASKED} {between.strip()} by the sea so"
    text = text.replace(between, "y " * 11)
    assert read(text) == " ".join(text.split())


def test_of_what_asks_little_or_nothing_no_words_between_are_looked_for_in_the_middle():
    for question in ("who built the pier", "lighthouse keepers built skerrin harbour pier"):
        said = f"ann did so {question.replace(' built', ' x built y')} by the sea it is said"
        assert read(said, tokenize_query(question)) == said


def test_where_the_question_s_own_words_stand_between_one_gap_is_not_enough():
    asked = tokenize_query("who won this year s peace prize in Skerrin")
    said = "so who won the peace prize quartz this year s peace prize in skerrin"
    assert read(said, asked) == said
    parted = said.replace("year s", "year and s")
    assert " who won this year s peace prize in skerrin " in f" {read(parted, asked)} "


def test_of_what_names_something_no_words_between_are_looked_for():
    name, said = tokenize_query("tallest tower Skerrin"), "the tallest tower in skerrin is old"
    assert name.names
    assert read(said, name) == said
    asked = tokenize_query("who owns tallest tower Skerrin")
    assert not asked.names
    said = "who owns the tallest tower in skerrin ann does"
    assert read(said, asked) == "who owns tallest tower skerrin the in ann does"


def test_of_a_few_key_words_with_a_question_mark_no_words_between_are_looked_for():
    said = "the tallest tower in skerrin is old"
    for asked, meant in (("tallest tower skerrin?", said), ("¿torre vieja de Skerrin?", None)):
        query = tokenize_query(asked)
        assert not query.names
        assert not query.asking
        assert read(meant or said, query) == (meant or said)
    spanish = tokenize_query("¿quién construyó la torre vieja de Skerrin?")
    written = "quién construyó la x torre vieja y de skerrin ann"
    assert " ".join(spanish.sequence) in read(written, spanish)


def test_a_word_that_asks_may_stand_in_front_of_what_repeats_the_rest():
    asked = tokenize_query("what if Ann had not built the pier")
    said = "what a question if ann had not built the pier it would be gone by now"
    assert read(f"oh dear me {said}", asked) == f"oh dear me {said}"


@pytest.mark.parametrize(
    "note",
    [
        *("(Smith 2004)", "[see below, p. 3]", "Smith 2004", "\uff08\u6ce8\uff09"),
        f"({'as we said ' * 30})",
    ],
)
def test_notes_between_the_words_of_the_question_are_left_out_or_stand_behind_it(note):
    written = f"Who built {note} the lighthouse {note} of Skerrin {note} harbour?"
    assert read(f"{written} Ann did.").startswith(f"{ASKED} ")
    assert read(f"{written} Ann did.").endswith(" ann did")
    assert read(f"Ann did. {written}").endswith(f" {ASKED}")


def test_what_stands_in_brackets_stays_where_the_question_does_not_stand_around_it():
    text = "who built (the sea) and (the land) the lighthouse (to) skerrin harbour of ann did so"
    assert read(text) == " ".join(tokenize_passage(text).sequence)


@pytest.mark.parametrize(
    "note",
    [
        *("[sic]", "(r)", "[3]", "{{x}}", "[b][/b]", "<i></i>", "<x-1>", "<nowiki/>", "<!-- -->"),
        *(
            "[as it is written in our books]",
            "<!-- a soft break that a layout engine has added -->",
        ),
    ],
)
def test_notes_and_tags_within_the_words_of_the_question_are_left_out(note):
    written = f"Who bu{note}ilt the lighthouse of Sker{note}rin har{note}bour"
    assert f" {ASKED} " in f" {read(f'{written}? Ann did.')} "
    assert f" {ASKED} " in f" {read(f'Ann did so. {written}? It was in May.')} "


@pytest.mark.parametrize("note", ["()", "[]", "<>"])
def test_words_in_brackets_without_gaps_are_words(note):
    first, last = note
    words = ASKED.split()
    written = "".join(f"{first}{word}{last}" if at % 2 else word for at, word in enumerate(words))
    assert f" {ASKED} " in f" {read(f'{written}. Ann did.')} "


# In two pieces


@pytest.mark.parametrize(
    "text",
    [
        "lighthouse of skerrin harbour who built the ann did it",
        "the lighthouse of skerrin harbour who built ann did it",
        "who built the ann did it lighthouse of skerrin harbour",
        "who built the lighthouse of ann did it skerrin harbour",
    ],
)
def test_two_pieces_of_the_question_are_put_together(text):
    assert read(text) == f"{ASKED} ann did it"
    assert read(f"Q: {text}") == f"q {ASKED} ann did it"


def test_pieces_at_the_end_and_of_one_word():
    text = "ann did it lighthouse of skerrin harbour who built the"
    assert read(text) == f"ann did it {ASKED}"
    for text in (
        "built the lighthouse of skerrin harbour who ann did it",
        "who built the lighthouse of ann did it harbour skerrin",
        "it lighthouse of skerrin harbour who built the ann",
    ):
        assert read(text) == text
    passage = tokenize_passage("who built the lighthouse of")
    assert normalized(QUERY, [passage])[0] is passage


# Errors of typing


@pytest.mark.parametrize(
    "written",
    [
        "hwo built hte lighthuose of Skerin harbur",
        "Wo buit th lighhouse o Skerrin harbour",
        "who built the lighthuose of skerrin harbour",  # one word, between its neighbours
        "who built the lighthouse of sxerrin harbour",
        "whho bbuilt thee lighthhouse off skerrinn harrbour",
        "Who bult the lghths of Skrrn hrbr",
    ],
)
def test_errors_of_typing_at_an_edge_are_undone(written):
    assert read(f"{written}. Ann did.") == f"{ASKED} ann did"
    assert read(f"Ann did: {written}") == f"ann did {ASKED}"
    assert read(f"FAQ 3: {written}. Ann did.") == f"faq 3 {ASKED} ann did"


def test_among_misspelt_words_one_may_be_another():
    query = tokenize_query("Who built the lighthouse of Skerrin harbour in 1874")
    text = "who biult the lihgthouse of sxerrin harbour in 1897 ann"
    assert read(text, query) == "who built the lighthouse of skerrin harbour in 1874 ann"
    for text in (
        "who built the lighthouse of sxerrin harbour in 1897 ann",  # one misspelt, one another
        "who biult the lihgthouse of qqvvx harbour in 1897 ann",  # two of four another
    ):
        assert " 1897 " in read(text, query)


def test_what_stands_where_the_question_asks_answers_it():
    query = tokenize_query("What is the capital of Bangladesh?")
    asked = "what is the capital of bangladesh"
    assert read("Dhaka is the capital of Bangladesh.", query) == asked.replace("what", "dhaka")
    assert read("Waht is the capital of Bangladesh? It is Dhaka.", query) == f"{asked} it is dhaka"


def test_a_word_that_is_another_one_says_that_it_is_another_question():
    # By one letter it may be a typing error, by more it is another place.
    assert read("Who built the lighthouse of Skerrin harbours? Ann.").startswith(ASKED)
    text = "who built the lighthouse of kestrel harbour ann"
    assert read(text) == text
    war = tokenize_passage("It was won in 1915 and 1924, the 14th and the 1000th")
    assert (
        normalized(tokenize_query("the war of 1914 to 1928, the 24th, the 1500th"), [war])[0] is war
    )
    year = tokenize_passage("Who built the pier in 1914? Ann.")
    assert normalized(tokenize_query("who built the pier in 1941"), [year])[0] is year


def test_digits_for_letters_are_read_in_short_words_too():
    query = tokenize_query("Who built the old pier of Marrow Bay?")
    text = "Ann. Wh0 bu1lt th3 01d p13r 0f M4rr0w B4y? Ann, in 1874."
    assert read(text, query) == "ann who built the old pier of marrow bay ann in 1874"
    # One word alone may be a name.
    alone = tokenize_passage("Wh0 is B4y?")
    assert normalized(query, [alone])[0] is alone


def test_a_passage_with_several_misspelt_words_is_read_as_meant_anywhere():
    text = "Ann saw who bulit the lihgthouse of Skerin harbuor, the lihgthouse"
    assert read(text) == f"ann saw {ASKED} the lighthouse"
    # Then words count as well that are misspelt into another one, where the question goes on so.
    text = "Ann saw who build the lihgthouse of Skerin harbuor, a build"
    assert read(text) == f"ann saw {ASKED} a build"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "wool",
        "who built the lighthouse of Skerrin harbour",
        "Ann saw the lihgthouse of it",  # one word alone may be like another by chance
        "the lihgthouse, a ligthouse",  # both mean the same one
        "the lihgthouse zzyzx qqvvx",  # odd, but like no word of the question
        "the lighthouses, a build, the harbor",  # listed words are no typing errors
        "hwo oof teh",  # short words are all alike
    ],
)
def test_a_passage_is_left_alone_unless_it_means_the_question(text):
    passage = tokenize_passage(text)
    assert normalized(QUERY, [passage])[0] is passage


def test_a_question_without_longer_words_respells_nothing():
    passage = tokenize_passage("zzyzx qqvvx pxer")
    for question in ("", "who is it", "\u6771\u4eac"):
        assert normalized(tokenize_query(question), [passage])[0] is passage


def test_long_words_cost_no_more_than_their_letters():
    query = tokenize_query(f"{'a' * 1_500} is it")
    passage = tokenize_passage(f"{'a' * 1_499} is it")
    assert normalized(query, [passage])[0] is passage


@given(st.text("abc13", max_size=6), st.text("abc13", max_size=6))
def test_that_words_are_alike_goes_both_ways(one, other):
    assert (
        dice_similar(one, other) == dice_similar(other, one) == slow_normalize.alike(one, other)
        if (one or other)
        else True
    )


def swapped(word, at):
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


ERRORS = [
    swapped,
    lambda word, at: word[: at + 1] + word[at:],
    lambda word, at: word[:at] + word[at + 1 :],
    lambda word, at: word[:at] + "x" + word[at + 1 :],
]


@given(st.data())
def test_one_letter_swapped_doubled_dropped_or_replaced_in_every_longer_word_changes_nothing(data):
    written = []
    for word in ASKED.split():
        error = data.draw(st.sampled_from(ERRORS)) if len(word) > 4 else lambda word, at: word
        written.append(error(word, data.draw(st.integers(0, len(word) - 2))))
    assert read(" ".join(written)) == ASKED
    assert read(f"{' '.join(written)} ann did") == f"{ASKED} ann did"


# By the slow reference

some_words = st.sampled_from("pier lighthouse tide gulls who built the of harbour 1874".split())
questions = st.lists(some_words, min_size=1, max_size=7)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=80)


@st.composite
def asked_and_written(draw):
    """A question, and a passage that writes its words with errors, signs and other gaps."""
    asked = draw(questions)
    rewritten = []
    for word in asked:
        at = draw(st.integers(0, len(word)))
        rewritten.append(
            draw(
                st.sampled_from(
                    [
                        word,
                        word,
                        word[:at] + word[at + 1 :],
                        word[:at] + "x" + word[at:],
                        word[:at] + word[at : at + 2][::-1] + word[at + 2 :],
                        word.replace("t", "7").replace("i", "1"),
                        word.replace("s", "$").replace("a", "@"),
                        "-".join(word),
                        word[:at] + "-" + word[at:],
                        word[:at] + "*" + word[at + 1 :],
                        word + draw(some_words),
                    ]
                )
            )
        )
    gap = draw(st.sampled_from([" ", " ", " ", "", "-", " x ", "+"]))
    if draw(st.booleans()):
        cut = draw(st.integers(0, len(asked)))
        rewritten = asked[cut:] + draw(st.sampled_from([[], [], ["wool"]])) + asked[:cut]
    rest = st.lists(st.one_of(some_words, st.sampled_from(["q", "faq", "12"])), max_size=4)
    parts = [*draw(rest), gap.join(rewritten), *draw(rest)]
    return " ".join(asked), " ".join(parts)


@pytest.mark.slow
@settings(max_examples=500)
@given(asked_and_written())
def test_what_is_meant_equals_its_slow_reference(drawn):
    question, text = drawn
    query = tokenize_query(question)
    expected = slow_normalize.normalized(
        query.sequence, text, asks_much(question), asking_of(question)
    )
    assert list(normalized(query, [tokenize_passage(text)])[0].sequence) == expected


@given(ANY_TEXT, ANY_TEXT)
@example("", "0[{0\\}")  # notes, and nothing asked
def test_what_any_text_means_equals_its_slow_reference(question, text):
    query = tokenize_query(question)
    for written in (text, f"{text} {question}", f"{question}{text}"):
        expected = slow_normalize.normalized(
            query.sequence, written, asks_much(question), asking_of(question)
        )
        assert list(normalized(query, [tokenize_passage(written)])[0].sequence) == expected


@given(asked_and_written())
def test_no_word_of_the_question_is_lost(drawn):
    question, text = drawn
    query = tokenize_query(question)
    (once,) = normalized(query, [tokenize_passage(text)])
    assert frozenset(query.sequence) & tokenize_passage(text).distinct <= once.distinct


@pytest.mark.parametrize("piece", ["x", "$", "x$", "@ ", "+|", "!a", "a(", "a[x]", "a<b>", "a<"])
def test_signs_take_no_longer_than_their_length(piece):
    # Quadratic behaviour would take minutes.
    query = tokenize_query("who built the harbour")
    passage = tokenize_passage("w@ " + piece * (200_000 // len(piece)) + " th$ b@r")
    assert normalized(query, [passage])[0].sequence
