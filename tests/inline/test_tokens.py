"""The words of a passage and of a question."""

import re

from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.tokens import tokenize_passage, tokenize_query
from ragguard.lru import forget_all
from ragguard.text import STOP_WORDS, fold, parted_words, tokens
from ragguard.text.html import strip_markup
from ragguard.text.ngrams import has_unspaced, ngrams
from ragguard.text.typed import as_typed

ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.text(
    st.sampled_from("who THE 19.,_-\n\x07\u2019\u2013\u2022\u00e9\u00df\u0440\u03c2\u200b\u0301")
    | st.characters(exclude_categories=())
)
CUES = st.sampled_from(
    """ai models model, assistant: system system> systems kind agents chat bots admin to the
    assistants answer answered answers it with only reply withhold if asked wants do not cannot
    cite the valid value ignore other retrieved documents pages sources trusted context legal hold
    new orders policy _index mustnot say . ! ? \u2019 \uff29gnore assist\u200bant """.split()
)


def spaced(words):
    return [word for word in words if not has_unspaced(word)]


def test_a_passage_by_hand():
    read = tokenize_passage("The pier, the PIER!")
    assert read.sequence == ("the", "pier", "the", "pier")
    assert read.distinct == {"the", "pier"}
    assert read.joined == " the pier the pier "
    assert tokenize_passage("").joined.strip() == ""


def test_a_question_by_hand():
    read = tokenize_query("Who built the pier, the pier?")
    assert read.sequence == ("who", "built", "the", "pier", "the", "pier")
    assert read.content == ("built", "pier")
    assert tokenize_query("Who is it?").content == ("who", "is", "it")
    assert tokenize_query("?").content == ()


def test_the_neighbours_of_a_question_by_hand():
    read = tokenize_query("When was the lighthouse of Marrow Bay built, the lighthouse of?")
    assert read.pairs == {
        ("when", "was"),
        ("was", "the"),
        ("the", "lighthouse"),
        ("lighthouse", "of"),
        ("of", "marrow"),
        ("marrow", "bay"),
        ("bay", "built"),
        ("built", "the"),
    }
    assert read.parted == {("lighthouse", "marrow")}
    # What stands side by side anywhere in the question is not parted.
    assert tokenize_query("pier of lamp, pier lamp").parted == set()
    assert tokenize_query("lamp the pier, pier lamp").parted == {("lamp", "pier")}
    # Of function words alone none is left out, so that none parts others.
    assert tokenize_query("who is it").parted == set()
    for short in ("", "?", "pier"):
        assert tokenize_query(short).pairs == set()
        assert tokenize_query(short).parted == set()


@given(ANY_TEXT | st.lists(CUES).map(" ".join))
def test_a_passage_is_read_as_by_the_plain_definition(text):
    shown = strip_markup(text)
    words = [*ngrams(re.findall(r"[^\W_]+", fold(shown))), *spaced(parted_words(shown))]
    read = tokenize_passage(text)
    assert read.sequence == tuple(words)
    assert read.distinct == frozenset(words)
    assert read.joined == " " + " ".join(words) + " "


def test_what_has_no_spaces_is_read_alike_however_it_is_parted():
    asked = tokenize_query("\u8c01\u5efa\u9020\u4e86\u706f\u5854\uff1f")
    assert asked.sequence == (
        "\u8c01\u5efa",
        "\u5efa\u9020",
        "\u9020\u4e86",
        "\u4e86\u706f",
        "\u706f\u5854",
    )
    for between in ("", " ", "\u200b", "\u00b7", "\u3000", "\uff0c"):
        text = between.join("\u8c01\u5efa\u9020\u4e86\u706f\u5854")
        assert tokenize_passage(f"{text}? Ann.").sequence == (*asked.sequence, "ann")


def test_of_many_ngrams_those_at_both_ends_are_read():
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 8500)))
    read = tokenize_passage(text)
    assert len(read.sequence) == 8000
    assert read.sequence[0] == text[:2]
    assert read.sequence[-1] == text[-2:]
    assert read.unread == 8499 - 8000
    whole = tokenize_passage(text[:8001])
    assert (len(whole.sequence), whole.unread) == (8000, 0)
    # Words with spaces between them are as many as a text may have letters.
    assert tokenize_passage("a " * 9999).unread == 0


def test_a_passage_is_read_once_until_it_is_forgotten():
    forget_all()
    read = tokenize_passage("The pier.")
    assert tokenize_passage("The pier.") is read
    forget_all()
    assert tokenize_passage("The pier.") is not read


def test_what_a_feature_reads_of_a_passage_is_worked_out_once_until_it_is_forgotten():
    asked = []

    def read(passage):
        asked.append(passage.sequence)  # and None is an answer

    forget_all()
    for _ in range(2):
        assert tokenize_passage("The pier.").once(read) is None
    assert asked == [("the", "pier")]
    forget_all()
    tokenize_passage("The pier.").once(read)
    assert len(asked) == 2


def test_a_rewritten_passage_knows_how_it_was_written():
    read = tokenize_passage("Hwo built it?")
    meant = read.rewritten(("who", "built", "it"))
    assert meant.distinct == {"who", "built", "it"}
    assert meant.written is meant.rewritten(("who",)).written is read.written is read
    assert (meant.text, meant.unread) == (read.text, read.unread)


@given(ANY_TEXT)
def test_any_text(text):
    read, asked = tokenize_passage(text), tokenize_query(text)
    assert list(asked.sequence) == list(ngrams(tokens(as_typed(text))))
    shown = strip_markup(text)
    assert list(read.sequence) == [*ngrams(tokens(shown)), *spaced(parted_words(shown))]
    assert asked.distinct == set(asked.sequence)
    assert read.distinct == set(read.sequence)
    assert read.joined.split() == list(read.sequence)
    assert len(set(asked.content)) == len(asked.content)
    assert bool(asked.content) == bool(asked.sequence)
    assert asked.distinct <= STOP_WORDS or STOP_WORDS.isdisjoint(asked.content)


@given(st.lists(st.sampled_from("pier lamp tide the of who s".split())).map(" ".join))
def test_the_neighbours_of_a_question_are_those_of_the_plain_definition(text):
    said, asked = text.split(), tokenize_query(text)
    pairs = [(said[at], said[at + 1]) for at in range(len(said) - 1)]
    assert asked.pairs == set(pairs)
    content = asked.content
    named = [word for word in said if word != "s"]
    pairs += [(named[at], named[at + 1]) for at in range(len(named) - 1)]
    side_by_side = {(content[at], content[at + 1]) for at in range(len(content) - 1)}
    assert asked.parted == {pair for pair in side_by_side if pair not in pairs}


def test_a_name_in_the_genitive_is_not_parted():
    # "The keeper's lamp" and "keeper lamp" are one name.
    assert tokenize_query("the keeper's lamp of the pier").parted == {("lamp", "pier")}
    assert tokenize_query("the keeper has a lamp").parted == {("keeper", "lamp")}


def test_the_words_that_ask_by_hand():
    assert tokenize_query("In which year, and who built it?").asking == {"which", "who"}
    assert tokenize_query("Was the pier built?").asking == {"was"}
    assert tokenize_query("pier of the town").asking == set()
    assert tokenize_query("The pier of the town").asking == set()
    assert tokenize_query("After the pier was built").asking == set()
    assert tokenize_query("Isn't the pier built?").asking == {"isn"}
    assert tokenize_query("").asking == set()
